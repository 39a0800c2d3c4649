package pages

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/crawl"
)

// Result counts what Put did with a batch; the fields add up to its length.
type Result struct {
	Stored    int // new, or with new content
	Unchanged int // held already, with the same content
	Deleted   int // forgotten, or noted as not to be kept
	Late      int // not newer than what is known: a replay, an overtaken page, the older of two in the batch
}

// write is one page of a batch on its way into the file.
type write struct {
	key  []byte
	page Page
	old  Page // what was known; Seq 0 and ID 0 when nothing
	had  bool // old is a page that is held
	body bool // the body is new
}

// Put stores a batch in one transaction with one fsync: when it returns nil, the batch is on disk. Of several copies of
// a URL, here and in the file, the newest visit counts; putting a batch again changes nothing. A page with Deleted or
// the NoIndex directive removes the copy held and is remembered as a tombstone. Bodies are not copied: the caller
// leaves them alone until Put returns. On an error nothing of the batch is stored and all that was held is held still.
func (s *Store) Put(batch []Page) (Result, error) {
	var res Result
	if len(batch) == 0 {
		return res, nil
	}
	writes := arrange(batch)
	res.Late = len(batch) - len(writes)
	s.writing.Lock()
	defer s.writing.Unlock()
	before := s.counters.Load()
	c := *before
	var recent []byte
	err := s.db.Update(func(tx *bolt.Tx) error {
		if err := s.digests.load(tx); err != nil {
			return err
		}
		live, err := weigh(tx.Bucket(bucketMeta), writes, &c, &res)
		if err != nil {
			return err
		}
		if err := apply(tx, live, &c); err != nil {
			return err
		}
		recent, err = s.digests.add(tx, live, &c)
		return err
	})
	if err != nil {
		return Result{}, fmt.Errorf("store %d pages in %s: %w", len(batch), s.path, err)
	}
	s.counters.Store(&c)
	s.digests.set(recent)
	if c.LastSeq != before.LastSeq {
		s.announce()
	}
	return res, nil
}

// arrange sorts a batch by key, since neighbouring keys share a leaf, and keeps the newest of each URL.
func arrange(batch []Page) []write {
	writes := make([]write, len(batch))
	keys := make([]byte, 0, 96*len(batch))
	for i := range batch {
		from := len(keys)
		keys = appendKey(keys, batch[i].URL)
		writes[i] = write{key: keys[from:len(keys):len(keys)], page: batch[i]}
	}
	slices.SortStableFunc(writes, func(a, b write) int {
		return cmp.Or(bytes.Compare(a.key, b.key), b.page.Visit.Compare(a.page.Visit))
	})
	return slices.CompactFunc(writes, func(a, b write) bool { return bytes.Equal(a.key, b.key) })
}

// weigh compares each write with what is known of its URL and returns those that change something, with the numbers
// they get.
func weigh(meta *bolt.Bucket, writes []write, c *counters, res *Result) ([]*write, error) {
	live := make([]*write, 0, len(writes))
	for i := range writes {
		w := &writes[i]
		p := &w.page
		if b := meta.Get(w.key); b != nil {
			old, err := parseRecord(p.URL, b)
			if err != nil {
				return nil, err
			}
			if p.Visit.Compare(old.Visit) <= 0 {
				res.Late++
				continue
			}
			w.old, w.had = old, old.Deleted == ""
			p.ID, p.Seq = old.ID, old.Seq
		} else {
			c.LastID++
			p.ID, p.Seq = c.LastID, 0
		}
		if p.Deleted == "" && p.Directives&crawl.NoIndex != 0 {
			p.Deleted = crawl.ReasonNoindex
		}
		p.Packed = len(p.Body)
		switch {
		case p.Deleted != "":
			res.Deleted++
			if w.had { // one never held leaves nothing for followers to remove
				c.LastSeq++
				p.Seq = c.LastSeq
			}
		case w.had && p.sameContent(&w.old):
			res.Unchanged++
			p.Encoding, p.Packed = w.old.Encoding, w.old.Packed
		default:
			res.Stored++
			c.LastSeq++
			p.Seq, w.body = c.LastSeq, true
		}
		live = append(live, w)
	}
	return live, nil
}

// apply writes bucket by bucket, each in its own key order.
func apply(tx *bolt.Tx, live []*write, c *counters) error {
	meta, bodies, changes := tx.Bucket(bucketMeta), tx.Bucket(bucketBodies), tx.Bucket(bucketChanges)
	expires := tx.Bucket(bucketExpires)
	// Numbers only grow: full leaves are never opened again, so there is no reason to leave room in them.
	bodies.FillPercent, changes.FillPercent = 1, 1
	for _, w := range live {
		if err := meta.Put(w.key, appendRecord(nil, &w.page)); err != nil {
			return err
		}
		count(c, w)
		if w.page.Seq != w.old.Seq {
			if w.old.Seq != 0 {
				if err := changes.Delete(be64(w.old.Seq)); err != nil {
					return err
				}
			}
			if err := changes.Put(be64(w.page.Seq), w.key); err != nil {
				return err
			}
		}
		if err := applyExpiry(expires, w); err != nil {
			return err
		}
	}
	slices.SortFunc(live, func(a, b *write) int { return cmp.Compare(a.page.ID, b.page.ID) })
	for _, w := range live {
		var err error
		switch {
		case w.body:
			err = bodies.Put(be64(w.page.ID), w.page.Body)
		case w.had && w.page.Deleted != "":
			err = bodies.Delete(be64(w.page.ID))
		}
		if err != nil {
			return err
		}
	}
	return putCounters(tx.Bucket(bucketAbout), c)
}

// count takes out what was known of a URL and adds what is known now.
func count(c *counters, w *write) {
	switch {
	case w.had:
		c.Pages--
		c.Bytes -= w.old.Size
		c.Packed -= int64(w.old.Packed)
	case w.old.ID != 0:
		c.Tombstones--
	}
	if w.page.Deleted != "" {
		c.Tombstones++
		return
	}
	c.Pages++
	c.Bytes += w.page.Size
	c.Packed += int64(w.page.Packed)
}

func applyExpiry(expires *bolt.Bucket, w *write) error {
	if w.had && !w.old.UnavailableAfter.IsZero() {
		if err := expires.Delete(expiryKey(millis(w.old.UnavailableAfter), w.page.ID)); err != nil {
			return err
		}
	}
	if w.page.Deleted == "" && !w.page.UnavailableAfter.IsZero() {
		return expires.Put(expiryKey(millis(w.page.UnavailableAfter), w.page.ID), w.key)
	}
	return nil
}

// Expire removes the pages whose unavailable_after has come, at most limit in one transaction, and returns how many. They
// leave tombstones with the visit they had, so a replay does not bring them back; the next visit decides anew.
func (s *Store) Expire(now time.Time, limit int) (int, error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	var due []Page
	err := s.db.View(func(tx *bolt.Tx) error {
		meta, cur := tx.Bucket(bucketMeta), tx.Bucket(bucketExpires).Cursor()
		for k, v := cur.First(); k != nil && len(due) < limit; k, v = cur.Next() {
			if int64(binary.BigEndian.Uint64(k)) > now.UnixMilli() {
				break
			}
			p, err := parseRecord(parseKey(v), meta.Get(v))
			if err != nil {
				return err
			}
			due = append(due, p)
		}
		return nil
	})
	if err != nil || len(due) == 0 {
		return 0, err
	}
	c := *s.counters.Load()
	live := make([]*write, len(due))
	for i, p := range due {
		w := &write{key: appendKey(nil, p.URL), page: p, old: p, had: true}
		c.LastSeq++
		w.page.Seq, w.page.Deleted = c.LastSeq, crawl.ReasonNoindex
		live[i] = w
	}
	if err := s.db.Update(func(tx *bolt.Tx) error { return apply(tx, live, &c) }); err != nil {
		return 0, fmt.Errorf("remove expired pages from %s: %w", s.path, err)
	}
	s.counters.Store(&c)
	s.announce()
	return len(due), nil
}
