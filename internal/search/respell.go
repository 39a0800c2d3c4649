package search

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/curtsy/curtsy/internal/query"
	"github.com/curtsy/curtsy/internal/search/analysis"
)

// eachTyped calls do for the words of a plan as they were typed, including the parts of names, but
// excluding phrases, prefixes, and names as a whole.
func (p *Plan) eachTyped(do func(*Clause, *Slot)) {
	for i := range p.Clauses {
		c := &p.Clauses[i]
		for j := range c.Any {
			m := &c.Any[j]
			for k := range m.Slots {
				if s := &m.Slots[k]; !m.Synonym && !s.Prefix && (m.Name || !s.Exact) {
					do(c, s)
				}
			}
		}
	}
}

// known reports whether pages have all words of any match.
func (c *Clause) known() bool {
	return slices.ContainsFunc(c.Any, func(m Match) bool {
		return !slices.ContainsFunc(m.Slots, func(s Slot) bool { return len(s.Forms) == 0 })
	})
}

// oddForm reports whether pages have only other forms of a word, and none that is the word with
// another letter at its end, or the reverse: checkpoint, checkpoints.
func (s *Slot) oddForm() bool {
	word := analysis.Plain(s.Word)
	return len(s.Forms) > 0 && !slices.ContainsFunc(s.Forms, func(f Form) bool {
		have := analysis.Plain(f.Word)
		near := len(have)-len(word) <= 1 && len(word)-len(have) <= 1
		return f.Weight > weightStem || near && (strings.HasPrefix(have, word) || strings.HasPrefix(word, have))
	})
}

// endsAlike returns the frequent word that was probably meant by word, or "" if there is none.
// Pages have only other forms of word. The result has the same ending, because a word with another
// ending is usually one of these forms.
func endsAlike(found []Spelled, word string) string {
	last, _ := utf8.DecodeLastRuneInString(word)
	for _, f := range found {
		if end, _ := utf8.DecodeLastRuneInString(f.Word); f.Off == 1 && end == last && f.Pages >= fewHits {
			return f.Word
		}
	}
	return ""
}

// respelled is a query in which words are replaced. swaps are pairs of old and new words. All else
// is spelled as it was typed, if the result then has the same meaning.
func respelled(q query.Query, typed string, swaps []string) string {
	var z analysis.Tokenizer
	var out strings.Builder
	q.Groups = slices.Clone(q.Groups)
	for i := range q.Groups {
		q.Groups[i].Any = slices.Clone(q.Groups[i].Any)
		for j := range q.Groups[i].Any {
			a := &q.Groups[i].Any[j]
			if a.Phrase {
				continue
			}
			better := swap(&z, a.Text, swaps)
			if before, after, ok := strings.Cut(typed, a.Text); ok {
				out.WriteString(before)
				out.WriteString(better)
				typed = after
			}
			a.Text = better
		}
	}
	out.WriteString(typed)
	same := q.String()
	excludes := slices.ContainsFunc(q.Not, func(a query.Atom) bool { return !a.Option() })
	if s := strings.Join(strings.Fields(out.String()), " "); !excludes && q.Schema().Parse(s).String() == same {
		return s
	}
	return same
}

// swap replaces words of a text, and the parts of names in it. A capital letter stays one.
func swap(z *analysis.Tokenizer, text string, swaps []string) string {
	var out strings.Builder
	done := 0
	z.Tokens([]byte(text), func(t analysis.Token) bool {
		for k := 0; k < len(swaps) && !t.Whole; k += 2 {
			if string(t.Word) != swaps[k] {
				continue
			}
			better := swaps[k+1]
			if r, _ := utf8.DecodeRuneInString(text[t.Start:]); unicode.IsUpper(r) {
				first, n := utf8.DecodeRuneInString(better)
				better = string(unicode.ToUpper(first)) + better[n:]
			}
			out.WriteString(text[done:t.Start])
			out.WriteString(better)
			done = t.End
			break
		}
		return true
	})
	out.WriteString(text[done:])
	return out.String()
}
