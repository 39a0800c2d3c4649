package pages

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/crawl"
)

// Check reads the whole file and returns every contradiction between its buckets, joined into one
// error. It is for tests and for operators who suspect a disk. It reads all keys, so it takes a
// while on a large store.
func (s *Store) Check() error {
	var c checker
	if err := s.view(func(tx *bolt.Tx) error { return c.file(tx, &s.digests) }); err != nil {
		c.wrong = append(c.wrong, err)
	}
	return errors.Join(c.wrong...)
}

// checker compares the buckets of a file with its records, in one read transaction.
type checker struct {
	tx                             *bolt.Tx
	meta, bodies, changes, expires *bolt.Bucket
	claims                         *bolt.Bucket    // nil in format 1
	digests                        map[string]bool // all entries of the index by digest
	counted                        counters        // from the records

	// How many keys the records need in the other buckets.
	feed, dated, stored, claimed, parts int

	wrong []error
}

// report adds a contradiction, up to a hundred of them.
func (c *checker) report(format string, args ...any) {
	if len(c.wrong) < 100 {
		c.wrong = append(c.wrong, fmt.Errorf(format, args...))
	}
}

// file checks everything. It returns an error if reading cannot go on.
func (c *checker) file(tx *bolt.Tx, d *digests) (err error) {
	for err := range tx.Check() {
		c.report("bbolt: %w", err)
	}
	c.tx, c.meta, c.bodies, c.changes = tx, tx.Bucket(bucketMeta), tx.Bucket(bucketBodies), tx.Bucket(bucketChanges)
	c.expires, c.claims = tx.Bucket(bucketExpires), tx.Bucket(bucketClaims)
	if c.digests, err = d.known(tx); err != nil {
		return err
	}
	if err := c.meta.ForEach(c.record); err != nil {
		return err
	}
	c.keys()
	return c.counters()
}

// record checks a page or a tombstone.
func (c *checker) record(k, v []byte) error {
	u := parseKey(k)
	p, err := parseRecord(u, v)
	if err != nil {
		return err
	}
	if !bytes.Equal(appendKey(nil, u), k) {
		c.report("%q is not the key of %s", k, u)
	}
	c.counted.LastID, c.counted.LastSeq = max(c.counted.LastID, p.ID), max(c.counted.LastSeq, p.Seq)
	c.counted.add(&p, 1)
	if p.Seq != 0 {
		c.feed++
		if !bytes.Equal(c.changes.Get(be64(p.Seq)), k) {
			c.report("%s: change feed entry %d belongs to another page", u, p.Seq)
		}
	}
	if p.AliasOf != "" && p.aliasVisit.Compare(p.Visit) <= 0 {
		c.report("%s: its alias is from an older visit than the page", u)
	}
	body := c.bodies.Get(be64(p.ID))
	claims := c.claims != nil && c.claims.Get(k) != nil
	if p.Deleted != "" {
		if body != nil || claims {
			c.report("%s: it is deleted but has a body or claims", u)
		}
		return nil
	}
	c.page(&p, k, body, claims)
	return nil
}

// page checks a stored page. claims is whether it has an entry in the bucket of that name.
func (c *checker) page(p *Page, k, body []byte, claims bool) {
	c.stored++
	if p.claimed != claims {
		c.report("%s: claims %v, but its record has other claims", p.URL, claims)
	}
	if p.claimed {
		c.claimed++
	}
	if p.Encoding == crawl.EncodingParts {
		if n, err := countParts(c.tx, k, c.claims.Get(k)); err != nil {
			c.report("%s: %w", p.URL, err)
		} else {
			c.parts += n
		}
	}
	if p.mainKnown {
		c.report("%s: it replaces a page whose content is known", p.URL)
	}
	if body == nil || len(body) != p.Packed {
		c.report("%s: body of %d bytes, want %d", p.URL, len(body), p.Packed)
	}
	if !c.digests[string(appendEntry(nil, p.SHA256, p.Seq))] {
		c.report("%s: not found by its digest", p.URL)
	}
	if !p.UnavailableAfter.IsZero() {
		c.dated++
		if !bytes.Equal(c.expires.Get(expiryKey(millis(p.UnavailableAfter), p.ID)), k) {
			c.report("%s: unavailable_after is not scheduled", p.URL)
		}
	}
}

// keys checks that the other buckets have as many keys as the records need.
func (c *checker) keys() {
	// There may be more parts: those of documents that are still arriving.
	if b := c.tx.Bucket(bucketParts); b != nil && b.Stats().KeyN < c.parts {
		c.report("parts: %d keys, want %d at least", b.Stats().KeyN, c.parts)
	}
	for _, b := range []struct {
		name   string
		bucket *bolt.Bucket
		want   int
	}{{"bodies", c.bodies, c.stored}, {"changes", c.changes, c.feed}, {"expires", c.expires, c.dated}, {"claims", c.claims, c.claimed}} {
		if b.bucket == nil {
			continue
		}
		if n := b.bucket.Stats().KeyN; n != b.want {
			c.report("%s: %d keys, want %d", b.name, n, b.want)
		}
	}
}

// counters checks the counters of the file.
func (c *checker) counters() error {
	kept, err := getCounters(c.tx.Bucket(bucketAbout))
	if err != nil {
		return err
	}
	if kept.LastID < c.counted.LastID || kept.LastSeq < c.counted.LastSeq || kept.Pages != c.counted.Pages || kept.Bytes != c.counted.Bytes ||
		kept.Packed != c.counted.Packed || kept.Tombstones != c.counted.Tombstones {
		c.report("the counters are %+v, but counting gives %+v", *kept, c.counted)
	}
	if last, _ := c.changes.Cursor().Last(); last != nil && binary.BigEndian.Uint64(last) > kept.LastSeq {
		c.report("the change feed goes past %d", kept.LastSeq)
	}
	return nil
}
