package search

import (
	"cmp"
	"iter"
	"slices"

	"github.com/curtsy/curtsy/internal/search/segment"
)

// This file finds the pages that have several words in a row, and their positions.

// occurrence is a position at which a page has a match.
type occurrence struct {
	pos    uint32
	length uint32
	weight float64 // of the form; 1: the word as in the query
}

// phrase iterates over the live pages in which the words of a match follow one another, with their
// positions. only are the pages to consider, in order; nil means all.
func (s *scorer) phrase(p *part, m *Match, only []*candidate) iter.Seq2[uint32, []occurrence] {
	return func(yield func(uint32, []occurrence) bool) {
		slots := make([]slotPages, len(m.Slots))
		for i := range slots {
			if !s.open(&slots[i], p, &m.Slots[i]) {
				return
			}
		}
		n := uint32(len(slots))
		var out []occurrence
		for page := uint32(0); ; page++ {
			for again := true; again; {
				again = false
				for i := range slots {
					got, ok := slots[i].seek(page)
					if !ok {
						return
					}
					if got > page {
						page, again = got, true
					}
				}
				if only != nil {
					for len(only) > 0 && only[0].page < page {
						only = only[1:]
					}
					if len(only) == 0 {
						return
					}
					if only[0].page > page {
						page, again = only[0].page, true
					}
				}
			}
			if p.deleted(page) {
				continue
			}
			out = out[:0]
			for _, o := range inRow(slots) {
				o.length = n
				out = append(out, o)
			}
			if len(out) > 0 && !yield(page, out) {
				return
			}
		}
	}
}

// inRow returns where in the page the words of all slots stand one after the other: the positions
// of the first word. It begins with the rarest word, whose positions determine where all others
// must be.
func inRow(slots []slotPages) []occurrence {
	rarest, least := 0, slots[0].size()
	for i := 1; i < len(slots); i++ {
		if n := slots[i].size(); n < least {
			rarest, least = i, n
		}
	}
	all := slots[rarest].places(nil)
	for i := range slots {
		if i == rarest {
			continue
		}
		s := &slots[i]
		s.wanted = s.wanted[:0]
		for _, o := range all {
			if o.pos >= uint32(rarest) {
				s.wanted = append(s.wanted, o.pos-uint32(rarest)+uint32(i))
			}
		}
		if len(s.places(s.wanted)) == 0 {
			return nil
		}
	}
	first := slots[0].out
	for i := 1; i < len(slots); i++ {
		first = follow(first, slots[i].out, uint32(i))
	}
	return first
}

// follow keeps the positions after which another position follows at a distance of by words.
func follow(first, next []occurrence, by uint32) []occurrence {
	kept, j := first[:0], 0
	for _, o := range first {
		for j < len(next) && next[j].pos < o.pos+by {
			j++
		}
		if j < len(next) && next[j].pos == o.pos+by {
			o.weight = min(o.weight, next[j].weight)
			kept = append(kept, o)
		}
	}
	return kept
}

// slotPages iterates over the pages that have any form of a slot.
type slotPages struct {
	forms  []formPages
	at     []uint32
	wanted []uint32
	out    []occurrence
	page   uint32
}

type formPages struct {
	segment.Postings
	weight float64
	end    bool
}

// open moves to the first pages of a slot in a part, and reports whether there are any.
func (s *scorer) open(pages *slotPages, p *part, slot *Slot) bool {
	for i := range slot.Forms {
		f := &slot.Forms[i]
		if e := &s.entry(f)[p.nth]; e.Pages > 0 {
			fp := formPages{Postings: e.Postings(), weight: f.Weight}
			fp.end = !fp.Next()
			pages.forms = append(pages.forms, fp)
		}
	}
	return len(pages.forms) > 0
}

// seek moves to the first page that is not before page.
func (s *slotPages) seek(page uint32) (got uint32, ok bool) {
	for i := range s.forms {
		f := &s.forms[i]
		for !f.end && f.Page < page {
			f.end = !f.Next()
		}
		if !f.end && (!ok || f.Page < got) {
			got, ok = f.Page, true
		}
	}
	s.page = got
	return got, ok
}

// size is approximately how many positions in the page the slot has.
func (s *slotPages) size() (n int) {
	for i := range s.forms {
		if f := &s.forms[i]; !f.end && f.Page == s.page {
			n += f.PlacesSize()
		}
	}
	return n
}

// places returns the positions of the slot in the page, in order: those in among, or all if it is
// nil.
func (s *slotPages) places(among []uint32) []occurrence {
	s.out = s.out[:0]
	has := 0
	for i := range s.forms {
		f := &s.forms[i]
		if f.end || f.Page != s.page {
			continue
		}
		has++
		if among == nil {
			s.at = f.Places(s.at[:0])
		} else {
			s.at = f.PlacesAmong(s.at[:0], among)
		}
		for _, pos := range s.at {
			s.out = append(s.out, occurrence{pos, 1, f.weight})
		}
	}
	if has > 1 {
		slices.SortFunc(s.out, func(a, b occurrence) int {
			if a.pos != b.pos {
				return int(int64(a.pos) - int64(b.pos))
			}
			return cmp.Compare(b.weight, a.weight)
		})
	}
	return s.out
}
