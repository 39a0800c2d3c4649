package pages

import (
	"bytes"
	"strings"

	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// bucketForgotten contains the progress of each entry of crawl.Spec.Forgotten: entry → the key
// after which to continue, or forgotDone.
var bucketForgotten = []byte("forgotten")

// forgotDone is not a key, because keys begin with a host.
var forgotDone = []byte{0}

// forgotRange returns the prefix of the keys of all pages of an entry. An entry is a host, or a URL
// and all URLs that begin with it.
func forgotRange(entry string) []byte {
	if !strings.Contains(entry, "://") {
		return hostPrefix(canon.Host(entry))
	}
	return appendKey(nil, canon.URL(entry))
}

// Forget removes the copies of the pages of entries of crawl.Spec.Forgotten. It reads at most limit
// records, in one transaction that also stores its progress. n is how many copies it removed, and
// more whether there is more to do. Aliases stop being aliases. A finished entry stays finished
// until Remember. The caller must refuse pages that arrive later.
func (s *Store) Forget(entries []string, limit int) (n int, more bool, err error) {
	var open []string
	err = s.view(func(tx *bolt.Tx) error {
		for _, e := range entries {
			if !bytes.Equal(tx.Bucket(bucketForgotten).Get([]byte(e)), forgotDone) {
				open = append(open, e)
			}
		}
		return nil
	})
	if err != nil || len(open) == 0 {
		return 0, false, err
	}
	err = s.update(func() string { return "forget " + open[0] }, func(ch *change) error {
		for _, e := range open {
			gone, seen, err := ch.forget(e, limit)
			if err != nil {
				return err
			}
			n += gone
			if limit -= seen + 1; limit <= 0 {
				more = true // perhaps nothing is left; the next call finds out
				break
			}
		}
		return nil
	})
	if err != nil {
		return 0, true, err
	}
	return n, more, nil
}

// forget continues with an entry, for at most limit records.
func (ch *change) forget(entry string, limit int) (gone, seen int, err error) {
	progress := ch.tx.Bucket(bucketForgotten)
	prefix, after := forgotRange(entry), bytes.Clone(progress.Get([]byte(entry)))
	from := prefix
	if len(after) > 0 {
		from = after
	}
	var live []*write
	last, done := after, true
	cur := ch.tx.Bucket(bucketMeta).Cursor()
	for k, v := cur.Seek(from); k != nil && bytes.HasPrefix(k, prefix); k, v = cur.Next() {
		if bytes.Equal(k, after) {
			continue
		}
		if seen == limit {
			done = false
			break
		}
		seen++
		last = bytes.Clone(k)
		old, err := parseRecord(parseKey(k), v)
		if err != nil {
			return 0, 0, err
		}
		w := &write{key: last, page: old, old: old, had: old.Deleted == ""}
		if !w.had && old.AliasOf == "" {
			continue
		}
		w.page.AliasOf, w.page.mainKnown, w.page.Deleted = "", false, crawl.ReasonForgotten
		ch.drop(w)
		live = append(live, w)
		if w.had {
			gone++
		}
	}
	if done {
		last = forgotDone
		// Parts of documents that never became complete are not removed with a page.
		if err := dropParts(ch.tx.Bucket(bucketParts), prefix, nil); err != nil {
			return 0, 0, err
		}
	}
	if err := ch.apply(live); err != nil {
		return 0, 0, err
	}
	return gone, seen, progress.Put([]byte(entry), last)
}

// Remember allows entries that are no longer forgotten to be forgotten again.
func (s *Store) Remember(forgotten func(entry string) bool) error {
	var all [][]byte
	err := s.view(func(tx *bolt.Tx) error {
		return tx.Bucket(bucketForgotten).ForEach(func(k, _ []byte) error {
			if !forgotten(string(k)) {
				all = append(all, bytes.Clone(k))
			}
			return nil
		})
	})
	if err != nil || len(all) == 0 {
		return err
	}
	return s.update(func() string { return "remember" }, func(ch *change) error {
		for _, k := range all {
			if err := ch.tx.Bucket(bucketForgotten).Delete(k); err != nil {
				return err
			}
		}
		return nil
	})
}
