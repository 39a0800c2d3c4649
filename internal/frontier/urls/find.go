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

// MaxSameHash is how many URLs of a host with the same SeenHash are recorded. Among 10 million URLs
// of a host two have the same hash once in a thousand crawls, but a site can choose its URLs so
// that all have: XXH64 has no key. Find reads the record of each of them.
const MaxSameHash = 16

// IsHashFull reports whether MaxSameHash URLs of a host have that SeenHash.
func (s *URLs) IsHashFull(id store.HostID, hash uint64) bool {
	n := 0
	s.ledger.Known().Each(uint32(id), hash, func(uint64) bool {
		n++
		return n < MaxSameHash
	})
	return n == MaxSameHash
}

// Lookup returns the key and the record of u, or nothing.
func (s *URLs) Lookup(h *hosts.Host, u canon.URL) (k, v []byte) {
	return s.Find(h.ID, store.SeenHash(u), u)
}

// IsStored reports whether the copy that r's last visit stored still exists.
func (s *URLs) IsStored(r *Record) bool {
	return r.Class == crawl.Stored && !s.ledger.Meta.Lost.IsLost(r.Visit)
}
