package queryreport

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/curtsy/curtsy/internal/boltfile"
	"github.com/curtsy/curtsy/internal/query"
)

// The file has one bucket. Its keys are the day and the query, with a zero byte between them, so
// that the oldest day is first; its values are Counts in JSON. The sequence of the bucket is the
// number of keys.
var bucketName = []byte("queries")

const remedy = "the report of queries is lost; remove the file, and a new one is begun"

// lockWait is how long another process that adds counts or reads is waited for.
const lockWait = 2 * time.Second

func (k key) bytes() []byte { return []byte(k.day + "\x00" + k.query) }

// addTo adds counts to a file, which is made if there is none, and removes what is beyond its
// limits.
func addTo(path string, pending map[key]*Counts, limit int) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := boltfile.Open(path, bolt.Options{Timeout: lockWait}, remedy)
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	err = f.Update(func(tx *bolt.Tx) error {
		b, err := tx.CreateBucketIfNotExists(bucketName)
		if err != nil {
			return err
		}
		n := b.Sequence()
		for _, k := range slices.SortedFunc(maps.Keys(pending), func(a, b key) int { return cmp.Or(cmp.Compare(a.day, b.day), cmp.Compare(a.query, b.query)) }) {
			var c Counts
			if old := b.Get(k.bytes()); old == nil {
				n++
			} else if err := json.Unmarshal(old, &c); err != nil {
				return f.Blame(err)
			}
			c.add(*pending[k])
			value, err := json.Marshal(c)
			if err == nil {
				err = b.Put(k.bytes(), value)
			}
			if err != nil {
				return err
			}
		}
		gone, err := expire(b)
		if err != nil {
			return err
		}
		n -= min(n, gone)
		if n > uint64(limit) {
			if gone, err = evict(f, b, n-uint64(limit)*9/10); err != nil {
				return err
			}
			n -= min(n, gone)
		}
		return b.SetSequence(n)
	})
	return errors.Join(err, f.Close())
}

// firstDay is the first of a number of days that end today.
func firstDay(days int) string {
	return time.Now().UTC().AddDate(0, 0, 1-days).Format(time.DateOnly)
}

// expire removes days that are too old.
func expire(b *bolt.Bucket) (gone uint64, err error) {
	first := firstDay(MaxDays)
	c := b.Cursor()
	for k, _ := c.First(); k != nil && string(k) < first; k, _ = c.First() {
		if err := c.Delete(); err != nil {
			return gone, err
		}
		gone++
	}
	return gone, nil
}

// evict removes the n queries and days that were asked least often, of these the oldest.
func evict(f *boltfile.File, b *bolt.Bucket, n uint64) (gone uint64, err error) {
	type one struct {
		key   string
		asked int64
	}
	var all []one
	err = b.ForEach(func(k, v []byte) error {
		var c Counts
		if err := json.Unmarshal(v, &c); err != nil {
			return f.Blame(err)
		}
		all = append(all, one{string(k), c.Asked})
		return nil
	})
	if err != nil {
		return 0, err
	}
	slices.SortFunc(all, func(a, b one) int { return cmp.Or(cmp.Compare(a.asked, b.asked), cmp.Compare(a.key, b.key)) })
	for _, o := range all[:min(n, uint64(len(all)))] {
		if err := b.Delete([]byte(o.key)); err != nil {
			return gone, err
		}
		gone++
	}
	return gone, nil
}

// Query is a query of several days.
type Query struct {
	Query string `json:"query"`
	Last  string `json:"last"` // the last day: 2006-01-02
	Days  int    `json:"days"` // on how many days it was asked
	Counts
}

// ErrNone is the error of Read if no queries were recorded.
var ErrNone = errors.New("no queries are recorded here")

// Read reads the queries of the last days from a file, today included; 0 means all days. If there
// is no file, the error is ErrNone.
func Read(path string, days int) (all []Query, err error) {
	f, err := boltfile.Open(path, bolt.Options{Timeout: lockWait, ReadOnly: true}, remedy)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, ErrNone
	case errors.Is(err, berrors.ErrTimeout):
		return nil, fmt.Errorf("open %s: another process has had it open for %v; try again", path, lockWait)
	case err != nil:
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	first := ""
	if days > 0 {
		first = firstDay(days)
	}
	at := map[string]int{}
	err = f.View(func(tx *bolt.Tx) error {
		b := tx.Bucket(bucketName)
		if b == nil {
			return nil
		}
		c := b.Cursor()
		for k, v := c.Seek([]byte(first)); k != nil; k, v = c.Next() {
			day, text, _ := strings.Cut(string(k), "\x00")
			var counts Counts
			if err := json.Unmarshal(v, &counts); err != nil {
				return f.Blame(err)
			}
			i, ok := at[text]
			if !ok {
				i = len(all)
				at[text] = i
				all = append(all, Query{Query: text})
			}
			all[i].Last = day
			all[i].Days++
			all[i].add(counts)
		}
		return nil
	})
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return all, nil
}

// Forget removes the opened hits with a URL for which gone is true, and reports how many there
// were. Queries within a site for which it is true are removed as well. Without a file there are
// none.
func Forget(path string, gone func(url string) bool) (n int, err error) {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	f, err := boltfile.Open(path, bolt.Options{Timeout: lockWait}, remedy)
	if err != nil {
		return 0, fmt.Errorf("open %s: %w", path, err)
	}
	err = f.Update(func(tx *bolt.Tx) error {
		b := tx.Bucket(bucketName)
		if b == nil {
			return nil
		}
		changed := map[string][]byte{}
		err := b.ForEach(func(k, v []byte) error {
			var c Counts
			if err := json.Unmarshal(v, &c); err != nil {
				return f.Blame(err)
			}
			if _, text, _ := strings.Cut(string(k), "\x00"); slices.ContainsFunc(query.Parse(text).Filters.Sites, func(s string) bool { return gone("https://"+s) || gone("http://"+s) }) {
				n += len(c.Opened)
				changed[string(k)] = nil
				return nil
			}
			before := len(c.Opened)
			c.Opened = slices.DeleteFunc(c.Opened, func(o Opened) bool { return gone(o.URL) })
			if n += before - len(c.Opened); before == len(c.Opened) {
				return nil
			}
			value, err := json.Marshal(c)
			changed[string(k)] = value
			return err
		})
		for k, v := range changed {
			if v == nil {
				err = errors.Join(err, b.Delete([]byte(k)))
				continue
			}
			err = errors.Join(err, b.Put([]byte(k), v))
		}
		return err
	})
	return n, errors.Join(err, f.Close())
}
