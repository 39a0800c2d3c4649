package urls

import (
	"encoding/binary"
	"errors"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/internal/frontier/times"
)

// SeeLater shows the times of the URLs that wait for another attempt to see.
func SeeLater(tx *bolt.Tx, see times.See) error {
	keys, err := LaterFrom(tx, nil)
	records := store.Records(tx)
	for _, k := range keys {
		if err != nil {
			return err
		}
		due := time.UnixMilli(int64(binary.BigEndian.Uint64(k)))
		see(&due, times.Waits)
		var r Record
		if r, err = DecodeRecord(k[8:], records.Get(k[8:])); err == nil {
			err = MoveLater(tx, records, k, &r, due)
		}
	}
	if err != nil {
		return err
	}
	return records.Flush()
}

// LaterFrom returns the keys of the URLs that wait for another attempt, beginning with that key.
func LaterFrom(tx *bolt.Tx, from []byte) (keys [][]byte, err error) {
	c := tx.Bucket(store.BucketLater).Cursor()
	for k, _ := c.Seek(from); k != nil; k, _ = c.Next() {
		keys = append(keys, slices.Clone(k))
	}
	return keys, nil
}

// MoveLater changes the time until which the URL with that key and record waits.
func MoveLater(tx *bolt.Tx, records *store.PackedMap, key []byte, r *Record, due time.Time) error {
	r.Due = time.UnixMilli(max(due.UnixMilli(), 1)) // 0 would mean no time
	later := tx.Bucket(store.BucketLater)
	if err := later.Delete(key); err != nil {
		return err
	}
	if err := later.Put(store.LaterKey(nil, r.Due, store.KeyHost(key[8:]), r.Order), []byte{}); err != nil {
		return err
	}
	return records.Put(key[8:], r.Append(nil))
}

// LoadLater looks up when the first waiting URL is due.
func (s *URLs) LoadLater() {
	s.Later = time.Time{}
	if k, _ := s.ledger.Tx.Bucket(store.BucketLater).Cursor().First(); k != nil {
		s.Later = time.UnixMilli(int64(binary.BigEndian.Uint64(k)))
	}
}

// EnqueueLater moves URLs whose wait is over into their queues.
func (s *URLs) EnqueueLater(now time.Time) error {
	for n := 0; !s.Later.IsZero() && !s.Later.After(now) && n < 1000; n++ {
		k, _ := s.ledger.Tx.Bucket(store.BucketLater).Cursor().First()
		if k == nil {
			s.Later = time.Time{}
			return nil
		}
		key := slices.Clone(k[8:])
		v := s.ledger.Records().Get(key)
		h, err := s.ledger.HostWith(store.KeyHost(key))
		if err != nil {
			return err
		}
		if v == nil || h == nil {
			return store.ErrRecord
		}
		r, err := DecodeRecord(key, v)
		if err != nil {
			return err
		}
		// While it waited, a limit may have been reached, or the spec may have changed.
		to := s.Decide(&r, h)
		if to.Class == crawl.Queued {
			to = r.DueNow()
		}
		if err := errors.Join(s.SetState(h, &r, to), s.PutURL(key, &r)); err != nil {
			return err
		}
		s.LoadLater()
	}
	return nil
}
