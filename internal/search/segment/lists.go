package segment

import (
	"cmp"
	"encoding/binary"
	"slices"
)

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
	l.pages = appendCounts(l.pages, l.body, l.mask)
	l.places = appendPlaces(l.places, l.at)
}

// appendCounts appends what Postings has of a word in a page.
func appendCounts(pages []byte, body uint32, mask byte) []byte {
	pages = append(pages, mask|byte(min(body, manyBody))<<4)
	if body >= manyBody {
		pages = binary.AppendUvarint(pages, uint64(body-manyBody))
	}
	return pages
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
