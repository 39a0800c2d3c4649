package store

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	bolt "go.etcd.io/bbolt"
)

// MaxKey is the maximum length of a key in bytes.
const MaxKey = 15

// PackedMap is a sorted map. See the package's documentation.
type PackedMap struct {
	blocks
	size int // approximate maximum size of a block in bytes, unless a single record is larger

	// The position of the last Get in a block, because the next one often reads the next record.
	in   *block
	seen uint64
	at   reader

	buffer []byte // copies of keys and values that were put
}

type entry struct{ key, val []byte }

// NewPackedMap returns the PackedMap of a kind in a bucket. size is the approximate maximum size of
// its blocks in bytes, unless a single record is larger.
func NewPackedMap(bucket *bolt.Bucket, kind byte, size int) *PackedMap {
	m := &PackedMap{size: size}
	m.init(bucket, kind)
	return m
}

// Get returns a copy of the value of a key; nil when there is none.
func (m *PackedMap) Get(key []byte) []byte {
	k := m.find(key)
	if k == nil {
		return nil
	}
	if k.form.split {
		i, ok := k.search(key)
		if !ok {
			return nil
		}
		return own(k.form.entries[i].val)
	}
	if len(k.form.tail) > 0 && bytes.Compare(key, k.form.lastKey) > 0 {
		i, ok := searchIn(k.form.tail, key)
		if !ok {
			return nil
		}
		return own(k.form.tail[i].val)
	}
	r := &m.at
	if m.in != k || m.seen != k.seen || string(r.key) >= string(key) {
		*r, m.in, m.seen = reader{raw: k.raw, key: r.key[:0], val: r.val[:0]}, k, k.seen
	}
	for r.next() {
		if c := bytes.Compare(r.key, key); c == 0 {
			return own(r.val)
		} else if c > 0 {
			break
		}
	}
	return nil
}

// Put sets the value of a key. It keeps neither slice.
func (m *PackedMap) Put(key, val []byte) error {
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
	e := m.hold(key, val)
	if !k.form.split {
		if !k.form.known {
			k.toEnd()
		}
		if len(k.raw) == 0 || bytes.Compare(key, k.form.lastKey) > 0 {
			k.form.tail = placed(k.form.tail, e)
			return nil
		}
		k.split()
	}
	k.form.entries = placed(k.form.entries, e)
	return nil
}

// placed inserts a record into a sorted list.
func placed(in []entry, e entry) []entry {
	if n := len(in); n == 0 || bytes.Compare(in[n-1].key, e.key) < 0 {
		return append(in, e)
	}
	i, ok := searchIn(in, e.key)
	if !ok {
		return slices.Insert(in, i, e)
	}
	in[i].val = e.val
	return in
}

// hold copies a key and a value.
func (m *PackedMap) hold(key, val []byte) entry {
	if n := len(key) + len(val); cap(m.buffer)-len(m.buffer) < n {
		m.buffer = make([]byte, 0, max(n, 8<<10))
	}
	at, mid := len(m.buffer), len(m.buffer)+len(key)
	m.buffer = append(append(m.buffer, key...), val...)
	end := len(m.buffer)
	return entry{m.buffer[at:mid:mid], m.buffer[mid:end:end]}
}

// Delete removes a key.
func (m *PackedMap) Delete(key []byte) error {
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
func (m *PackedMap) Flush() error { return Flush(m) }

func (m *PackedMap) put(k *block) error {
	if !k.form.split && len(k.raw) > m.size {
		k.split()
	}
	return m.write(k, func(yield func(key, raw []byte) error) error { return k.pieces(m.size, yield) })
}

func (m *PackedMap) flushed() {
	m.blocks.flushed()
	m.in, m.buffer = nil, nil
}

// pieces divides the block into the pieces in which it is stored.
func (k *block) pieces(size int, yield func(key, raw []byte) error) error {
	more := k.form.tail
	if k.form.split {
		more = k.form.entries
	} else if len(more) == 0 {
		return yield(k.low, k.raw)
	}
	limit := len(k.raw) // more than all of it takes
	for _, e := range more {
		limit += len(e.key) + len(e.val) + maxLengths
	}
	limit = min(limit, size+size/8)
	raw := append(make([]byte, 0, max(limit, len(k.raw))), k.raw...)
	first := k.low // the key of the first piece is not used
	var before entry
	if len(raw) > 0 {
		before = entry{k.form.lastKey, k.form.lastVal}
	}
	for _, e := range more {
		n := len(raw)
		raw = appendEntry(raw, before.key, before.val, e.key, e.val)
		if n > 0 && len(raw) > size {
			if err := yield(first, raw[:n:n]); err != nil {
				return err
			}
			raw, first = appendEntry(make([]byte, 0, limit), nil, nil, e.key, e.val), e.key
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

// split converts raw and tail to entries.
func (k *block) split() {
	k.form.entries, k.form.split = k.all(), true
	k.raw, k.form.tail = nil, nil
}

// all is the contents of a block that is not split. What it allocates is what most blocks need:
// their records take 20 bytes each, and half of what they take without their differences.
func (k *block) all() []entry {
	entries := make([]entry, 0, len(k.raw)/16+len(k.form.tail)+1)
	r := reader{raw: k.raw}
	var buffer []byte
	for r.next() {
		if n := len(r.key) + len(r.val); cap(buffer)-len(buffer) < n {
			buffer = make([]byte, 0, max(n, 5*len(k.raw)/2))
		}
		at := len(buffer)
		buffer = append(append(buffer, r.key...), r.val...)
		entries = append(entries, entry{buffer[at : at+len(r.key) : at+len(r.key)], buffer[at+len(r.key) : len(buffer) : len(buffer)]})
	}
	return append(entries, k.form.tail...)
}

func (k *block) search(key []byte) (int, bool) { return searchIn(k.form.entries, key) }

func searchIn(in []entry, key []byte) (int, bool) {
	return slices.BinarySearchFunc(in, key, func(e entry, key []byte) int { return bytes.Compare(e.key, key) })
}

// maxLengths is how many bytes the lengths of a record take, unless it is very long.
const maxLengths = 1 + 2 + 2

// appendEntry encodes a record after another (nil: the first of a block): in one byte the length of
// the shared beginning of the keys and the length of the rest; the rest of the key; the length of
// the shared beginning of the values; the length of the rest; the rest of the value.
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
	key, val []byte // of the last record; overwritten by the next
}

// next reads the next record, and reports whether there was one.
func (r *reader) next() bool {
	if len(r.raw) == 0 {
		return false
	}
	n, more := int(r.raw[0]>>4), int(r.raw[0]&15)
	if n > len(r.key) || 1+more > len(r.raw) {
		panic(senseless)
	}
	r.key = append(r.key[:n], r.raw[1:1+more]...)
	r.raw = r.raw[1+more:]
	n, more = r.number(), r.number()
	if n > len(r.val) || more > len(r.raw) {
		panic(senseless)
	}
	r.val = append(r.val[:n], r.raw[:more]...)
	r.raw = r.raw[more:]
	return true
}

func (r *reader) number() int {
	n, size := binary.Uvarint(r.raw)
	if size <= 0 || n > 1<<31 {
		panic(senseless)
	}
	r.raw = r.raw[size:]
	return int(n)
}

// PackedCursor visits a PackedMap in the order of keys. It may or may not show changes that are
// made meanwhile. Keys and values that it returned stay valid.
type PackedCursor struct {
	m       *PackedMap
	block   *block // a copy, only of its bounds
	entries []entry
	at      int
	raw     reader // instead of entries
}

// Cursor returns one without a position.
func (m *PackedMap) Cursor() *PackedCursor { return &PackedCursor{m: m} }

// First moves to the first key.
func (c *PackedCursor) First() (key, val []byte) { return c.Seek(nil) }

// Seek moves to the first key that is not less than from.
func (c *PackedCursor) Seek(from []byte) (key, val []byte) {
	for c.show(c.m.from(from)); c.block != nil; c.show(c.m.after(c.block)) {
		for key, val := c.step(); key != nil; key, val = c.step() {
			if string(key) >= string(from) {
				return bytes.Clone(key), own(val)
			}
		}
	}
	return nil, nil
}

// Next moves to the next key; nil at the end.
func (c *PackedCursor) Next() (key, val []byte) {
	for ; c.block != nil; c.show(c.m.after(c.block)) {
		if key, val := c.step(); key != nil {
			return bytes.Clone(key), own(val)
		}
	}
	return nil, nil
}

// own returns a copy, which is never nil.
func own(val []byte) []byte { return append(make([]byte, 0, len(val)), val...) }

// step moves on within the block. The next step overwrites its results.
func (c *PackedCursor) step() (key, val []byte) {
	if c.entries == nil {
		if c.raw.next() {
			return c.raw.key, c.raw.val
		}
		return nil, nil
	}
	if c.at++; c.at > len(c.entries) {
		return nil, nil
	}
	return c.entries[c.at-1].key, c.entries[c.at-1].val
}

// show begins with a block. Later changes in it are not shown.
func (c *PackedCursor) show(k *block) {
	c.block, c.entries, c.at = nil, nil, 0
	if k == nil {
		return
	}
	c.block = &block{low: bytes.Clone(k.low)}
	if k.form.split {
		c.entries = append(make([]entry, 0, len(k.form.entries)), k.form.entries...)
	} else if len(k.form.tail) > 0 {
		c.entries = k.all()
	} else {
		c.raw = reader{raw: k.raw, key: c.raw.key[:0], val: c.raw.val[:0]}
	}
}
