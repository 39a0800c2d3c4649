package search

import (
	"slices"

	"github.com/curtsy/curtsy/internal/search/segment"
)

// A long page often answers a question in one of its sections, whose heading says more about it
// than the title of the page does. So sections are scored: a word in the heading counts whole, and
// one in the text below it in part.

const (
	// inSection is the weight of a word in a section's text, compared with its heading.
	inSection = 0.6
	// sectionWords is how many words of a section are examined.
	sectionWords = 600
	// leastSection is the score from which on a section is named in a hit.
	leastSection = 0.4
)

// section measures how much of the query the best section has, and returns it with its number
// from 1 if it is good enough to be named.
func (e *evidence) section() (best float64, nth uint32) {
	s := e.s
	s.sections = e.c.part.Sections(s.sections[:0], e.c.page)
	if len(s.sections) == 0 || s.sections[0].At > 0 {
		// What is before the first heading, which may be all, has the page's title as its heading.
		s.sections = slices.Insert(s.sections, 0, segment.Section{})
	}
	all := s.sections
	n := len(e.at)
	if cap(s.next) < n {
		s.next = make([]int, n)
	}
	next := s.next[:n]
	for k := range next {
		next[k] = e.from(k, segment.Body)
	}
	total := s.plan.total()
	for i, sec := range all {
		from := segment.Body.Start() + sec.At
		head, end := from+sec.Words, segment.Around.Start()
		if i+1 < len(all) {
			end = segment.Body.Start() + all[i+1].At
		}
		end = min(end, head+sectionWords)
		score, words, heading := 0.0, uint32(0), 0.0
		for k := range e.at {
			at := e.at[k]
			j := next[k]
			for j < len(at) && at[j].pos < from {
				j++
			}
			in, below := 0.0, 0.0
			for ; j < len(at) && at[j].pos < end; j++ {
				if at[j].pos < head {
					in = max(in, at[j].weight)
					words += at[j].length
				} else if below = max(below, at[j].weight); below >= 1 {
					break
				}
			}
			next[k] = j
			if i == 0 {
				for _, o := range at[e.from(k, segment.Title):] {
					if o.pos >= segment.URL.Start() {
						break
					}
					in = max(in, o.weight)
				}
			}
			idf := s.plan.Clauses[k].IDF
			score += idf * max(in, inSection*below)
			heading += idf * in
		}
		score /= total
		score = score * score
		if sec.Words > 0 && i > 0 {
			score *= 0.6 + 0.4*min(1, float64(words)/float64(sec.Words))
		}
		if score > best {
			best = score
			if nth = 0; score >= leastSection && heading > 0 && i > 0 {
				nth = sec.Nth + 1
			}
		}
	}
	return best, nth
}
