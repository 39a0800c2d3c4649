package search

import (
	"bytes"
	"encoding/binary"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/search/segment"
)

// part is a segment in a file, with its deleted pages.
type part struct {
	*segment.Segment
	key  []byte
	dead []byte // one bit for each page; nil: none is deleted
	nth  int    // index within the view
	base uint32 // number of its first page within the view
}

func (p *part) deleted(i uint32) bool { return p.dead != nil && p.dead[i>>3]>>(i&7)&1 != 0 }

// view is the segments of a file as one transaction sees them. It is valid as long as the
// transaction.
type view struct {
	parts  []*part
	pages  uint32  // of all parts, including deleted ones
	worked *worked // cached for queries
}

// viewOf opens the segments of a file.
func viewOf(tx *bolt.Tx) (*view, error) {
	v := &view{}
	deleted := tx.Bucket(bucketDeleted)
	all := tx.Bucket(bucketSegments)
	c := all.Cursor()
	for key, _ := c.First(); key != nil; key, _ = c.Next() {
		raw, err := rawOf(all, key)
		if err != nil {
			return nil, err
		}
		s, err := segment.Open(raw)
		if err != nil {
			return nil, fmt.Errorf("%w: segment %x: %w", errStale, key, err)
		}
		p := &part{Segment: s, key: key, dead: deleted.Get(key), nth: len(v.parts), base: v.pages}
		if p.dead != nil && len(p.dead) != int(s.Len()+7)/8 {
			return nil, fmt.Errorf("%w: deletions of segment %x", errStale, key)
		}
		v.parts = append(v.parts, p)
		v.pages += s.Len()
	}
	return v, nil
}

// rawOf is the bytes of a segment in the file.
func rawOf(all *bolt.Bucket, key []byte) ([]byte, error) {
	b := all.Bucket(key)
	if b == nil {
		return nil, fmt.Errorf("%w: segment %x", errStale, key)
	}
	return b.Get(keyRaw), nil
}

// at returns the part with a page of that number within the view, and its number in the part.
func (v *view) at(page uint32) (*part, uint32) {
	lo, hi := 0, len(v.parts)
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; v.parts[mid].base <= page {
			lo = mid
		} else {
			hi = mid
		}
	}
	return v.parts[lo], page - v.parts[lo].base
}

// delete marks a page of the store as deleted, if the index has it. Bitmaps are copied before they
// are changed; save writes them into the file.
func (v *view) delete(page uint64, changed map[*part]bool) {
	for _, p := range v.parts {
		i, ok := p.Find(page)
		if !ok || p.deleted(i) {
			continue
		}
		if !changed[p] {
			changed[p] = true
			if p.dead == nil {
				p.dead = make([]byte, (p.Len()+7)/8)
			} else {
				p.dead = bytes.Clone(p.dead)
			}
		}
		p.dead[i>>3] |= 1 << (i & 7)
		return // a page is live in one segment at most
	}
}

// live is how many pages of a part are not deleted.
func (p *part) live() (n uint32) {
	n = p.Len()
	for i := range p.Len() {
		if p.deleted(i) {
			n--
		}
	}
	return n
}

func save(tx *bolt.Tx, changed map[*part]bool) error {
	for p := range changed {
		if err := tx.Bucket(bucketDeleted).Put(p.key, p.dead); err != nil {
			return err
		}
	}
	return nil
}

// add writes a segment into the file.
func add(tx *bolt.Tx, raw []byte) error {
	b := tx.Bucket(bucketSegments)
	n, err := b.NextSequence()
	if err != nil {
		return err
	}
	return putRaw(b, number(n), raw)
}

func putRaw(all *bolt.Bucket, key, raw []byte) error {
	b, err := all.CreateBucket(key)
	if err != nil {
		return err
	}
	return b.Put(keyRaw, raw)
}

// number is the key of a segment.
func number(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

func (p *part) remove(tx *bolt.Tx) error {
	key := bytes.Clone(p.key)
	if err := tx.Bucket(bucketDeleted).Delete(key); err != nil {
		return err
	}
	return tx.Bucket(bucketSegments).DeleteBucket(key)
}
