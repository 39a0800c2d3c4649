package segment

import (
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"
)

// maxKey is the maximum length of a word or key in bytes; a dictionary has one byte for lengths.
const maxKey = 200

// Builder makes a segment of pages that are added one after another. It may be used again after
// Finish, and keeps its memory. It must not be used concurrently.
//
// A page's words are sorted as soon as the page is complete, while they are in the processor's
// cache. Later only one posting for each word of a page is moved, not each position.
type Builder struct {
	facts []Facts
	words table
	added int // words of all pages

	// The current page, until endPage. Words are numbered within it in the order of their
	// occurrence.
	open   bool
	stamp  uint32 // distinguishes its numbers from those of earlier pages
	locals []local
	at     []place
	sorted []uint32

	postings []posting // in the order of pages
	places   []byte    // of the postings, as they are written in the segment

	links    []link
	linkWord []linkWord

	// Buffers of Finish.
	order    []ranked
	next     []uint32
	byWord   []posting
	pairs    []pair
	byTarget []uint64
	list     lists
	out      writer
}

// local is a word of the current page, and how often the page has it.
type local struct{ word, n uint32 }

// place is a position of a word in the current page; the word by its number in locals.
type place struct{ local, pos uint32 }

// posting records that a page has a word.
type posting struct {
	word, page uint32
	from       uint32 // in Builder.places
	body       uint32 // words of the body << 8 | Mask bits
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

// Words is how many words were added, including those of links. It determines the memory that the
// segment needs.
func (b *Builder) Words() int { return b.added + len(b.linkWord) }

// Page begins a page.
func (b *Builder) Page(f Facts) {
	b.endPage()
	b.facts = append(b.facts, f)
	b.stamp++
	b.open = true
}

// SetWords sets how many words the parts of the current page have, and the hashes of its text.
func (b *Builder) SetWords(n [Fields]uint32, text, sim uint64) {
	f := &b.facts[len(b.facts)-1]
	f.Words, f.Text, f.Sim = n, text, sim
}

// Word adds a word of the current page. Positions of one page must not decrease. hash is HashOf the
// word; lang is the number of a language, below 32, which Finish passes to keys.
func (b *Builder) Word(word []byte, hash uint32, lang uint8, pos uint32) {
	if len(word) == 0 || len(word) > maxKey {
		return
	}
	w := b.words.number(word, hash, lang)
	e := &b.words.entries[w]
	if e.stamp != b.stamp {
		e.stamp, e.local = b.stamp, uint32(len(b.locals))
		b.locals = append(b.locals, local{word: w})
	}
	b.locals[e.local].n++
	b.at = append(b.at, place{e.local, pos})
	b.added++
}

// endPage makes postings of the words of the current page.
func (b *Builder) endPage() {
	if !b.open {
		return
	}
	b.open = false
	b.next = b.next[:0]
	sum := uint32(0)
	for i := range b.locals {
		b.next = append(b.next, sum)
		sum += b.locals[i].n
	}
	b.sorted = slices.Grow(b.sorted[:0], len(b.at))[:len(b.at)]
	for _, p := range b.at {
		b.sorted[b.next[p.local]] = p.pos
		b.next[p.local]++
	}
	page, from := uint32(len(b.facts)-1), uint32(0)
	for i, l := range b.locals {
		at := b.sorted[from:b.next[i]]
		from = b.next[i]
		b.list.beginPlaces()
		for _, pos := range at {
			b.list.position(pos)
		}
		b.postings = append(b.postings, posting{l.word, page, uint32(len(b.places)), b.list.body<<8 | uint32(b.list.mask)})
		b.places = appendPlaces(b.places, b.list.at)
	}
	b.locals, b.at = b.locals[:0], b.at[:0]
}

// Link adds a link of the current page; LinkWord adds its words.
func (b *Builder) Link(target uint64) {
	b.links = append(b.links, link{target, uint32(len(b.facts) - 1)})
}

// LinkWord adds a word of the last link.
func (b *Builder) LinkWord(word []byte, hash uint32, lang uint8) {
	if len(word) == 0 || len(word) > maxKey {
		return
	}
	b.linkWord = append(b.linkWord, linkWord{b.words.number(word, hash, lang), uint32(len(b.links) - 1)})
}

// Finish returns the segment and removes its pages from the Builder. keys is called for each word,
// with the languages in which it occurred as bits, and calls emit for each of the word's keys; a
// key equal to the word may be omitted.
func (b *Builder) Finish(keys func(word []byte, langs uint32, emit func(key []byte))) []byte {
	b.endPage()
	refs, targets := b.targets()
	ends := b.sortPostings()
	pairEnds := b.sortPairs(refs)
	b.order = b.words.sorted(b.order[:0])
	out, list := &b.out, &b.list
	out.reset()
	ord := uint32(0)
	emit := func(key []byte) { out.key(key, ord) }
	for _, r := range b.order {
		w := r.word
		postings, pairs := b.byWord[ends[w]:ends[w+1]], b.pairs[pairEnds[w]:pairEnds[w+1]]
		if len(postings) == 0 && len(pairs) == 0 {
			continue // its page was removed
		}
		list.reset()
		for _, p := range postings {
			list.posting(p.page, p.body>>8, byte(p.body), b.places[p.from:])
		}
		sortPairs(pairs)
		for _, p := range slices.Compact(pairs) {
			list.pair(p)
		}
		word := b.words.word(w)
		ord = out.words.n
		out.word(word, list)
		keys(word, b.words.entries[w].langs, emit)
	}
	for i := range b.facts {
		out.page(&b.facts[i])
	}
	seg := out.finish(targets)
	b.Reset()
	return seg
}

// sortPostings sorts the postings into byWord, and returns where those of each word begin; those of
// the word before end there.
func (b *Builder) sortPostings() (ends []uint32) {
	ends = make([]uint32, len(b.words.entries)+1)
	for i := range b.postings {
		ends[b.postings[i].word+1]++
	}
	b.sum(ends)
	b.byWord = slices.Grow(b.byWord[:0], len(b.postings))[:len(b.postings)]
	for _, p := range b.postings {
		b.byWord[b.next[p.word]] = p
		b.next[p.word]++
	}
	return ends
}

// sortPairs sorts the words of links into pairs, and returns where those of each word begin; those
// of the word before end there.
func (b *Builder) sortPairs(refs []uint32) (ends []uint32) {
	ends = make([]uint32, len(b.words.entries)+1)
	for _, l := range b.linkWord {
		ends[l.word+1]++
	}
	b.sum(ends)
	b.pairs = slices.Grow(b.pairs[:0], len(b.linkWord))[:len(b.linkWord)]
	for _, l := range b.linkWord {
		b.pairs[b.next[l.word]] = pair{b.links[l.link].page, refs[l.link]}
		b.next[l.word]++
	}
	return ends
}

// sum converts counts, each at the index after its own, to starting indexes. next gets a copy.
func (b *Builder) sum(counts []uint32) {
	for i := 1; i < len(counts); i++ {
		counts[i] += counts[i-1]
	}
	b.next = append(b.next[:0], counts...)
}

// Mark is a state of a Builder to which Back can return.
type Mark struct{ pages, words, postings, places, links, linkWords int }

// Mark returns the current state. No more words of the current page may be added.
func (b *Builder) Mark() Mark {
	b.endPage()
	return Mark{len(b.facts), b.added, len(b.postings), len(b.places), len(b.links), len(b.linkWord)}
}

// Back removes what was added since a Mark.
func (b *Builder) Back(m Mark) {
	b.open, b.locals, b.at = false, b.locals[:0], b.at[:0]
	b.facts, b.added, b.postings, b.places = b.facts[:m.pages], m.words, b.postings[:m.postings], b.places[:m.places]
	b.links, b.linkWord = b.links[:m.links], b.linkWord[:m.linkWords]
}

// Reset removes all pages.
func (b *Builder) Reset() {
	b.Back(Mark{})
	b.words.reset()
	b.stamp = 0
}

// targets writes the addresses to which links lead, and returns the number of each link's target.
func (b *Builder) targets() (refs []uint32, section []byte) {
	// Links are sorted by the upper bits of their target, with their number in place of the lower
	// ones, because plain numbers sort faster than structs. They are in the order of pages, so
	// links with the same target are, too.
	low := uint64(1)<<bits.Len(uint(len(b.links))) - 1
	b.byTarget = b.byTarget[:0]
	for i, l := range b.links {
		b.byTarget = append(b.byTarget, l.target&^low|uint64(i))
	}
	slices.Sort(b.byTarget)
	for from := 0; from < len(b.byTarget); { // the lower bits decide between equal upper bits
		to, mixed := from+1, false
		for ; to < len(b.byTarget) && b.byTarget[to]&^low == b.byTarget[from]&^low; to++ {
			mixed = mixed || b.links[b.byTarget[to]&low].target != b.links[b.byTarget[from]&low].target
		}
		if mixed {
			slices.SortFunc(b.byTarget[from:to], func(x, y uint64) int {
				return cmp.Or(cmp.Compare(b.links[x&low].target, b.links[y&low].target), cmp.Compare(x, y))
			})
		}
		from = to
	}
	refs = make([]uint32, len(b.links))
	var t targetWriter
	for _, k := range b.byTarget {
		l := &b.links[k&low]
		t.add(l.target, l.page)
		refs[k&low] = t.n - 1
	}
	return refs, t.finish()
}

// lists are the lists of one word that is being written.
type lists struct {
	pages, places, links []byte
	df, last             uint32 // pages so far, and the last of them
	pairs                uint32
	lastPair             pair

	mask byte // of the current page
	body uint32
	was  uint32
	at   []byte
}

func (l *lists) reset() {
	*l = lists{pages: l.pages[:0], places: l.places[:0], links: l.links[:0], at: l.at[:0]}
}

// begin begins a page; position adds its positions; end ends it.
func (l *lists) begin(page uint32) {
	l.page(page)
	l.beginPlaces()
}

// page writes the number of a page.
func (l *lists) page(page uint32) {
	delta := page
	if l.df > 0 {
		delta -= l.last
	}
	l.pages = binary.AppendUvarint(l.pages, uint64(delta))
	l.df, l.last = l.df+1, page
}

func (l *lists) beginPlaces() { l.mask, l.body, l.was, l.at = 0, 0, 0, l.at[:0] }

// The parts of a page other than its body that have a word, as bits of Postings.Mask.
const (
	MaskTitle  = 1 << Title
	MaskURL    = 1 << URL
	MaskHeads  = 1 << Heads
	MaskAround = 1 << 3
)

func (l *lists) position(pos uint32) {
	d := pos - l.was
	l.was = pos
	if pos >= starts[Body] && pos < starts[Around] { // most are
		l.body++
		if d < 0x80 {
			l.at = append(l.at, byte(d))
			return
		}
	} else {
		switch f := FieldAt(pos); f {
		case Around:
			l.mask |= MaskAround
		default:
			l.mask |= 1 << f
		}
	}
	l.at = binary.AppendUvarint(l.at, uint64(d))
}

// manyBody is the number of words in the body from which on it is written separately.
const manyBody = 15

func (l *lists) end() {
	l.counts(l.body, l.mask)
	l.places = appendPlaces(l.places, l.at)
}

// posting adds a complete page; places begins with the result of appendPlaces.
func (l *lists) posting(page, body uint32, mask byte, places []byte) {
	l.page(page)
	l.counts(body, mask)
	n, w := binary.Uvarint(places)
	l.places = append(l.places, places[:w+int(n)]...)
}

func (l *lists) counts(body uint32, mask byte) {
	l.pages = append(l.pages, mask|byte(min(body, manyBody))<<4)
	if body >= manyBody {
		l.pages = binary.AppendUvarint(l.pages, uint64(body-manyBody))
	}
}

// appendPlaces appends the positions of a word in a page, after their length in bytes.
func appendPlaces(dst, at []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(at))), at...)
}

// pair is a page that links to a target with a word.
type pair struct{ page, target uint32 }

func (p pair) compare(q pair) int {
	return cmp.Compare(uint64(p.page)<<32|uint64(p.target), uint64(q.page)<<32|uint64(q.target))
}

// sortPairs sorts pairs, unless they are in order: they are added by page, and few pages link twice
// with one word.
func sortPairs(all []pair) {
	for i := 1; i < len(all); i++ {
		if a, b := all[i-1], all[i]; a.page > b.page || a.page == b.page && a.target > b.target {
			slices.SortFunc(all, pair.compare)
			return
		}
	}
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
