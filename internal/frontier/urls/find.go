package urls

import (
	"encoding/binary"
	"slices"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/ledger"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Find returns the key and the record of u, whose key in the seen set is seen; or, when u is new,
// no record and the key under which the seen set would know it. Should another URL have the same
// hash, a probe number is added to that key; no URL is ever taken for another.
func (s *URLs) Find(seen []byte, u canon.URL) (k, v []byte) {
	known, urls := s.ledger.Tx.Bucket(ledger.BucketSeen), s.ledger.Tx.Bucket(ledger.BucketURLs)
	for probe := 0; ; probe++ {
		k = seen
		if probe > 0 {
			k = binary.BigEndian.AppendUint16(slices.Clone(seen), uint16(probe))
		}
		order := known.Get(k)
		if order == nil {
			return k, nil
		}
		n, _ := binary.Uvarint(order)
		key := ledger.URLKey(make([]byte, 0, 12), ledger.KeyHost(seen), n)
		v = urls.Get(key)
		if same, _, _ := Peek(v, u); same {
			return key, v
		}
	}
}

// Lookup returns the key and the record of u, or nothing.
func (s *URLs) Lookup(h *ledger.Host, u canon.URL) (k, v []byte) {
	return s.Find(ledger.SeenKey(make([]byte, 0, 12), h.ID, u), u)
}

// Holds reports whether the copy that r's last visit stored is held.
func (s *URLs) Holds(r *Record) bool {
	return r.Class == crawl.Stored && !s.ledger.Meta.Lost.IsLost(r.Visit)
}
