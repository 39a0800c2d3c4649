package segment

import (
	"bytes"
	"encoding/binary"
)

// Source is a segment to merge, with a function that reports its deleted pages; nil means none.
type Source struct {
	*Segment
	Deleted func(page uint32) bool
}

// Merge merges several segments into one. Their pages follow one another in order, without the
// deleted ones.
func Merge(from []Source) []byte {
	m := merger{from: from, pages: make([][]uint32, len(from)), targets: make([][]uint32, len(from)), words: make([][]uint32, len(from))}
	m.makeRoom()
	m.renumber()
	targets := m.mergeTargets()
	m.mergeWords()
	m.mergeKeys()
	return m.out.finish(targets)
}

// gone is the number of a page, target or word that is not copied.
const gone = ^uint32(0)

type merger struct {
	from  []Source
	out   writer
	pages [][]uint32 // old number → new
	// Added to the numbers of a source without deletions; gone: it has some, use pages
	base    []uint32
	targets [][]uint32
	words   [][]uint32
	having  []*uint32 // the new numbers of the current word
}

// makeRoom allocates memory for the result. Copying it repeatedly while it grows would cost as much
// as merging.
func (m *merger) makeRoom() {
	var lists, texts, pages, words, keys int
	for _, s := range m.from {
		lists += len(s.lists) + int(s.words.n) // the first page of a word may take one byte more
		texts += len(s.texts)
		pages += int(s.n)
		// The words of one segment are mostly those of another.
		words, keys = max(words, len(s.words.data)), max(keys, len(s.keyLists))
	}
	m.out.lists, m.out.texts = make([]byte, 0, lists), make([]byte, 0, texts)
	m.out.numbers, m.out.urls = make([]numbered, 0, pages), make([]numbered, 0, pages)
	m.out.words.data, m.out.keys = make([]byte, 0, words+words/2), make([]keyOf, 0, keys+keys/2)
}

func (m *merger) renumber() {
	next := uint32(0)
	for i, s := range m.from {
		m.pages[i] = make([]uint32, s.n)
		base, whole := next, true
		for p := range s.n {
			if s.Deleted != nil && s.Deleted(p) {
				m.pages[i][p], whole = gone, false
				continue
			}
			m.pages[i][p] = next
			next++
			f := s.Facts(p)
			m.out.page(&f)
		}
		if !whole {
			base = gone
		}
		m.base = append(m.base, base)
	}
}

func (m *merger) mergeTargets() []byte {
	at := make([]uint32, len(m.from))
	for i, s := range m.from {
		m.targets[i] = make([]uint32, s.targetCount)
	}
	var t targetWriter
	for {
		least, found := uint64(0), false
		for i, s := range m.from {
			if at[i] < s.targetCount {
				if h := s.Target(at[i]); !found || h < least {
					least, found = h, true
				}
			}
		}
		if !found {
			return t.finish()
		}
		before := t.n
		for i, s := range m.from {
			if at[i] == s.targetCount || s.Target(at[i]) != least {
				continue
			}
			for p := range s.LinkingPages(at[i]) {
				if n := m.pages[i][p]; n != gone {
					t.add(least, n)
				}
			}
			m.targets[i][at[i]] = before // correct if anything was added; otherwise it is not used
			at[i]++
		}
	}
}

func (m *merger) mergeWords() {
	cs := make([]cursor, len(m.from))
	more := make([]bool, len(m.from))
	for i, s := range m.from {
		cs[i], more[i] = s.words.first()
		m.words[i] = make([]uint32, s.words.n)
	}
	var l lists
	var word []byte
	var places []uint32
	for {
		first := -1
		for i := range cs {
			if more[i] && (first < 0 || bytes.Compare(cs[i].key, cs[first].key) < 0) {
				first = i
			}
		}
		if first < 0 {
			return
		}
		word = append(word[:0], cs[first].key...)
		l.reset()
		ord := m.out.words.n
		m.having = m.having[:0]
		for i, s := range m.from {
			if !more[i] || !bytes.Equal(cs[i].key, word) {
				continue
			}
			e := s.entry(cs[i].value)
			if m.base[i] != gone && e.Pages > 0 {
				l.follow(&e, m.base[i])
			} else {
				places = m.pick(&l, &e, i, places)
			}
			for page, target := range e.LinkPairs() {
				if n := m.pages[i][page]; n != gone {
					l.pair(pair{n, m.targets[i][target]})
				}
			}
			m.words[i][cs[i].ord] = ord
			m.having = append(m.having, &m.words[i][cs[i].ord])
			more[i] = cs[i].next()
		}
		if l.df > 0 || l.pairs > 0 {
			m.out.word(word, &l)
			continue
		}
		for _, w := range m.having { // no page has it any more
			*w = gone
		}
	}
}

// follow appends the lists of a word to others, with all page numbers increased by base.
func (l *lists) follow(e *Entry, base uint32) {
	first, w := binary.Uvarint(e.pages)
	delta := uint32(first) + base
	if l.df > 0 {
		delta -= l.last
	}
	l.pages = binary.AppendUvarint(l.pages, uint64(delta))
	l.pages = append(l.pages, e.pages[w:]...)
	l.places = append(l.places, e.places...)
	l.df, l.last = l.df+e.Pages, e.last+base
}

// pick appends the lists of a word to others, without deleted pages.
func (m *merger) pick(l *lists, e *Entry, source int, places []uint32) []uint32 {
	p := e.Postings()
	for p.Next() {
		n := m.pages[source][p.Page]
		if n == gone {
			continue
		}
		places = p.Places(places[:0])
		l.begin(n)
		for _, pos := range places {
			l.position(pos)
		}
		l.end()
	}
	return places
}

func (m *merger) mergeKeys() {
	for i, s := range m.from {
		for c, ok := s.keys.first(); ok; ok = c.next() {
			from, w := binary.Uvarint(c.value)
			n, _ := binary.Uvarint(c.value[w:])
			l, ord := s.keyLists[from:][:n], uint32(0)
			for len(l) > 0 {
				d, w := binary.Uvarint(l)
				ord, l = ord+uint32(d), l[w:]
				if to := m.words[i][ord]; to != gone {
					m.out.key(c.key, to)
				}
			}
		}
	}
}
