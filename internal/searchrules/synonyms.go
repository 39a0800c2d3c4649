package searchrules

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/curtsy/curtsy/internal/search/analysis"
)

// Synonyms are words and phrases that stand for others. They never change, and may be used
// concurrently. Nil has none.
type Synonyms struct {
	tables map[string]*table // by language; "" is for all
	lines  int
}

// table has the synonyms of a language.
type table struct {
	lang    string // of the stems
	byKey   map[string][]*group
	longest int // the number of words of the longest phrase
}

// group is a line: what to look for beside a phrase of it.
type group struct{ terms []term }

type term struct{ text, key string }

// Expansion says what some consecutive words of a query may be called instead.
type Expansion struct {
	From, To int // the words: [From, To)
	// Terms are words and phrases, as they are written in the file.
	Terms []string
}

// Expand returns the synonyms of a query. words are its words in their order; an empty one is a
// word that is not expanded, and no phrase is found across it. langs are the languages whose
// synonyms are used beside those for all; nil means each. Longer phrases come first, and there are
// at most MaxExpansions terms.
func (s *Synonyms) Expand(words []string, langs []string) (all []Expansion) {
	if s == nil {
		return nil
	}
	for _, lang := range slices.Sorted(maps.Keys(s.tables)) {
		if lang == "" || langs == nil || slices.Contains(langs, lang) {
			all = s.tables[lang].expand(all, words)
		}
	}
	slices.SortStableFunc(all, func(a, b Expansion) int { return (b.To - b.From) - (a.To - a.From) })
	left := MaxExpansions
	for i := range all {
		all[i].Terms = all[i].Terms[:min(len(all[i].Terms), left)]
		left -= len(all[i].Terms)
	}
	return slices.DeleteFunc(all, func(e Expansion) bool { return len(e.Terms) == 0 })
}

func (t *table) expand(all []Expansion, words []string) []Expansion {
	k := newKeyer(t.lang)
	keys := make([][]string, len(words))
	for i, w := range words {
		keys[i] = k.words(w)
	}
	for from := range words {
		var run []string
		for to := from; to < len(words) && len(keys[to]) > 0; to++ {
			if run = append(run, keys[to]...); len(run) > t.longest {
				break
			}
			key := strings.Join(run, " ")
			e := Expansion{From: from, To: to + 1}
			for _, g := range t.byKey[key] {
				for _, other := range g.terms {
					if other.key != key && !slices.Contains(e.Terms, other.text) {
						e.Terms = append(e.Terms, other.text)
					}
				}
			}
			if len(e.Terms) > 0 {
				all = append(all, e)
			}
		}
	}
	return all
}

// synonymReader reads lines in Solr's format.
type synonymReader struct {
	into *Synonyms
	k    map[string]*keyer // by language
}

func newSynonymReader() *synonymReader {
	return &synonymReader{&Synonyms{tables: map[string]*table{}}, map[string]*keyer{}}
}

// line reads a line of a language. The error says what is wrong with it and what works.
func (r *synonymReader) line(lang, text string) error {
	text = strings.TrimSpace(text)
	if text == "" || text[0] == '#' {
		return nil
	}
	switch r.into.lines++; {
	case r.into.lines > MaxLines:
		return fmt.Errorf("there are more than %d lines of synonyms; leave out rare ones", MaxLines)
	case len(text) > MaxLine:
		return fmt.Errorf("the line has %d bytes; at most %d are allowed; divide it into several", len(text), MaxLine)
	case !utf8.ValidString(text):
		return fmt.Errorf("the line is not valid UTF-8; save the file as UTF-8")
	}
	sides, err := splitLine(text)
	if err != nil {
		return err
	}
	if n := len(sides[0]) + len(sides[len(sides)-1]); len(sides) == 2 && n > MaxTerms || len(sides) == 1 && len(sides[0]) > MaxTerms {
		return fmt.Errorf("the line has more than %d words and phrases; divide it into several", MaxTerms)
	}
	if len(sides) == 1 && len(sides[0]) < 2 {
		return fmt.Errorf(`%q has no synonym; write for example "car, automobile" or "httpd => apache"`, sides[0][0])
	}
	k := r.k[lang]
	t := r.into.tables[lang]
	if t == nil {
		t = &table{lang: lang, byKey: map[string][]*group{}}
		if lang == "" {
			t.lang = mainLanguage
		}
		k = newKeyer(t.lang)
		r.into.tables[lang], r.k[lang] = t, k
	}
	read := func(side []string) (terms []term, err error) {
		for _, text := range side {
			words := k.words(text)
			switch {
			case len(words) == 0:
				return nil, fmt.Errorf("%q consists of signs, so it is not a word that pages could have; leave it out", text)
			case len(words) > MaxWords:
				return nil, fmt.Errorf("%q has %d words; at most %d are allowed; use the most important ones", text, len(words), MaxWords)
			}
			terms = append(terms, term{text, strings.Join(words, " ")})
			t.longest = max(t.longest, len(words))
		}
		return terms, nil
	}
	from, err := read(sides[0])
	if err != nil {
		return err
	}
	to := from
	if len(sides) == 2 {
		if to, err = read(sides[1]); err != nil {
			return err
		}
	}
	g := &group{to}
	for i, f := range from {
		if !slices.ContainsFunc(from[:i], func(o term) bool { return o.key == f.key }) {
			t.byKey[f.key] = append(t.byKey[f.key], g)
		}
	}
	return nil
}

// splitLine returns the words and phrases of a line: of both sides of "=>", or of the line if it
// has none. A backslash makes a comma, a ">" or another backslash part of a word.
func splitLine(text string) (sides [][]string, err error) {
	sides = [][]string{nil}
	var b strings.Builder
	end := func(what string) error {
		t := strings.Join(strings.Fields(b.String()), " ")
		b.Reset()
		if t == "" {
			return fmt.Errorf(`%s; write for example "car, automobile" or "httpd => apache"`, what)
		}
		last := len(sides) - 1
		sides[last] = append(sides[last], t)
		return nil
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text):
			i++
			b.WriteByte(text[i])
		case c == ',':
			if err := end("there is nothing before a comma"); err != nil {
				return nil, err
			}
		case c == '=' && strings.HasPrefix(text[i:], "=>"):
			i++
			if len(sides) == 2 {
				return nil, fmt.Errorf(`there is a second "=>"; write two lines, or \=> if it is part of a word`)
			}
			if err := end(`there is nothing before "=>"`); err != nil {
				return nil, err
			}
			sides = append(sides, nil)
		default:
			b.WriteByte(c)
		}
	}
	return sides, end("there is nothing at the end of the line")
}

// isLanguage reports whether synonyms can be given for a language: a code of ISO 639-1.
func isLanguage(code string) bool {
	return len(code) == 2 && analysis.IsAlphabetic(code) && code == strings.ToLower(code)
}
