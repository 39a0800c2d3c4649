package pages

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"sync/atomic"

	bolt "go.etcd.io/bbolt"
)

// Datasets is what stored documents state about datasets: pages (EachClaimed, EachPart) and
// data.txt files (File, EachFile). Its methods may be called concurrently.
type Datasets struct {
	store   *Store       // for its transactions
	session string       // a random name for this opening of the store
	changes atomic.Int64 // how often the data changed since then
}

// Version changes whenever the stored data about datasets does, in pages or in data.txt files. Time
// alone changes nothing. While it is equal, EachClaimed and EachFile return the same. Call it
// before reading them.
func (d *Datasets) Version() string {
	return fmt.Sprintf("%s-%s-%d", d.store.identity, d.session, d.changes.Load())
}

// EachClaimed calls fn for every page that describes datasets, copies of aliases included, in the
// order of keys. The page has its Claims, and its Body if Claims is empty. No transaction is open
// while fn runs. An error of fn ends the loop and is returned.
func (d *Datasets) EachClaimed(fn func(Page) error) error {
	for after := []byte(nil); ; {
		chunk, last, err := d.claimed(after)
		if err != nil {
			return err
		}
		for _, p := range chunk {
			if err := fn(p); err != nil {
				return err
			}
		}
		if last == nil {
			return nil
		}
		after = last
	}
}

// claimed reads some of the pages with keys after `after`. last is nil at the end.
func (d *Datasets) claimed(after []byte) (chunk []Page, last []byte, err error) {
	err = d.store.view(func(tx *bolt.Tx) error {
		claims, meta, bodies := tx.Bucket(bucketClaims), tx.Bucket(bucketMeta), tx.Bucket(bucketBodies)
		if claims == nil { // a file of format 1
			return nil
		}
		cur, size := claims.Cursor(), 0
		for k, v := cur.Seek(after); k != nil; k, v = cur.Next() {
			if bytes.Equal(k, after) {
				continue
			}
			if len(chunk) == chunkPages || size > chunkBytes {
				return nil // last is where to continue
			}
			last = append(last[:0], k...)
			p, err := parseRecord(parseKey(k), meta.Get(k))
			if err != nil {
				return err
			}
			if p.Deleted != "" || !p.claimed {
				return fmt.Errorf("%w: claims of %s, which has no claims", errRecord, p.URL)
			}
			if p.Claims = bytes.Clone(v); len(v) == 0 {
				p.Claims, p.Body = []byte{}, bytes.Clone(bodies.Get(be64(p.ID)))
			}
			size += len(p.Claims) + len(p.Body)
			chunk = append(chunk, p)
		}
		last = nil
		return nil
	})
	return chunk, last, err
}

// EachPart calls fn for each part of a page of EachClaimed that came in parts (its Encoding says
// so), in order, with the number of the part and its body as it was put. All parts belong to one
// copy, whatever is written meanwhile, because they are read together, still compressed. No
// transaction is open while fn runs. An error of fn ends the loop and is returned.
func (d *Datasets) EachPart(p *Page, fn func(n int, body []byte) error) error {
	type part struct {
		n    int
		body []byte
	}
	var all []part
	err := d.store.view(func(tx *bolt.Tx) error {
		b, claims := tx.Bucket(bucketParts), tx.Bucket(bucketClaims)
		key := appendKey(nil, p.URL)
		held := claims.Get(key)
		if b == nil || len(held) != visitBytes {
			return nil // it has changed meanwhile
		}
		prefix := append(partsOf(key), held...)
		cur := b.Cursor()
		for k, v := cur.Seek(prefix); k != nil && bytes.HasPrefix(k, prefix); k, v = cur.Next() {
			all = append(all, part{int(binary.BigEndian.Uint32(k[len(prefix):])), bytes.Clone(v)})
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, x := range all {
		if err := fn(x.n, x.body); err != nil {
			return err
		}
	}
	return nil
}
