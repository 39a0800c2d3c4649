package store

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	bolt "go.etcd.io/bbolt"
)

// senseless is the text of the panic about an inconsistent block.
const senseless = "packed: a block is inconsistent"

const (
	group  = 4         // number of bytes of a key that identify its owner
	prefix = group + 1 // and, in the bucket, its kind
)

// fill is the part of a page that is filled when it is split. Most blocks are added after others of
// their group, so the first part of a page hardly grows.
const fill = 0.85

// place appends the key in the bucket of a block that begins with key.
func (b *blocks) place(to, key []byte) []byte {
	return append(append(append(to, key[:group]...), b.kind), key[group:]...)
}

// block is a value of the bucket, or will become one.
type block struct {
	low  []byte // its key in the bucket
	high []byte // the key of the next one; nil: there is none
	raw  []byte // the stored bytes
	own  bool   // raw is a copy of our own, and may be appended to
	kept bool   // it is among the changed blocks
	form form
	// Distinguishes it from other blocks that were found in this memory, and from earlier states
	seen uint64
}

// form is a block's contents as a PackedMap uses them.
type form struct {
	entries []entry // in order, instead of raw, once one of them was changed
	split   bool    // entries replace raw
	tail    []entry // in order, entries after those of raw
	lastKey []byte  // of raw, once anything was put
	lastVal []byte
	known   bool // lastKey and lastVal are set
}

// blocks finds the blocks of a bucket and keeps those that were changed.
type blocks struct {
	bucket  *bolt.Bucket
	kind    byte
	cursor  *bolt.Cursor      // each use begins with Seek, First or Last
	changed map[string]*block // by low
	last    *block            // the last one found
	spare   *block            // a block that was found but is not kept: reused for the next
	founds  uint64
}

func (b *blocks) init(bucket *bolt.Bucket, kind byte) {
	b.bucket, b.kind, b.cursor = bucket, kind, bucket.Cursor()
	bucket.FillPercent = fill
	b.changed = map[string]*block{}
}

// holds reports whether a key belongs to the block.
func (k *block) holds(place []byte) bool {
	return string(place[:prefix]) == string(k.low[:prefix]) && string(place) >= string(k.low) && (k.high == nil || string(place) < string(k.high))
}

// find returns the block that contains key or would contain it; nil when its group has none.
func (b *blocks) find(key []byte) *block {
	var buffer [MaxKey + 1]byte
	key = b.place(buffer[:0], key)
	if b.last != nil && b.last.holds(key) {
		return b.last
	}
	c := b.cursor
	low, raw := c.Seek(key)
	var high []byte
	if low == nil || string(low) != string(key) {
		if high = low; low == nil {
			low, raw = c.Last()
		} else {
			low, raw = previous(c, key)
		}
		if len(low) < prefix || string(low[:prefix]) != string(key[:prefix]) {
			return nil
		}
	} else {
		high, _ = c.Next()
	}
	return b.at(low, high, raw)
}

// previous moves a cursor back to the last entry before key. If everything in a page of the file
// was deleted in this transaction, bbolt's Prev returns nothing when it reaches the page, although
// there may be entries before it. Another Prev gets past it.
func previous(c *bolt.Cursor, key []byte) (low, raw []byte) {
	for range 100 {
		if low, raw = c.Prev(); low != nil {
			return low, raw
		}
	}
	for k, v := c.First(); k != nil && string(k) < string(key); k, v = c.Next() {
		low, raw = k, v
	}
	return low, raw
}

// from returns the block that contains key, or else the first after it; nil at the end.
func (b *blocks) from(key []byte) *block {
	if len(key) >= group {
		if k := b.find(key); k != nil {
			return k
		}
	}
	c := b.cursor
	var low, raw []byte
	if len(key) < group {
		low, raw = c.First()
	} else {
		low, raw = c.Seek(b.place(nil, key))
	}
	return b.onward(c, low, raw)
}

// onward returns the block at a cursor, or else the next one of our kind; nil at the end.
func (b *blocks) onward(c *bolt.Cursor, low, raw []byte) *block {
	var to [prefix]byte
	for low != nil && (len(low) < prefix || low[group] != b.kind) {
		if len(low) < prefix {
			panic(fmt.Sprintf("packed: a block with the key %x", low))
		}
		of := binary.BigEndian.Uint32(low)
		if low[group] > b.kind {
			if of++; of == 0 {
				return nil
			}
		}
		binary.BigEndian.PutUint32(to[:], of)
		to[group] = b.kind
		low, raw = c.Seek(to[:])
	}
	if low == nil {
		return nil
	}
	high, _ := c.Next()
	return b.at(low, high, raw)
}

// after returns the block after k; nil at the end.
func (b *blocks) after(k *block) *block {
	c := b.cursor
	low, raw := c.Seek(k.low)
	if string(low) == string(k.low) {
		low, raw = c.Next()
	}
	return b.onward(c, low, raw)
}

func (b *blocks) at(low, high, raw []byte) *block {
	k := b.changed[string(low)]
	if k == nil {
		if k = b.spare; k == nil {
			k = &block{}
			b.spare = k
		}
		b.founds++
		*k = block{seen: b.founds, low: append(k.low[:0], low...), high: k.high, raw: raw, form: form{lastKey: k.form.lastKey[:0], lastVal: k.form.lastVal[:0]}}
	}
	if high == nil {
		k.high = nil
	} else {
		k.high = append(k.high[:0], high...)
	}
	b.last = k
	return k
}

// first makes the first block of key's group.
func (b *blocks) first(key []byte) (*block, error) {
	low := b.place(nil, key[:group])
	if err := b.bucket.Put(low, []byte{}); err != nil { // so that find finds it
		return nil, err
	}
	k := b.find(key[:group])
	b.keep(k)
	return k, nil
}

// keep notes that a block will be changed.
func (b *blocks) keep(k *block) {
	if k.kept {
		return
	}
	k.kept = true
	b.changed[string(k.low)] = k
	if k == b.spare {
		b.spare = nil
	}
}

// write stores a block as several pieces. The first gets the block's key; if there is none, the key
// is deleted.
func (b *blocks) write(k *block, pieces func(yield func(key, raw []byte) error) error) error {
	n := 0
	err := pieces(func(key, raw []byte) error {
		if n++; n == 1 {
			return b.bucket.Put(k.low, raw)
		}
		return b.bucket.Put(b.place(nil, key), raw)
	})
	if err == nil && n == 0 {
		err = b.bucket.Delete(k.low)
	}
	return err
}

// Flushed is a PackedMap or a PackedSet.
type Flushed interface {
	all() map[string]*block // the changed ones
	put(*block) error
	flushed()
}

// Flush writes the changes of several Maps and Sets of one bucket, in the order of keys, so that
// each page of the bucket is visited once.
func Flush(in ...Flushed) error {
	type change struct {
		low string
		k   *block
		of  Flushed
	}
	n := 0
	for _, f := range in {
		n += len(f.all())
	}
	changes := make([]change, 0, n)
	for _, f := range in {
		for low, k := range f.all() {
			changes = append(changes, change{low, k, f})
		}
	}
	slices.SortFunc(changes, func(a, b change) int { return strings.Compare(a.low, b.low) })
	for _, c := range changes {
		if err := c.of.put(c.k); err != nil {
			return err
		}
	}
	for _, f := range in {
		f.flushed()
	}
	return nil
}

func (b *blocks) all() map[string]*block { return b.changed }

// flushed forgets the changed blocks and the last ones found.
func (b *blocks) flushed() {
	clear(b.changed)
	b.last, b.spare = nil, nil
}
