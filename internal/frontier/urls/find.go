package urls

import (
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Find returns the key and the record of u, whose SeenHash is hash, or nothing when u is new. Other
// URLs may have the same hash. The record contains the text of its URL, so they are never confused.
func (s *URLs) Find(id store.HostID, hash uint64, u canon.URL) (k, v []byte) {
	s.ledger.Known().Each(uint32(id), hash, func(order uint64) bool {
		key := store.URLKey(make([]byte, 0, 12), id, order)
		rec := s.ledger.Records().Get(key)
		if same, _, _ := Peek(rec, u); !same {
			return true
		}
		k, v = key, rec
		return false
	})
	return k, v
}

// Lookup returns the key and the record of u, or nothing.
func (s *URLs) Lookup(h *hosts.Host, u canon.URL) (k, v []byte) {
	return s.Find(h.ID, store.SeenHash(u), u)
}

// IsStored reports whether the copy that r's last visit stored still exists.
func (s *URLs) IsStored(r *Record) bool {
	return r.Class == crawl.Stored && !s.ledger.Meta.Lost.IsLost(r.Visit)
}
