package segment

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"iter"
	"math"
	"sort"
)

// Segment reads a segment's bytes, which must not change. It may be used by many goroutines.
// Damaged bytes may cause any method to panic; Check finds them.
type Segment struct {
	raw                  []byte
	n                    uint32
	facts, texts, values []byte
	pages, urls          []byte
	words, keys          dict
	lists, keyLists      []byte
	targets, targetPages []byte
	targetCount          uint32
	led                  []byte
	properties           []byte
	sums                 [Fields]uint64
}

// Open reads the head of a segment.
func Open(raw []byte) (*Segment, error) {
	if len(raw) < headSize || string(raw[:8]) != magic {
		return nil, errFormat
	}
	s := &Segment{raw: raw, n: binary.LittleEndian.Uint32(raw[12:])}
	var part [sections][]byte
	from := uint64(headSize)
	for i := range part {
		to := binary.LittleEndian.Uint64(raw[16+8*i:])
		if to < from || to > uint64(len(raw)) {
			return nil, fmt.Errorf("%w: section %d is from %d to %d of %d bytes", errFormat, i, from, to, len(raw))
		}
		part[i] = raw[from:to:to]
		from = (to + 7) &^ 7
	}
	s.facts, s.texts, s.values, s.pages, s.urls = part[secFacts], part[secTexts], part[secValues], part[secPages], part[secURLs]
	s.lists, s.keyLists = part[secLists], part[secKeyLists]
	t := part[secTargets]
	if len(s.facts) != int(s.n)*factsSize || len(s.pages) != int(s.n)*12 || len(s.urls) != int(s.n)*12 || len(t) < 4 || len(part[secSums]) != 8*int(Fields) || len(part[secValues]) < 8 ||
		len(part[secWords]) < 4 || len(part[secKeys]) < 4 {
		return nil, fmt.Errorf("%w: its sections do not fit together", errFormat)
	}
	s.targetCount = binary.LittleEndian.Uint32(t)
	s.led, s.properties = part[secLed], part[secProperties]
	if !fitsProperties(s.properties) || uint64(len(s.led)) != 4*uint64(s.targetCount) || uint64(len(t)) < 4+16*uint64(s.targetCount) || !fits(part[secWords]) || !fits(part[secKeys]) {
		return nil, fmt.Errorf("%w: its sections do not fit together", errFormat)
	}
	s.words, s.keys = readDict(part[secWords]), readDict(part[secKeys])
	for k := range s.sums {
		s.sums[k] = binary.LittleEndian.Uint64(part[secSums][8*k:])
	}
	s.targets, s.targetPages = t[4:][:16*s.targetCount], t[4+16*s.targetCount:]
	return s, nil
}

// Check compares the checksum; it reads all bytes.
func (s *Segment) Check() error {
	if binary.LittleEndian.Uint32(s.raw[8:]) != crc32.Checksum(s.raw[12:], castagnoli) {
		return fmt.Errorf("%w: its checksum is wrong", errFormat)
	}
	return nil
}

// Len is how many pages the segment has, including those deleted since.
func (s *Segment) Len() uint32 { return s.n }

// Sums are how many words the parts of all pages have, including those deleted since.
func (s *Segment) Sums() [Fields]uint64 { return s.sums }

// Size is its length in bytes.
func (s *Segment) Size() int { return len(s.raw) }

// Find returns the index of a page by its number in the store.
func (s *Segment) Find(page uint64) (i uint32, ok bool) {
	at := sort.Search(int(s.n), func(i int) bool { return binary.LittleEndian.Uint64(s.pages[8*i:]) >= page })
	return s.numbered(s.pages, at, page)
}

// FindURL returns the index of a page by the Hash of its address. If several have it, it is one of
// them.
func (s *Segment) FindURL(hash uint64) (i uint32, ok bool) {
	return s.numbered(s.urls, searchHash(s.urls, 8, int(s.n), hash), hash)
}

// numbered returns the page beside a number, if the number is at that index.
func (s *Segment) numbered(b []byte, at int, number uint64) (uint32, bool) {
	if at == int(s.n) || binary.LittleEndian.Uint64(b[8*at:]) != number {
		return 0, false
	}
	return binary.LittleEndian.Uint32(b[8*int(s.n)+4*at:]), true
}

// Entry is the dictionary's entry for a word.
type Entry struct {
	Pages uint32 // number of pages with the word, including those deleted since
	Pairs uint32 // number of pairs of a page and a target to which it links with the word

	last                 uint32
	pages, places, links []byte
}

func (s *Segment) entry(v []byte) (e Entry) {
	var n [7]uint64
	for i := range n {
		x, w := binary.Uvarint(v)
		n[i], v = x, v[w:]
	}
	e.Pages, e.last, e.Pairs = uint32(n[0]), uint32(n[1]), uint32(n[5])
	l := s.lists[n[2]:]
	e.pages, e.places, e.links = l[:n[3]], l[n[3]:][:n[4]], l[n[3]+n[4]:][:n[6]]
	return e
}

// Word returns what is known of a word.
func (s *Segment) Word(word []byte) (e Entry, ok bool) {
	c, ok := s.words.find(word)
	if !ok {
		return e, false
	}
	return s.entry(c.value), true
}

// Unread is an entry that was not decoded yet, because a search through many words needs few of
// them.
type Unread struct {
	s     *Segment
	value []byte
}

// Entry returns what is known of the word.
func (u Unread) Entry() Entry { return u.s.entry(u.value) }

// Beginning iterates over the words that begin with prefix, in order. A word is valid until the
// next.
func (s *Segment) Beginning(prefix []byte) iter.Seq2[[]byte, Unread] {
	return func(yield func([]byte, Unread) bool) {
		c, ok := s.words.from(prefix)
		for ; ok && bytes.HasPrefix(c.key, prefix); ok = c.next() {
			if !yield(c.key, Unread{s, c.value}) {
				return
			}
		}
	}
}

// HasKeys reports whether any key begins with prefix.
func (s *Segment) HasKeys(prefix []byte) bool {
	c, ok := s.keys.from(prefix)
	return ok && bytes.HasPrefix(c.key, prefix)
}

// WithKey iterates over the words that have a key, other than the key itself.
func (s *Segment) WithKey(key []byte) iter.Seq2[[]byte, Entry] {
	return func(yield func([]byte, Entry) bool) {
		c, ok := s.keys.find(key)
		if !ok {
			return
		}
		from, w := binary.Uvarint(c.value)
		n, _ := binary.Uvarint(c.value[w:])
		l, ord := s.keyLists[from:][:n], uint32(0)
		for len(l) > 0 {
			d, w := binary.Uvarint(l)
			ord, l = ord+uint32(d), l[w:]
			at := s.words.at(ord)
			if !yield(at.key, s.entry(at.value)) {
				return
			}
		}
	}
}

// Postings iterates over the pages that have a word.
type Postings struct {
	Page uint32
	Mask uint8  // MaskTitle and so on
	Body uint32 // how often the word is in the body

	pages, places []byte
	index, placed int // pages read, and lists of positions skipped
}

// Postings returns an iterator before the first page.
func (e *Entry) Postings() Postings { return Postings{pages: e.pages, places: e.places} }

// Next moves to the next page; false after the last.
func (p *Postings) Next() bool {
	b := p.pages
	if len(b) == 0 {
		return false
	}
	d, w := uint64(b[0]), 1
	if d >= 0x80 {
		d, w = binary.Uvarint(b)
	}
	p.Page += uint32(d)
	p.Mask, p.Body = b[w]&15, uint32(b[w]>>4)
	w++
	if p.Body == manyBody {
		more, n := binary.Uvarint(b[w:])
		p.Body += uint32(more)
		w += n
	}
	p.pages = b[w:]
	p.index++
	return true
}

// Posting is a page that has a word, as in Postings.
type Posting struct {
	Page, Body uint32
	Mask       uint8
}

// Some moves on by as many pages as dst can take, or as there are, and returns them. It is a faster
// Next for all pages: for most words of a query this is most of the work.
func (p *Postings) Some(dst []Posting) []Posting {
	b, page, n := p.pages, p.Page, 0
	for n < len(dst) && len(b) > 1 {
		d, w := uint64(b[0]), 1
		if d >= 0x80 {
			d, w = binary.Uvarint(b)
		}
		page += uint32(d)
		count := b[w]
		body := uint32(count >> 4)
		w++
		if body == manyBody {
			more, v := binary.Uvarint(b[w:])
			body += uint32(more)
			w += v
		}
		dst[n] = Posting{Page: page, Body: body, Mask: count & 15}
		n++
		b = b[w:]
	}
	if n > 0 {
		last := &dst[n-1]
		p.Page, p.Mask, p.Body = last.Page, last.Mask, last.Body
	}
	p.pages = b
	p.index += n
	return dst[:n]
}

// Started reports whether Next was called.
func (p *Postings) Started() bool { return p.index > 0 }

// Places appends the positions of the word in the page.
func (p *Postings) Places(dst []uint32) []uint32 { return p.PlacesUntil(dst, math.MaxUint32) }

// PlacesUntil appends the positions that are less than end, and the first that is not.
func (p *Postings) PlacesUntil(dst []uint32, end uint32) []uint32 {
	p.skip()
	n, w := binary.Uvarint(p.places)
	b, pos := p.places[w:][:n], uint32(0)
	for len(b) > 0 && pos < end {
		d, w := uint64(b[0]), 1
		if d >= 0x80 {
			d, w = binary.Uvarint(b)
		}
		pos, b = pos+uint32(d), b[w:]
		dst = append(dst, pos)
	}
	return dst
}

// PlacesAmong appends the positions that are among others, which must be in order.
func (p *Postings) PlacesAmong(dst, others []uint32) []uint32 {
	p.skip()
	n, w := binary.Uvarint(p.places)
	b, pos := p.places[w:][:n], uint32(0)
	for len(b) > 0 {
		d, w := uint64(b[0]), 1
		if d >= 0x80 {
			d, w = binary.Uvarint(b)
		}
		pos, b = pos+uint32(d), b[w:]
		for len(others) > 0 && others[0] < pos {
			others = others[1:]
		}
		if len(others) == 0 {
			break
		}
		if others[0] == pos {
			dst = append(dst, pos)
		}
	}
	return dst
}

// PlacesSize is how many bytes the positions of the word in the page take, which is approximately
// their number.
func (p *Postings) PlacesSize() int {
	p.skip()
	n, _ := binary.Uvarint(p.places)
	return int(n)
}

// skip moves to the positions of the current page.
func (p *Postings) skip() {
	for ; p.placed < p.index-1; p.placed++ {
		n, w := uint64(p.places[0]), 1
		if n >= 0x80 {
			n, w = binary.Uvarint(p.places)
		}
		p.places = p.places[w+int(n):]
	}
}

// LinkPairs iterates over the pages that link with a word, with the number of the target.
func (e *Entry) LinkPairs() iter.Seq2[uint32, uint32] {
	return func(yield func(page, target uint32) bool) {
		page, b := uint32(0), e.links
		for len(b) > 0 {
			d, w := binary.Uvarint(b)
			t, v := binary.Uvarint(b[w:])
			page, b = page+uint32(d), b[w+v:]
			if !yield(page, uint32(t)) {
				return
			}
		}
	}
}

// Target is the Hash of an address to which links lead.
func (s *Segment) Target(n uint32) uint64 { return binary.LittleEndian.Uint64(s.targets[16*n:]) }

// Led is the page of the segment that has the address of a target; ok is false if there is none. If
// several have it, it is one of them.
func (s *Segment) Led(n uint32) (page uint32, ok bool) {
	page = binary.LittleEndian.Uint32(s.led[4*n:])
	return page, page != gone
}

// Targets is the number of addresses to which links lead; Target numbers them from 0.
func (s *Segment) Targets() uint32 { return s.targetCount }

// FindTarget returns the number of a target by its Hash.
func (s *Segment) FindTarget(hash uint64) (n uint32, ok bool) {
	i := searchHash(s.targets, 16, int(s.targetCount), hash)
	return uint32(i), i < int(s.targetCount) && s.Target(uint32(i)) == hash
}

// Linking is how many pages link to a target, including those deleted since.
func (s *Segment) Linking(n uint32) uint32 { return binary.LittleEndian.Uint32(s.targets[16*n+12:]) }

// LinkingPages iterates over the pages that link to a target.
func (s *Segment) LinkingPages(n uint32) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		b := s.targetPages[binary.LittleEndian.Uint32(s.targets[16*n+8:]):]
		page := uint32(0)
		for range s.Linking(n) {
			d, w := binary.Uvarint(b)
			page, b = page+uint32(d), b[w:]
			if !yield(page) {
				return
			}
		}
	}
}
