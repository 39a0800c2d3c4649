package boltfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"syscall"
)

// The layout of bbolt's file format 2. Numbers are in the machine's byte order,
// as bbolt writes them.
const (
	headSize   = 16 // of a page: id, flags, count, overflow
	elemSize   = 16 // of an entry in a branch or leaf
	metaSize   = 64
	metaSum    = metaSize - 8 // where its checksum is
	metaMagic  = 0xED0CDAED
	flagBranch = 0x01
	flagLeaf   = 0x02
	flagFree   = 0x10
	entryIsBkt = 0x01
	noFreelist = ^uint64(0)
)

// checkPages is how many pages are checked before a file is opened, from the roots downward, unless
// bbolt itself is going to read all of them. This covers a small file completely, and of a large
// one the pages that most lookups pass through. At most 16 MiB are read.
const checkPages = 4096

// checkPagesToRead is the same for a file that is opened for reading only. Otherwise a command that
// answers one question would spend most of its time on this. Branches come first, and only they can
// lead in circles; a page with the number of another one is noticed by bbolt when it is read.
const checkPagesToRead = 2048

// errStructure means that the pages do not form a tree.
var errStructure = errors.New("its pages are inconsistent")

func wrong(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errStructure, fmt.Sprintf(format, args...))
}

// checker walks the pages of a file, upper pages first. It checks what bbolt would rely on without
// checking: page numbers, and the positions of keys and values. It does not interpret keys and
// values.
type checker struct {
	r        io.ReaderAt
	size     int64
	page     int64    // bytes
	end      uint64   // number of the page after the last one
	seen     []uint64 // a bit for each page
	todo     []node
	buf      []byte // the beginning of a page
	key, was []byte
}

// node is a page to be checked, and the bounds that its keys must lie between. nil means no bound.
type node struct {
	id       uint64
	low, top []byte
}

// check reports whether bbolt can read the first limit pages of a file without leaving the file or
// following a cycle. An empty file is valid. So is a file with invalid meta pages, because bbolt
// reports those itself.
func check(f *os.File, limit int) error {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return err
	}
	// Reading thousands of pages by system calls would take most of the time of a command that
	// answers one question. A page that the disk cannot read is a fault, from which guard recovers.
	mapped, err := syscall.Mmap(int(f.Fd()), 0, int(info.Size()), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return fmt.Errorf("map %s: %w", f.Name(), err)
	}
	defer syscall.Munmap(mapped)
	c := &checker{r: bytes.NewReader(mapped), size: info.Size()}
	m := c.meta()
	if m == nil {
		return nil
	}
	root, freelist := binary.NativeEndian.Uint64(m[16:]), binary.NativeEndian.Uint64(m[32:])
	c.end = binary.NativeEndian.Uint64(m[40:])
	if c.end > uint64(c.size/c.page) {
		return wrong("the file is cut short: %d bytes of %d", c.size, c.end*uint64(c.page))
	}
	c.seen = make([]uint64, c.end/64+1)
	if freelist != noFreelist {
		if err := c.freelist(freelist); err != nil {
			return err
		}
	}
	if err := c.queue(node{id: root}, 0); err != nil {
		return err
	}
	for n := 0; len(c.todo) > 0 && (limit == 0 || n < limit); n++ {
		var p node
		if last := len(c.todo) - 1; limit == 0 { // depth first keeps the list short
			p, c.todo = c.todo[last], c.todo[:last]
		} else { // breadth first: upper pages matter most
			p, c.todo = c.todo[0], c.todo[1:]
		}
		if err := c.walk(p); err != nil {
			return err
		}
	}
	return nil
}

// meta returns the meta page that bbolt would use, or nil if none is valid. It sets the page size.
func (c *checker) meta() (best []byte) {
	read := func(at int64) []byte {
		b := make([]byte, metaSize)
		if _, err := c.r.ReadAt(b, at+headSize); err != nil {
			return nil
		}
		sum := fnv.New64a()
		sum.Write(b[:metaSum])
		if binary.NativeEndian.Uint32(b) != metaMagic || sum.Sum64() != binary.NativeEndian.Uint64(b[metaSum:]) {
			return nil
		}
		return b
	}
	first := read(0)
	if first != nil {
		c.page = int64(binary.NativeEndian.Uint32(first[8:]))
	}
	for size := int64(1024); c.page == 0 && size <= 1024<<14; size <<= 1 {
		if b := read(size); b != nil && int64(binary.NativeEndian.Uint32(b[8:])) == size {
			c.page = size
		}
	}
	if c.page < 512 {
		return nil
	}
	best = first
	if second := read(c.page); second != nil && (best == nil || binary.NativeEndian.Uint64(second[48:]) > binary.NativeEndian.Uint64(best[48:])) {
		best = second
	}
	return best
}

// queue adds a page that another page refers to; the file's root is referred to by the meta pages,
// which are the first.
func (c *checker) queue(p node, from uint64) error {
	if p.id < 2 || p.id >= c.end {
		return wrong("page %d points to page %d of %d", from, p.id, c.end)
	}
	c.todo = append(c.todo, p)
	return c.claim(p.id)
}

// claim marks a page as used. A second claim of the same page is an error.
func (c *checker) claim(id uint64) error {
	word, bit := &c.seen[id/64], uint64(1)<<(id%64)
	if *word&bit != 0 {
		return wrong("page %d is used twice", id)
	}
	*word |= bit
	return nil
}

// firstRead is how many bytes of a page are read at first: all of it on most systems.
const firstRead = 4096

// head reads the beginning of a page into buf. It returns what the page's header has, and the size
// of the page with its overflow pages, in bytes.
func (c *checker) head(id uint64) (flags, count uint16, size int64, err error) {
	if c.buf, err = c.at(c.buf, int64(id)*c.page, min(c.page, firstRead)); err != nil {
		return 0, 0, 0, wrong("page %d cannot be read: %v", id, err)
	}
	if is := binary.NativeEndian.Uint64(c.buf); is != id {
		return 0, 0, 0, wrong("page %d has the number of page %d", id, is)
	}
	over := uint64(binary.NativeEndian.Uint32(c.buf[12:]))
	if id+over >= c.end {
		return 0, 0, 0, wrong("page %d goes past the end", id)
	}
	return binary.NativeEndian.Uint16(c.buf[8:]), binary.NativeEndian.Uint16(c.buf[10:]), int64(over+1) * c.page, nil
}

func (c *checker) freelist(id uint64) error {
	if id < 2 || id >= c.end {
		return wrong("the free list is page %d of %d", id, c.end)
	}
	flags, count, size, err := c.head(id)
	if err != nil {
		return err
	}
	at, n := int64(id)*c.page+headSize, uint64(count)
	var b [8]byte
	if count == 0xffff { // then the first number is the count
		if _, err := c.r.ReadAt(b[:], at); err != nil {
			return wrong("the free list cannot be read: %v", err)
		}
		n, at = binary.NativeEndian.Uint64(b[:]), at+8
	}
	if flags != flagFree || n > uint64(size-headSize)/8 {
		return wrong("page %d is not a free list", id)
	}
	ids := make([]byte, 8*n)
	if _, err := c.r.ReadAt(ids, at); err != nil {
		return wrong("the free list cannot be read: %v", err)
	}
	last := uint64(1)
	for ; len(ids) > 0; ids = ids[8:] {
		free := binary.NativeEndian.Uint64(ids)
		if free <= last || free >= c.end {
			return wrong("the free list has page %d after %d, of %d", free, last, c.end)
		}
		last = free
	}
	return nil
}

// at reads n bytes at a position of the file into b, which grows as needed.
func (c *checker) at(b []byte, place, n int64) ([]byte, error) {
	if int64(cap(b)) < n {
		b = make([]byte, n)
	}
	b = b[:n]
	_, err := c.r.ReadAt(b, place)
	return b, err
}

func (c *checker) walk(p node) (err error) {
	flags, count, size, err := c.head(p.id)
	if err != nil {
		return err
	}
	if flags != flagBranch && flags != flagLeaf {
		return wrong("page %d is neither branch nor leaf", p.id)
	}
	for id := p.id + 1; id < p.id+uint64(size/c.page); id++ {
		if err := c.claim(id); err != nil {
			return err
		}
	}
	need, start := int64(count)*elemSize, int64(p.id)*c.page
	if headSize+need > size || flags == flagBranch && count == 0 {
		return wrong("page %d of %d bytes has %d entries", p.id, size, count)
	}
	// Of a page with overflow pages only the keys are read, because most of it is values.
	if read := headSize + need; read > int64(len(c.buf)) {
		if c.buf, err = c.at(c.buf, start, read); err != nil {
			return wrong("page %d cannot be read: %v", p.id, err)
		}
	}
	c.was = append(c.was[:0], p.low...)
	for i := range int64(count) {
		place := headSize + i*elemSize
		e := c.buf[place:]
		var pos, keyLen, valueLen int64
		if flags == flagBranch {
			pos, keyLen = num(e), num(e[4:])
		} else {
			pos, keyLen, valueLen = num(e[4:]), num(e[8:]), num(e[12:])
		}
		if place+pos+keyLen+valueLen > size || keyLen == 0 {
			return wrong("page %d: entry %d lies outside", p.id, i)
		}
		key := c.key
		if end := place + pos + keyLen; end <= int64(len(c.buf)) {
			key = c.buf[place+pos : end]
		} else {
			if c.key, err = c.at(c.key, start+place+pos, keyLen); err != nil {
				return wrong("page %d cannot be read: %v", p.id, err)
			}
			key = c.key
		}
		order := bytes.Compare(c.was, key)
		if order > 0 || order == 0 && i > 0 || p.top != nil && bytes.Compare(key, p.top) >= 0 {
			return wrong("page %d: key %d is out of order", p.id, i)
		}
		c.was = append(c.was[:0], key...)
		switch {
		case flags == flagBranch:
			// The keys of the previous sibling end where the keys of this one begin.
			if n := len(c.todo); i > 0 {
				c.todo[n-1].top = bytes.Clone(key)
			}
			if err := c.queue(node{binary.NativeEndian.Uint64(e[8:]), bytes.Clone(key), p.top}, p.id); err != nil {
				return err
			}
		case num(e)&entryIsBkt != 0:
			if err := c.bucket(start+place+pos+keyLen, valueLen, p.id); err != nil {
				return err
			}
		}
	}
	return nil
}

func num(b []byte) int64 { return int64(binary.NativeEndian.Uint32(b)) }

// bucket checks a bucket's header, and its only page if that page is stored inside the value.
func (c *checker) bucket(at, size int64, id uint64) error {
	var h [16 + headSize]byte
	if size < 16 {
		return wrong("page %d: a bucket of %d bytes", id, size)
	}
	b := h[:min(size, int64(len(h)))]
	if _, err := c.r.ReadAt(b, at); err != nil {
		return wrong("page %d cannot be read: %v", id, err)
	}
	if root := binary.NativeEndian.Uint64(b); root != 0 {
		return c.queue(node{id: root}, id)
	}
	if len(b) < len(h) || binary.NativeEndian.Uint16(b[24:]) != flagLeaf {
		return wrong("page %d: a bucket within it is not a leaf", id)
	}
	count, space := int64(binary.NativeEndian.Uint16(b[26:])), size-int64(len(h))
	entries := make([]byte, min(count*elemSize, max(space, 0)))
	if count*elemSize > space {
		return wrong("page %d: a bucket within it is too small for %d entries", id, count)
	}
	if _, err := c.r.ReadAt(entries, at+int64(len(h))); err != nil {
		return wrong("page %d cannot be read: %v", id, err)
	}
	for i := range count {
		e := entries[i*elemSize:]
		if num(e[4:])+num(e[8:])+num(e[12:]) > space-i*elemSize {
			return wrong("page %d: entry %d of a bucket within it lies outside", id, i)
		}
	}
	return nil
}
