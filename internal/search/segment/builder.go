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

	// The current page, until endPage.
	open   bool
	lang   uint8
	page   pageWords
	sorted []uint32

	postings []posting // in the order of pages
	places   []byte    // of the postings that have several, as they are written in the segment

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

// posting records that a page has a word.
type posting struct {
	word, page uint32
	from       uint32 // in Builder.places; with onePlace it is the position
	body       uint32 // words of the body << 8 | Mask bits, and onePlace
}

// onePlace marks a posting of a word that a page has once. Most words of a page are such.
const onePlace = 1 << 7

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

// Page begins a page. lang is the number of the language of its words and links, below 32, which
// Finish passes to keys.
func (b *Builder) Page(f Facts, lang uint8) {
	b.endPage()
	b.facts = append(b.facts, f)
	b.page.begin()
	b.open, b.lang = true, lang
}

// SetWords sets how many words the parts of the current page have, and the hashes of its text.
func (b *Builder) SetWords(n [Fields]uint32, text, sim uint64) {
	f := &b.facts[len(b.facts)-1]
	f.Words, f.Text, f.Sim = n, text, sim
}

// Section adds a section of the current page, after those before it.
func (b *Builder) Section(s Section) {
	if f := &b.facts[len(b.facts)-1]; len(f.Sections) < MaxSections {
		f.Sections = append(f.Sections, s)
	}
}

// Add adds words of the current page that follow one another from a position on, and returns the
// position that follows. A whole has the position of the next word. Positions of one page must not
// decrease. long has the bytes of long words: see Term.At. HashOf each word but the wholes is
// appended to hashes.
func (b *Builder) Add(terms []Term, long []byte, pos uint32, hashes []uint32) (next uint32, with []uint32) {
	before := len(b.page.at)
	next, with = b.page.words(terms, long, pos, &b.words, b.lang, hashes)
	b.added += len(b.page.at) - before
	return next, with
}

// endPage makes postings of the words of the current page.
func (b *Builder) endPage() {
	if !b.open {
		return
	}
	b.open = false
	locals, all := b.page.locals, b.page.at
	for _, p := range all {
		locals[p.local].n++
	}
	b.next = slices.Grow(b.next[:0], len(locals))[:len(locals)]
	next, sum := b.next, uint32(0)
	for i := range next {
		next[i] = sum
		sum += locals[i].n
	}
	b.sorted = slices.Grow(b.sorted[:0], len(all))[:len(all)]
	for _, p := range all {
		b.sorted[next[p.local]] = p.pos
		next[p.local]++
	}
	page, from := uint32(len(b.facts)-1), uint32(0)
	b.postings = slices.Grow(b.postings, len(locals))
	for i, l := range locals {
		at := b.sorted[from:next[i]]
		from = next[i]
		if len(at) == 1 {
			b.postings = append(b.postings, posting{l.word, page, at[0], partOf(at[0]) | onePlace})
			continue
		}
		p := posting{l.word, page, uint32(len(b.places)), 0}
		b.places, p.body = appendPositions(b.places, at)
		b.postings = append(b.postings, p)
	}
}

// partOf is what a position adds to posting.body.
func partOf(pos uint32) uint32 {
	switch f := FieldAt(pos); f {
	case Body:
		return 1 << 8
	case Around:
		return MaskAround
	default:
		return 1 << f
	}
}

// appendPositions appends positions as appendPlaces does, and returns posting.body.
func appendPositions(dst []byte, at []uint32) ([]byte, uint32) {
	// Space for all is made at once, and a byte is left for the length.
	begin := len(dst)
	dst = slices.Grow(dst, 1+binary.MaxVarintLen32*len(at)+binary.MaxVarintLen32)
	out := dst[begin:cap(dst)]
	mask, inBody, was, n := uint32(0), uint32(0), uint32(0), 1
	for _, pos := range at {
		d := pos - was
		was = pos
		if pos-starts[Body] < starts[Around]-starts[Body] { // most are
			inBody++
		} else {
			mask |= partOf(pos)
		}
		if d < 1<<14 { // without a branch for one or two bytes, which nobody can predict
			more := (0x7F - d) >> 31
			out[n], out[n+1] = byte(d&0x7F|more<<7), byte(d>>7)
			n += 1 + int(more)
			continue
		}
		n += binary.PutUvarint(out[n:], uint64(d))
	}
	if n <= 0x80 {
		out[0] = byte(n - 1)
	} else { // the length takes more than the byte that was left for it
		var size [binary.MaxVarintLen64]byte
		w := binary.PutUvarint(size[:], uint64(n-1))
		copy(out[w:], out[1:n])
		copy(out, size[:w])
		n += w - 1
	}
	return dst[:begin+n], inBody<<8 | mask
}

// Link adds a link of the current page; AddToLink adds its words.
func (b *Builder) Link(target uint64) {
	b.links = append(b.links, link{target, uint32(len(b.facts) - 1)})
}

// AddToLink adds words of the text of the last link. long is as for Add.
func (b *Builder) AddToLink(terms []Term, long []byte) {
	link := uint32(len(b.links) - 1)
	for i := range terms {
		if t := &terms[i]; t.N > 0 && t.N <= maxKey {
			b.linkWord = append(b.linkWord, linkWord{b.page.anywhere(t, long, &b.words, b.lang), link})
		}
	}
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
	out := &b.out
	out.reset()
	ord := uint32(0)
	emit := func(key []byte) { out.key(key, ord) }
	for _, r := range b.order {
		w := r.word
		postings, pairs := b.byWord[ends[w]:ends[w+1]], b.pairs[pairEnds[w]:pairEnds[w+1]]
		if len(postings) == 0 && len(pairs) == 0 {
			continue // its page was removed
		}
		word := b.words.word(w)
		ord = out.words.n
		b.write(word, postings, pairs)
		keys(word, b.words.entries[w].langs, emit)
	}
	for i := range b.facts {
		out.page(&b.facts[i])
	}
	seg := out.finish(targets)
	b.Reset()
	return seg
}

// write writes a word with its lists.
func (b *Builder) write(word []byte, postings []posting, pairs []pair) {
	dst := b.out.lists
	e := written{from: len(dst), df: uint32(len(postings))}
	for _, p := range postings {
		dst = appendUvarint(dst, p.page-e.last)
		e.last = p.page
		dst = appendCounts(dst, p.body>>8, byte(p.body)&^onePlace)
	}
	e.pages = len(dst) - e.from
	for _, p := range postings {
		if p.body&onePlace != 0 {
			begin := len(dst)
			dst = appendUvarint(append(dst, 0), p.from)
			dst[begin] = byte(len(dst) - begin - 1)
			continue
		}
		places := b.places[p.from:]
		n, w := binary.Uvarint(places)
		dst = append(dst, places[:w+int(n)]...)
	}
	e.places = len(dst) - e.from - e.pages
	if len(pairs) > 0 {
		list := &b.list
		list.reset()
		sortPairs(pairs)
		for _, p := range slices.Compact(pairs) {
			list.pair(p)
		}
		dst = append(dst, list.links...)
		e.pairs, e.links = list.pairs, len(list.links)
	}
	b.out.lists = dst
	b.out.entry(word, &e)
}

func appendUvarint(dst []byte, n uint32) []byte {
	if n < 0x80 {
		return append(dst, byte(n))
	}
	return binary.AppendUvarint(dst, uint64(n))
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
	b.open = false
	b.facts, b.added, b.postings, b.places = b.facts[:m.pages], m.words, b.postings[:m.postings], b.places[:m.places]
	b.links, b.linkWord = b.links[:m.links], b.linkWord[:m.linkWords]
}

// Reset removes all pages.
func (b *Builder) Reset() {
	b.Back(Mark{})
	b.words.reset()
	b.page.reset()
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
