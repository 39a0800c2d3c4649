package packed

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	bolt "go.etcd.io/bbolt"
)

// MaxKey is how long a key may be, in bytes.
const MaxKey = 15

// blockSize is about how many bytes a block has at most, unless a single record has more. It is
// such that three fit into a page of bbolt's.
const blockSize = 1200

// Map is a sorted map. See the package's documentation.
type Map struct{ blocks }

type entry struct{ key, val []byte }

// NewMap returns the Map of a kind in a bucket.
func NewMap(bucket *bolt.Bucket, kind byte) *Map {
	m := &Map{}
	m.init(bucket, kind)
	return m
}

// Get returns the value of a key, a copy; nil when there is none.
func (m *Map) Get(key []byte) []byte {
	k := m.find(key)
	if k == nil {
		return nil
	}
	if k.form.split {
		i, ok := k.search(key)
		if !ok {
			return nil
		}
		return append(make([]byte, 0, len(k.form.entries[i].val)), k.form.entries[i].val...)
	}
	r := reader{raw: k.raw}
	for r.next() {
		if c := bytes.Compare(r.key, key); c == 0 {
			return append(make([]byte, 0, len(r.val)), r.val...)
		} else if c > 0 {
			break
		}
	}
	return nil
}

// Put sets the value of a key, of which it keeps neither.
func (m *Map) Put(key, val []byte) error {
	if len(key) < group || len(key) > MaxKey {
		return fmt.Errorf("packed: a key of %d bytes", len(key))
	}
	k := m.find(key)
	if k == nil {
		var err error
		if k, err = m.first(key); err != nil {
			return err
		}
	}
	m.keep(k)
	if !k.form.split {
		if !k.form.known {
			k.toEnd()
		}
		if len(k.form.lastKey) == 0 || bytes.Compare(key, k.form.lastKey) > 0 {
			if !k.own {
				k.raw, k.own = append(make([]byte, 0, len(k.raw)+256), k.raw...), true
			}
			k.raw = appendEntry(k.raw, k.form.lastKey, k.form.lastVal, key, val)
			k.form.lastKey, k.form.lastVal = append(k.form.lastKey[:0], key...), append(k.form.lastVal[:0], val...)
			return nil
		}
		k.split()
	}
	e := entry{bytes.Clone(key), bytes.Clone(val)}
	i, ok := k.search(key)
	if ok {
		k.form.entries[i].val = e.val
	} else {
		k.form.entries = slices.Insert(k.form.entries, i, e)
	}
	return nil
}

// Delete removes a key.
func (m *Map) Delete(key []byte) error {
	k := m.find(key)
	if k == nil {
		return nil
	}
	m.keep(k)
	if !k.form.split {
		k.split()
	}
	if i, ok := k.search(key); ok {
		k.form.entries = slices.Delete(k.form.entries, i, i+1)
	}
	return nil
}

// Flush writes what was changed into the bucket.
func (m *Map) Flush() error {
	for _, low := range slices.Sorted(maps.Keys(m.changed)) {
		k := m.changed[low]
		if !k.form.split && len(k.raw) > blockSize {
			k.split()
		}
		if err := m.write(k, k.pieces); err != nil {
			return err
		}
	}
	m.flushed()
	return nil
}

// pieces are what the block is written as.
func (k *block) pieces(yield func(key, raw []byte) error) error {
	if !k.form.split {
		return yield(k.low, k.raw)
	}
	var raw, first []byte
	var before entry
	for _, e := range k.form.entries {
		n := len(raw)
		raw = appendEntry(raw, before.key, before.val, e.key, e.val)
		if n > 0 && len(raw) > blockSize {
			if err := yield(first, raw[:n:n]); err != nil {
				return err
			}
			raw, n = appendEntry(nil, nil, nil, e.key, e.val), 0
		}
		if n == 0 {
			first = e.key
		}
		before = e
	}
	if len(raw) == 0 {
		return nil
	}
	return yield(first, raw)
}

// toEnd reads the last record of raw.
func (k *block) toEnd() {
	r := reader{raw: k.raw, key: k.form.lastKey[:0], val: k.form.lastVal[:0]}
	for r.next() {
	}
	k.form.lastKey, k.form.lastVal, k.form.known = r.key, r.val, true
}

// split makes entries of raw.
func (k *block) split() {
	k.form.entries, k.form.split = k.form.entries[:0], true
	r := reader{raw: k.raw}
	var room []byte
	for r.next() {
		if n := len(r.key) + len(r.val); cap(room)-len(room) < n {
			room = make([]byte, 0, max(n, 4<<10))
		}
		at := len(room)
		room = append(append(room, r.key...), r.val...)
		k.form.entries = append(k.form.entries, entry{room[at : at+len(r.key) : at+len(r.key)], room[at+len(r.key) : len(room) : len(room)]})
	}
	k.raw = nil
}

func (k *block) search(key []byte) (int, bool) {
	return slices.BinarySearchFunc(k.form.entries, key, func(e entry, key []byte) int { return bytes.Compare(e.key, key) })
}

// appendEntry encodes a record after another (nil: the first of a block): in one byte how much of
// the key they share and how much more of it comes, that; how much of the value they share, how much
// more comes, that.
func appendEntry(b, lastKey, lastVal, key, val []byte) []byte {
	n := shared(lastKey, key)
	b = append(b, byte(n<<4|(len(key)-n)))
	b = append(b, key[n:]...)
	n = shared(lastVal, val)
	b = binary.AppendUvarint(b, uint64(n))
	b = binary.AppendUvarint(b, uint64(len(val)-n))
	return append(b, val[n:]...)
}

func shared(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// reader reads the records of a block, one after the other.
type reader struct {
	raw      []byte
	key, val []byte // of the record read last; overwritten by the next
}

// next reads on, and reports whether there was another record.
func (r *reader) next() bool {
	if len(r.raw) == 0 {
		return false
	}
	n, more := int(r.raw[0]>>4), int(r.raw[0]&15)
	if n > len(r.key) || 1+more > len(r.raw) {
		panic("packed: a block that makes no sense")
	}
	r.key = append(r.key[:n], r.raw[1:1+more]...)
	r.raw = r.raw[1+more:]
	n, more = r.number(), r.number()
	if n > len(r.val) || more > len(r.raw) {
		panic("packed: a block that makes no sense")
	}
	r.val = append(r.val[:n], r.raw[:more]...)
	r.raw = r.raw[more:]
	return true
}

func (r *reader) number() int {
	n, size := binary.Uvarint(r.raw)
	if size <= 0 || n > 1<<31 {
		panic("packed: a block that makes no sense")
	}
	r.raw = r.raw[size:]
	return int(n)
}

// Cursor goes through a Map in the order of keys. What is changed behind or before it meanwhile, it
// may show or not; what it returned stays valid.
type Cursor struct {
	m       *Map
	block   *block // a copy of its bounds alone
	entries []entry
	at      int
}

// Cursor returns one that stands nowhere.
func (m *Map) Cursor() *Cursor { return &Cursor{m: m} }

// First goes to the first key.
func (c *Cursor) First() (key, val []byte) { return c.Seek(nil) }

// Seek goes to the first key that is not less than one.
func (c *Cursor) Seek(from []byte) (key, val []byte) {
	c.show(c.m.from(from))
	for c.block != nil {
		c.at, _ = slices.BinarySearchFunc(c.entries, from, func(e entry, key []byte) int { return bytes.Compare(e.key, key) })
		if c.at < len(c.entries) {
			return c.entries[c.at].key, c.entries[c.at].val
		}
		c.show(c.m.after(c.block))
	}
	return nil, nil
}

// Next goes to the next key; nil at the end.
func (c *Cursor) Next() (key, val []byte) {
	if c.block == nil {
		return nil, nil
	}
	for c.at++; c.at >= len(c.entries); c.at = 0 {
		if c.show(c.m.after(c.block)); c.block == nil {
			return nil, nil
		}
		if len(c.entries) > 0 {
			c.at = 0
			break
		}
	}
	return c.entries[c.at].key, c.entries[c.at].val
}

// show takes a block's records.
func (c *Cursor) show(k *block) {
	if k == nil {
		c.block, c.entries = nil, nil
		return
	}
	c.block = &block{low: bytes.Clone(k.low)}
	if k.form.split {
		c.entries = slices.Clone(k.form.entries)
		return
	}
	was := block{raw: k.raw}
	was.split()
	c.entries = was.form.entries
}
