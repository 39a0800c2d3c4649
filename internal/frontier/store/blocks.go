package store

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	bolt "go.etcd.io/bbolt"
)

// senseless is what a panic says about a block that was not written like this.
const senseless = "packed: a block is inconsistent"

const (
	group  = 4         // how many bytes of a key say to whom it belongs
	prefix = group + 1 // and, in the bucket, of what kind it is
)

// fill is what part of a page is filled when it is divided. Most blocks come behind others of their
// group, so that the first part of a page is hardly added to.
const fill = 0.85

// place appends the key that a block which began with key would have in the bucket.
func (b *blocks) place(to, key []byte) []byte {
	return append(append(append(to, key[:group]...), b.kind), key[group:]...)
}

// block is a value of the bucket, or what is to become one.
type block struct {
	low  []byte // its key in the bucket
	high []byte // that of the next one; nil: there is none
	raw  []byte // as it is written
	own  bool   // raw is ours, and may be appended to
	kept bool   // among the changed ones
	form form
	seen uint64 // tells it from others that were found in this memory, and from what it was
}

// form is what a Map makes of a block beside its bytes.
type form struct {
	entries []entry // in order, instead of raw, once anything in it was changed
	split   bool    // entries stand for it
	tail    []entry // in order, what comes behind raw
	lastKey []byte  // of raw, once anything was put
	lastVal []byte
	known   bool // those two are
}

// blocks finds the blocks of a bucket and keeps those that were changed.
type blocks struct {
	bucket  *bolt.Bucket
	kind    byte
	cursor  *bolt.Cursor      // each use begins with a Seek, a First or a Last
	changed map[string]*block // by low
	last    *block            // found last
	spare   *block            // one that was found and is not kept: used for the next
	founds  uint64
}

func (b *blocks) init(bucket *bolt.Bucket, kind byte) {
	b.bucket, b.kind, b.cursor = bucket, kind, bucket.Cursor()
	bucket.FillPercent = fill
	b.changed = map[string]*block{}
}

// holds reports whether what belongs to that place lies in the block.
func (k *block) holds(place []byte) bool {
	return string(place[:prefix]) == string(k.low[:prefix]) && string(place) >= string(k.low) && (k.high == nil || string(place) < string(k.high))
}

// find returns the block in which key lies or would lie; nil when its group has none.
func (b *blocks) find(key []byte) *block {
	var room [MaxKey + 1]byte
	key = b.place(room[:0], key)
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

// previous goes back from where a cursor stands to the last entry before key. bbolt's Prev returns
// nothing when it comes to a page of which everything was deleted in this transaction, though there
// may be more before that, and going back again gets over it.
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

// from returns the block in which key lies, or else the first after it; nil at the end.
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

// onward returns the block at a cursor, or else the next one that is of our kind; nil at the end.
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
	if err := b.bucket.Put(low, []byte{}); err != nil { // so that whoever looks for it finds it
		return nil, err
	}
	k := b.find(key[:group])
	b.keep(k)
	return k, nil
}

// keep notes that a block is going to be changed.
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

// write puts a block into the bucket in pieces. The first has the block's key, or is removed.
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

// Flushed is a Map or a Set.
type Flushed interface {
	all() map[string]*block // that were changed
	put(*block) error
	flushed()
}

// Flush writes what was changed in several Maps and Sets of one bucket into it: in the order of
// keys, so that each page of the bucket is gone to once.
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

// flushed forgets what was changed, and what was found.
func (b *blocks) flushed() {
	clear(b.changed)
	b.last, b.spare = nil, nil
}
