package segment

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
)

// maxKey is the longest word or key kept, in bytes; a dictionary gives lengths one byte.
const maxKey = 200

// Builder makes a segment of pages that are added one after another. It may be used again after
// Finish, and keeps its memory. It is for one goroutine.
type Builder struct {
	facts []Facts
	words table

	// One entry for each word of each page, in the order added; a page's begin where begins says.
	word   []uint32
	pos    []uint32
	begins []uint32

	links    []link
	linkWord []linkWord
}

// link is a link of a page.
type link struct {
	target uint64
	page   uint32
}

// linkWord is a word of the text of a link.
type linkWord struct{ word, link uint32 }

// Len is how many pages were added.
func (b *Builder) Len() int { return len(b.facts) }

// Words is how many words were added, links' included: what memory a segment in the making takes.
func (b *Builder) Words() int { return len(b.word) + len(b.linkWord) }

// Page begins a page.
func (b *Builder) Page(f Facts) {
	b.facts = append(b.facts, f)
	b.begins = append(b.begins, uint32(len(b.word)))
}

// SetWords notes how many words the parts of the page begun last have, and what tells its text.
func (b *Builder) SetWords(n [Fields]uint32, text, sim uint64) {
	f := &b.facts[len(b.facts)-1]
	f.Words, f.Text, f.Sim = n, text, sim
}

// Word adds a word of the page begun last. Positions of one page must not decrease. hash is HashOf
// the word; lang is the number of a language, below 32, that Finish hands on.
func (b *Builder) Word(word []byte, hash uint32, lang uint8, pos uint32) {
	if len(word) == 0 || len(word) > maxKey {
		return
	}
	b.word = append(b.word, b.words.number(word, hash, lang))
	b.pos = append(b.pos, pos)
}

// Link adds a link of the page begun last; LinkWord its words.
func (b *Builder) Link(target uint64) {
	b.links = append(b.links, link{target, uint32(len(b.facts) - 1)})
}

// LinkWord adds a word of the link added last.
func (b *Builder) LinkWord(word []byte, hash uint32, lang uint8) {
	if len(word) == 0 || len(word) > maxKey {
		return
	}
	b.linkWord = append(b.linkWord, linkWord{b.words.number(word, hash, lang), uint32(len(b.links) - 1)})
}

// Finish returns the segment and forgets its pages. keys is called for each word, with the
// languages it was met in as bits, and calls emit for each of the word's keys; a key equal to the
// word need not be named.
func (b *Builder) Finish(keys func(word []byte, langs uint32, emit func(key []byte))) []byte {
	refs, targets := b.targets()
	words := len(b.words.entries)

	// Words and their places, sorted by word: counted first, so that each is moved once.
	counts := make([]uint32, words+1)
	for _, w := range b.word {
		counts[w+1]++
	}
	for i := range words {
		counts[i+1] += counts[i]
	}
	type place struct{ page, pos uint32 }
	places := make([]place, len(b.word))
	next := slices.Clone(counts[:words])
	for p := range b.facts {
		end := len(b.word)
		if p+1 < len(b.facts) {
			end = int(b.begins[p+1])
		}
		for i := int(b.begins[p]); i < end; i++ {
			w := b.word[i]
			places[next[w]] = place{uint32(p), b.pos[i]}
			next[w]++
		}
	}
	pairs := make([][]pair, words)
	for _, l := range b.linkWord {
		pairs[l.word] = append(pairs[l.word], pair{b.links[l.link].page, refs[l.link]})
	}

	order := make([]uint32, words)
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortFunc(order, func(i, j uint32) int { return bytes.Compare(b.words.word(i), b.words.word(j)) })

	var out writer
	var list lists
	for _, w := range order {
		if counts[w] == counts[w+1] && len(pairs[w]) == 0 {
			continue // its page was taken back
		}
		list.reset()
		at := places[counts[w]:counts[w+1]]
		for len(at) > 0 {
			n := 1
			for n < len(at) && at[n].page == at[0].page {
				n++
			}
			list.begin(at[0].page)
			for _, p := range at[:n] {
				list.position(p.pos)
			}
			list.end()
			at = at[n:]
		}
		slices.SortFunc(pairs[w], pair.compare)
		for _, p := range slices.Compact(pairs[w]) {
			list.pair(p)
		}
		word := b.words.word(w)
		ord := out.words.n
		out.word(word, &list)
		keys(word, b.words.entries[w].langs, func(key []byte) { out.key(key, ord) })
	}
	for i := range b.facts {
		out.page(&b.facts[i])
	}
	seg := out.finish(targets)
	b.Reset()
	return seg
}

// Mark is a state of a Builder to come Back to.
type Mark struct{ pages, words, links, linkWords int }

// Mark remembers what was added so far.
func (b *Builder) Mark() Mark {
	return Mark{len(b.facts), len(b.word), len(b.links), len(b.linkWord)}
}

// Back forgets what was added since a Mark.
func (b *Builder) Back(m Mark) {
	b.facts, b.begins = b.facts[:m.pages], b.begins[:m.pages]
	b.word, b.pos = b.word[:m.words], b.pos[:m.words]
	b.links, b.linkWord = b.links[:m.links], b.linkWord[:m.linkWords]
}

// Reset forgets the pages added.
func (b *Builder) Reset() {
	b.facts, b.begins, b.word, b.pos = b.facts[:0], b.begins[:0], b.word[:0], b.pos[:0]
	b.links, b.linkWord = b.links[:0], b.linkWord[:0]
	b.words.reset()
}

// targets writes the addresses that links lead to, and says by which number each link's is found
// there.
func (b *Builder) targets() (refs []uint32, section []byte) {
	order := make([]uint32, len(b.links))
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortFunc(order, func(i, j uint32) int {
		x, y := b.links[i], b.links[j]
		return cmp.Or(cmp.Compare(x.target, y.target), cmp.Compare(x.page, y.page))
	})
	refs = make([]uint32, len(b.links))
	var t targetWriter
	for _, i := range order {
		t.add(b.links[i].target, b.links[i].page)
		refs[i] = t.n - 1
	}
	return refs, t.finish()
}

// lists are those of one word, being written.
type lists struct {
	pages, places, links []byte
	df, last             uint32 // pages so far, and the last of them
	pairs                uint32
	lastPair             pair

	mask byte // of the page begun
	body uint32
	was  uint32
	at   []byte
}

func (l *lists) reset() {
	*l = lists{pages: l.pages[:0], places: l.places[:0], links: l.links[:0], at: l.at[:0]}
}

// begin begins a page; position adds its places; end ends it.
func (l *lists) begin(page uint32) {
	delta := page
	if l.df > 0 {
		delta -= l.last
	}
	l.pages = binary.AppendUvarint(l.pages, uint64(delta))
	l.df, l.last = l.df+1, page
	l.mask, l.body, l.was, l.at = 0, 0, 0, l.at[:0]
}

// The parts of a page other than its body that have a word, as bits of Postings.Mask.
const (
	MaskTitle  = 1 << Title
	MaskURL    = 1 << URL
	MaskHeads  = 1 << Heads
	MaskAround = 1 << 3
)

func (l *lists) position(pos uint32) {
	switch f := FieldAt(pos); f {
	case Body:
		l.body++
	case Around:
		l.mask |= MaskAround
	default:
		l.mask |= 1 << f
	}
	l.at = binary.AppendUvarint(l.at, uint64(pos-l.was))
	l.was = pos
}

// manyBody is the count of words of the body from which it is written apart.
const manyBody = 15

func (l *lists) end() {
	l.pages = append(l.pages, l.mask|byte(min(l.body, manyBody))<<4)
	if l.body >= manyBody {
		l.pages = binary.AppendUvarint(l.pages, uint64(l.body-manyBody))
	}
	l.places = binary.AppendUvarint(l.places, uint64(len(l.at)))
	l.places = append(l.places, l.at...)
}

// pair is a page that links to a target with a word.
type pair struct{ page, target uint32 }

func (p pair) compare(q pair) int {
	return cmp.Or(cmp.Compare(p.page, q.page), cmp.Compare(p.target, q.target))
}

func (l *lists) pair(p pair) {
	delta := p.page
	if l.pairs > 0 {
		delta -= l.lastPair.page
	}
	l.links = binary.AppendUvarint(binary.AppendUvarint(l.links, uint64(delta)), uint64(p.target))
	l.lastPair = p
	l.pairs++
}
