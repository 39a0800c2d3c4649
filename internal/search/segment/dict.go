package segment

import (
	"bytes"
	"encoding/binary"
	"sort"
)

// perBlock is the number of entries in a block of a dictionary. The first of a block is complete;
// the others begin with the number of bytes in common with the one before.
const perBlock = 16

// dictWriter writes a sorted dictionary.
type dictWriter struct {
	blocks []uint32
	data   []byte
	last   []byte
	n      uint32
}

// reset returns an empty writer with the memory of this one.
func (w *dictWriter) reset() dictWriter {
	return dictWriter{blocks: w.blocks[:0], data: w.data[:0], last: w.last[:0]}
}

// add appends a key, which must be greater than the one before, with its value.
func (w *dictWriter) add(key, value []byte) {
	common := 0
	if w.n%perBlock == 0 {
		w.blocks = append(w.blocks, uint32(len(w.data)))
	} else {
		for common < len(key) && common < len(w.last) && key[common] == w.last[common] {
			common++
		}
	}
	w.data = append(w.data, byte(common), byte(len(key)-common), byte(len(value)))
	w.data = append(append(w.data, key[common:]...), value...)
	w.last = append(w.last[:0], key...)
	w.n++
}

func (w *dictWriter) appendTo(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, w.n)
	for _, b := range w.blocks {
		dst = binary.LittleEndian.AppendUint32(dst, b)
	}
	return append(dst, w.data...)
}

// dict is a dictionary for reading.
type dict struct {
	n      uint32
	blocks []byte
	data   []byte
}

// fits reports whether a dictionary is large enough for the number of blocks that it states.
func fits(b []byte) bool { return len(b) >= 4 && len(b)-4 >= blocksSize(b) }

func blocksSize(b []byte) int {
	return 4 * ((int(binary.LittleEndian.Uint32(b)) + perBlock - 1) / perBlock)
}

// readDict reads a dictionary that fits.
func readDict(b []byte) dict {
	n, blocks := binary.LittleEndian.Uint32(b), blocksSize(b)
	return dict{n, b[4:][:blocks], b[4+blocks:]}
}

func (d *dict) block(i int) []byte {
	return d.data[binary.LittleEndian.Uint32(d.blocks[4*i:]):]
}

// cursor is a position in a dictionary.
type cursor struct {
	d     *dict
	rest  []byte // after the entry
	key   []byte // grows and shrinks in place
	value []byte
	ord   uint32 // number of the entry
}

// next moves to the following entry; false after the last.
func (c *cursor) next() bool {
	if c.ord++; c.ord >= c.d.n {
		return false
	}
	c.read()
	return true
}

func (c *cursor) read() {
	b := c.rest
	common, n, v := int(b[0]), int(b[1]), int(b[2])
	c.key = append(c.key[:common], b[3:3+n]...)
	c.value, c.rest = b[3+n:3+n+v], b[3+n+v:]
}

// from returns a cursor at the first key that is not less than key; ok is false when there is none.
func (d *dict) from(key []byte) (c cursor, ok bool) {
	if d.n == 0 {
		return c, false
	}
	blocks := len(d.blocks) / 4
	// the last block that begins with a key not greater
	i := sort.Search(blocks, func(i int) bool {
		b := d.block(i)
		return bytes.Compare(b[3:3+int(b[1])], key) > 0
	}) - 1
	i = max(i, 0)
	c = cursor{d: d, rest: d.block(i), ord: uint32(i * perBlock), key: make([]byte, 0, 64)}
	c.read()
	for bytes.Compare(c.key, key) < 0 {
		if !c.next() {
			return c, false
		}
	}
	return c, true
}

// find returns the entry of a key.
func (d *dict) find(key []byte) (c cursor, ok bool) {
	c, ok = d.from(key)
	return c, ok && bytes.Equal(c.key, key)
}

// at returns a cursor at an entry by its number.
func (d *dict) at(ord uint32) cursor {
	c := cursor{d: d, rest: d.block(int(ord / perBlock)), ord: ord / perBlock * perBlock, key: make([]byte, 0, 64)}
	c.read()
	for c.ord < ord {
		c.next()
	}
	return c
}

// first returns a cursor at the first entry.
func (d *dict) first() (c cursor, ok bool) { return d.from(nil) }
