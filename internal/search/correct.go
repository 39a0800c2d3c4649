package search

import (
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/query"
	"github.com/curtsy/curtsy/internal/search/analysis"
)

const (
	// minMistyped is the minimum length in bytes of a word with pages that may count as a typing
	// error. Many short words differ in one letter and are both correct: lpad, load.
	minMistyped = 6
	// maxMistyped is the maximum number of pages with a word that may count as a typing error.
	maxMistyped = 5
	// muchMore is the factor by which more pages must have the other word, and the other query must
	// find more.
	muchMore = 10
	// muchBetter is the factor by which the best hit of the other query must have a higher score.
	muchBetter = 1.3
	// maxTried is how many other spellings of a word are tried.
	maxTried = 4
	// maxTriedInAll is how many are tried for all words of a query. Each asks all shards again.
	maxTriedInAll = 12
)

// Words of a query that are spelled wrong:
//
// - A word that no page has is replaced by the similar word with which the query finds most. If it
//     finds no page that has this word and others of the query, the word is kept, because it is
//     probably no typing error.
//   - So is a word that no page has among those that pass the filters.
//   - Pages contain typing errors, too. If few pages have all words, and one word is on few pages
//     and in no title or address of a hit, while a similar one is on many, the other query is
//     suggested; it is answered if no page has all words as they were typed.
//
// What is answered instead is in Corrected of the answer, so that the typed form can be offered.

// spellings asks the shards for the words that are similar to those of a query that no page has, or
// of which pages have only other forms. If there is no such word, but words that begin with it, the
// plan uses these.
func (s *searching) spellings(f *reading) map[string][]Spelled {
	var words []string
	unknown := map[string][]*Slot{}
	f.p.eachTyped(func(c *Clause, t *Slot) {
		switch {
		case len(t.Forms) == 0 && len(t.Word) >= minSpelled && !c.known():
			unknown[t.Word] = append(unknown[t.Word], t)
			words = append(words, t.Word)
		case !c.Light && len(t.Word) >= minMistyped && t.oddForm():
			words = append(words, t.Word)
		}
	})
	similar := s.similar(words)
	for w, slots := range unknown {
		var forms []Form
		for _, found := range similar[w] {
			if found.Off > 0 || len(forms) == maxForms {
				break
			}
			forms = append(forms, Form{found.Word, weightBegins, found.Pages})
		}
		for _, t := range slots {
			t.Forms = forms
		}
		if len(forms) > 0 {
			f.begun = append(f.begun, w)
		}
	}
	slices.Sort(f.begun)
	for i := range f.p.Clauses {
		f.p.weigh(&f.p.Clauses[i])
	}
	return similar
}

// similar are the words of all shards that are spelled like others, nearest first.
func (s *searching) similar(words []string) map[string][]Spelled {
	slices.Sort(words)
	words = slices.Compact(words)
	if len(words) == 0 {
		return nil
	}
	found, err := s.shards.Similar(s.ctx, words)
	s.failed(err)
	return addSimilar(found)
}

// doubt is why a word may be a typing error.
type doubt int

const (
	sure    doubt = iota
	unknown       // no page that passes the filters has it
	odd           // pages have only other forms of it
	rare          // few pages have it
)

// doubtful are the words of a query that may be typing errors.
func (f *reading) doubtful() map[string]doubt {
	all := map[string]doubt{}
	f.p.eachTyped(func(c *Clause, t *Slot) {
		k := 0
		for &f.p.Clauses[k] != c {
			k++
		}
		pages := uint64(0)
		for _, form := range t.Forms {
			pages += form.Pages
		}
		switch {
		case c.Light || len(t.Word) < minSpelled:
		case f.has[k] == 0 || pages == 0 && !c.known():
			all[t.Word] = unknown
		case len(t.Word) < minMistyped || !analysis.IsAlphabetic(t.Word):
		case t.oddForm():
			all[t.Word] = odd
		case f.whole < fewHits && pages <= maxMistyped:
			all[t.Word] = rare
		}
	})
	return all
}

// correct returns what is answered: a query with other spellings if that is better, or the query
// itself, with a suggestion if there is one.
func (s *searching) correct(f *reading, similar map[string][]Spelled, answer *crawl.SearchAnswer) *reading {
	doubts := f.doubtful()
	var ask []string
	for w := range doubts {
		if similar[w] == nil {
			ask = append(ask, w)
		}
	}
	for w, found := range s.similar(ask) {
		if similar == nil {
			similar = map[string][]Spelled{}
		}
		similar[w] = found
	}
	best := f
	var offered []string
	for _, w := range slices.Sorted(maps.Keys(doubts)) {
		switch doubts[w] {
		case unknown:
			best = s.respell(best, w, similar[w])
		case odd:
			if other := endsAlike(similar[w], w); other != "" {
				offered = append(offered, w, other)
			}
		case rare:
			if other := muchMoreFrequent(similar[w], w); other != "" && !f.named(w) {
				offered = append(offered, w, other)
			}
		}
	}
	if best != f {
		answer.Corrected, answer.Loosened = best.typed, best.loosened
	}
	if len(offered) == 0 || best != f {
		return best
	}
	text := respelled(f.q, f.typed, offered)
	other := s.read(s.schema.Parse(text), text)
	if other.nothing {
		return f
	}
	s.rank(other)
	s.loosen(other)
	switch {
	case f.whole == 0 && other.whole >= fewHits || other.top() > muchBetter*f.top() && other.whole >= f.whole:
		answer.Corrected, answer.Loosened = text, other.loosened
		return other
	case other.whole >= max(fewHits, muchMore*f.whole), other.top() > f.top() && other.whole >= f.whole:
		answer.Suggestion = text
	}
	return f
}

// top is the score of the best hit.
func (f *reading) top() (best float64) {
	for i := range f.ranked {
		for j := range f.ranked[i].Hits {
			best = max(best, f.ranked[i].Hits[j].Score)
		}
	}
	return best
}

// named reports whether one of the best hits has a word in its title or address, or has a section
// with a heading that the query names.
func (f *reading) named(word string) bool {
	hits, _, _ := f.merge()
	return slices.ContainsFunc(hits[:min(len(hits), defaultLimit)], func(h crawl.Hit) bool {
		return h.SectionNth > 0 || strings.Contains(analysis.Lower(h.Title), word) || strings.Contains(analysis.Lower(h.URL), word)
	})
}

// respell returns the query with the best other spelling of a word that no page has, or the query
// itself if none is better.
func (s *searching) respell(f *reading, word string, similar []Spelled) *reading {
	best := f
	tried := 0
	for _, found := range similar {
		if found.Off == 0 || found.Off > 1 && !resembles(word, found.Word) {
			continue // words that begin with it are used as they are
		}
		if tried++; tried > maxTried || s.tried == maxTriedInAll {
			break
		}
		s.tried++
		text := respelled(f.q, f.typed, []string{word, found.Word})
		other := s.read(s.schema.Parse(text), text)
		if other.nothing {
			continue
		}
		s.rank(other)
		s.loosen(other)
		if other.outdoes(best, best == f) {
			best = other
		}
	}
	return best
}

// resembles reports whether a word that differs in two letters is likely to be meant: a long one
// that begins and ends in the same way. Many that do not are other words.
func resembles(word, other string) bool {
	a, b := spelling(word), spelling(other)
	return len(a) >= 8 && len(b) >= 8 && a[1] == b[1] && a[len(a)-1] == b[len(b)-1] && len(a)-len(b) <= 1 && len(b)-len(a) <= 1
}

// outdoes reports whether a query finds more than another in which the word is spelled otherwise.
// first says that the other one is the query as it was typed, which lacks the word.
func (f *reading) outdoes(other *reading, first bool) bool {
	// As a share, because a name may be one clause in one of them and several in the other.
	mine, its := f.most*other.p.heavy(), other.most*f.p.heavy()
	switch {
	case mine != its:
		return mine > its
	case first:
		return false // no page has the new word and as many of the others
	}
	return f.whole > muchMore*other.whole
}

// muchMoreFrequent returns the word that was probably meant by word, which few pages have. It is ""
// if no similar word is much more frequent.
func muchMoreFrequent(found []Spelled, word string) string {
	own, best := uint64(1), Spelled{}
	for _, f := range found {
		switch {
		case f.Word == word:
			own = max(own, f.Pages)
		case f.Off == 1 && (best.Word == "" || f.compare(best) < 0):
			best = f
		}
	}
	if best.Pages < muchMore*own {
		return ""
	}
	return best.Word
}

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
