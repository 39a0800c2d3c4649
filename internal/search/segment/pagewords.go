package segment

import "slices"

// pageWords numbers the words of one page in the order of their occurrence. Most words of a text
// occurred before, on the same page or on earlier ones, so they are looked up here first, in a
// table that the processor keeps in its cache. The table of all words of a segment is too large for
// that.
type pageWords struct {
	slots  []pageSlot // open addressing; a power of two
	locals []local
	at     []place
}

// pageSlot is a word; two of them share a cache line. The word is on the current page if
// locals[local] is that word. Otherwise it was on an earlier page, and another word may replace it.
type pageSlot struct {
	head, tail uint64 // of the word's Term
	word       uint32 // number in the table of all words
	hash       uint32 // HashOf
	local      uint32 // number on the last page that has it
	n          uint8  // 0: an empty slot
	lang       uint8  // of the last page that has it
}

// local is a word of the current page, and how often the page has it.
type local struct{ word, n uint32 }

// place is a position of a word in the current page; the word by its number in locals.
type place struct{ local, pos uint32 }

const (
	leastSlots = 1 << 12 // 128 KiB; few pages have a quarter as many different words
	// A table with more slots is not kept for the next segment.
	keepSlots = 1 << 14
)

// begin begins a page.
func (p *pageWords) begin() {
	p.locals, p.at = p.locals[:0], p.at[:0]
	if p.slots == nil {
		p.slots = make([]pageSlot, leastSlots)
	}
}

// reset removes everything, also the words' numbers in the table of all.
func (p *pageWords) reset() {
	if len(p.slots) > keepSlots {
		*p = pageWords{}
	}
	clear(p.slots)
	p.locals, p.at = p.locals[:0], p.at[:0]
}

// on reports whether the word of a slot is on the current page.
func (p *pageWords) on(s *pageSlot) bool {
	return s.local < uint32(len(p.locals)) && p.locals[s.local].word == s.word && s.n > 0
}

// number returns the number of a word within the page, and its HashOf.
func (p *pageWords) number(t *Term, long []byte, all *table, lang uint8) (local, hash uint32) {
	mask := uint32(len(p.slots) - 1)
	for at := t.spread() & mask; ; at = (at + 1) & mask {
		s := &p.slots[at]
		same := s.head == t.Head && s.tail == t.Tail && uint16(s.n) == t.N && (t.N <= inTerm || string(all.word(s.word)) == string(long[t.At:][:t.N]))
		if p.on(s) {
			if same {
				return s.local, s.hash
			}
			continue
		}
		switch {
		case !same:
			var buf [inTerm]byte
			w := all.number(t.word(long, &buf), t, lang)
			*s = pageSlot{head: t.Head, tail: t.Tail, word: w, hash: all.entries[w].hash, n: uint8(t.N), lang: lang}
		case s.lang != lang:
			all.entries[s.word].langs |= 1 << lang
			s.lang = lang
		}
		return p.add(s)
	}
}

// words numbers words and adds their places. It returns the position that follows, and appends the
// words' hashes, without those of wholes. It leaves words that are too long for a segment out.
func (p *pageWords) words(terms []Term, long []byte, pos uint32, all *table, lang uint8, hashes []uint32) (next uint32, with []uint32) {
	p.at = slices.Grow(p.at, len(terms))
	hashes = slices.Grow(hashes, len(terms))
	for i := range terms {
		t := &terms[i]
		s := &p.slots[t.spread()&uint32(len(p.slots)-1)]
		local, hash := s.local, s.hash
		if s.head != t.Head || s.tail != t.Tail || uint16(s.n) != t.N || t.N > inTerm || !p.on(s) {
			if t.N > maxKey || t.N == 0 {
				if !t.Whole {
					pos, hashes = pos+1, append(hashes, HashOf(t.word(long, new([inTerm]byte))))
				}
				continue
			}
			local, hash = p.number(t, long, all, lang)
		}
		p.at = append(p.at, place{local, pos})
		if !t.Whole {
			pos, hashes = pos+1, append(hashes, hash)
		}
	}
	return pos, hashes
}

// anywhere returns the number of a word in the table of all words. It need not be on the page.
func (p *pageWords) anywhere(t *Term, long []byte, all *table, lang uint8) (word uint32) {
	s := &p.slots[t.spread()&uint32(len(p.slots)-1)]
	if s.head == t.Head && s.tail == t.Tail && uint16(s.n) == t.N && t.N <= inTerm && s.lang == lang {
		return s.word
	}
	var buf [inTerm]byte
	return all.number(t.word(long, &buf), t, lang)
}

// add gives the word in a slot its number within the page.
func (p *pageWords) add(s *pageSlot) (n, hash uint32) {
	n, hash = uint32(len(p.locals)), s.hash
	s.local = n
	if p.locals = append(p.locals, local{word: s.word}); 2*len(p.locals) > len(p.slots) {
		p.grow()
	}
	return n, hash
}

// grow doubles the table and keeps the words of the page.
func (p *pageWords) grow() {
	old := p.slots
	p.slots = make([]pageSlot, 2*len(old))
	mask := uint32(len(p.slots) - 1)
	for i := range old {
		if !p.on(&old[i]) {
			continue
		}
		at := uint32(fold(old[i].head, old[i].tail)) & mask
		for p.slots[at].n > 0 && p.slots[at].word != old[i].word {
			at = (at + 1) & mask
		}
		p.slots[at] = old[i]
	}
}
