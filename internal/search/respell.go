package search

import (
	"context"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/curtsy/curtsy/internal/crawl"
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
				if s := &m.Slots[k]; !s.Prefix && (m.Name || !s.Exact) {
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

// respell replaces words that no page has with words that are spelled like them, and returns a
// message about this. If pages have only other forms of a word, the word is kept, because those
// forms are found. If such a word is spelled like a frequent one, the message suggests the frequent
// one.
func (p *Plan) respell(ctx context.Context, q query.Query, typed string, shards Shards, answer *crawl.SearchAnswer) (message string, err error) {
	unknown, formed := map[string][]*Slot{}, map[string]bool{}
	var words []string
	p.eachTyped(func(c *Clause, s *Slot) {
		switch {
		case len(s.Forms) == 0 && len(s.Word) >= minSpelled && !c.known():
			unknown[s.Word] = append(unknown[s.Word], s)
			words = append(words, s.Word)
		case !c.Light && len(s.Word) >= minMistyped && s.oddForm():
			formed[s.Word] = true
			words = append(words, s.Word)
		}
	})
	if len(words) == 0 {
		return "", nil
	}
	slices.Sort(words)
	words = slices.Compact(words)
	similar, err := shards.Similar(ctx, words)
	sums := addSimilar(similar)
	best := nearest(words, sums)
	var swaps, begun, offered []string
	for _, w := range words {
		forms := best[w]
		switch {
		case formed[w]:
			if other := endsAlike(sums[w], w); other != "" {
				offered = append(offered, w, other)
			}
		case len(forms) == 0:
		case forms[0].Weight == weightSpelled:
			swaps = append(swaps, w, forms[0].Word)
		default:
			begun = append(begun, w)
		}
		for _, s := range unknown[w] {
			s.Forms = forms
		}
	}
	for i := range p.Clauses {
		p.weigh(&p.Clauses[i])
	}
	if len(swaps)+len(offered) > 0 {
		answer.Suggestion = respelled(q, typed, slices.Concat(swaps, offered))
	}
	switch {
	case len(swaps) > 0:
		message = "no page has all words as typed; showing results for: " + respelled(q, typed, swaps)
	case len(begun) > 0:
		message = "no page has " + strings.Join(begun, ", ") + " as a word; these pages have words that begin with it"
	}
	return message, err
}

// oddForm reports whether pages have only other forms of a word, and none that is the word with
// another ending, or the reverse: checkpoint, checkpoints.
func (s *Slot) oddForm() bool {
	word := analysis.Plain(s.Word)
	return len(s.Forms) > 0 && !slices.ContainsFunc(s.Forms, func(f Form) bool {
		have := analysis.Plain(f.Word)
		return f.Weight > weightStem || strings.HasPrefix(have, word) || strings.HasPrefix(word, have)
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
