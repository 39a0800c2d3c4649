package urls

import (
	"fmt"
	"slices"

	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/store"
)

// EachRecord calls f for every URL. The record is written if f returns true.
func (s *URLs) EachRecord(f func(h *hosts.Host, key []byte, r *Record) (bool, error)) error {
	var from []byte
	for {
		next, err := s.Stretch(from, 1000, f)
		if err == nil {
			err = s.ledger.PutAway() // the hosts just visited need not all stay in memory
		}
		if err != nil || next == nil {
			return err
		}
		from = next
	}
}

// Stretch is EachRecord for up to n URLs, beginning with key from (nil: the first). It returns the
// key with which to continue, nil at the end. bbolt forbids changing a bucket under its own cursor,
// so all records are read before the first is changed.
func (s *URLs) Stretch(from []byte, n int, f func(h *hosts.Host, key []byte, r *Record) (bool, error)) (next []byte, err error) {
	b := s.ledger.Records()
	var recs []Record
	var keys [][]byte
	c := b.Cursor()
	k, v := c.Seek(from)
	for ; k != nil && len(recs) < n; k, v = c.Next() {
		r, err := DecodeRecord(k, v)
		if err != nil {
			return nil, fmt.Errorf("key %x: %w", k, err)
		}
		recs, keys = append(recs, r), append(keys, slices.Clone(k))
	}
	next = slices.Clone(k)
	for i := range recs {
		h, err := s.ledger.HostWith(store.KeyHost(keys[i]))
		if err != nil {
			return nil, err
		}
		if h == nil {
			return nil, fmt.Errorf("key %x: no such host: %w", keys[i], store.ErrRecord)
		}
		changed, err := f(h, keys[i], &recs[i])
		if err != nil {
			return nil, err
		}
		if !changed {
			continue
		}
		if err := s.PutURL(keys[i], &recs[i]); err != nil {
			return nil, err
		}
	}
	return next, nil
}
