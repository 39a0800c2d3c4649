package search

import (
	"strings"
	"unicode"
)

// Limits of a query. A longer one is cut, not refused.
const (
	maxQuery   = 2048 // bytes
	maxClauses = 32
	maxLangs   = 8 // languages a word is stemmed in
)

// clause is one thing that a query asks for.
type clause struct {
	text   string
	phrase bool // it stood in quotes
	not    bool
	prefix bool // word*
	title  bool
}

// parsed is a query after parsing.
type parsed struct {
	clauses           []clause
	site, lang, ctype string
}

// parse reads a query. No text is an error.
func parse(q string) parsed {
	q = strings.ToValidUTF8(q[:min(len(q), maxQuery)], " ")
	var p parsed
	for len(p.clauses) < maxClauses {
		q = strings.TrimLeftFunc(q, unicode.IsSpace)
		if q == "" {
			break
		}
		var c clause
		// "-" excludes only directly before a word: "a - b" and "--flag" exclude nothing.
		if len(q) > 1 && q[0] == '-' && q[1] != '-' && !unicode.IsSpace(rune(q[1])) {
			c.not, q = true, q[1:]
		}
		if rest, ok := cutFold(q, "title:"); ok && rest != "" {
			c.title, q = true, rest
		}
		if q[0] == '"' {
			var closed bool
			c.phrase = true
			c.text, q, closed = strings.Cut(q[1:], `"`)
			if !closed {
				q = ""
			}
		} else {
			end := strings.IndexFunc(q, func(r rune) bool { return unicode.IsSpace(r) || r == '"' })
			if end < 0 {
				end = len(q)
			}
			c.text, q = q[:end], q[end:]
			if !c.not && !c.title && p.filter(c.text) {
				continue
			}
			c.prefix = len(c.text) > 1 && strings.HasSuffix(c.text, "*")
		}
		p.clauses = append(p.clauses, c)
	}
	return p
}

// filter takes site:, lang: and type:.
func (p *parsed) filter(word string) bool {
	for _, f := range []struct {
		name string
		into *string
	}{{"site:", &p.site}, {"lang:", &p.lang}, {"type:", &p.ctype}} {
		if v, ok := cutFold(word, f.name); ok && v != "" {
			*f.into = strings.ToLower(v)
			return true
		}
	}
	return false
}

func cutFold(s, prefix string) (string, bool) {
	if len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix) {
		return s[len(prefix):], true
	}
	return s, false
}

// variant is the terms that one language makes of a clause; several terms must stand in a row.
type variant struct {
	terms  []string
	prefix bool // of the last term
}

// variants returns the different meanings of a clause in the languages given. There are none
// if it holds no word.
func (a *analyzer) variants(c clause, langs []string) []variant {
	var out []variant
	known := make(map[string]bool)
	add := func(v variant) {
		if key := strings.Join(v.terms, " "); len(v.terms) > 0 && !known[key] {
			known[key] = true
			out = append(out, v)
		}
	}
	for i := -1; i < len(langs); i++ {
		lang := "" // first the word as it is
		if i >= 0 {
			lang = langs[i]
		}
		if c.prefix && i >= 0 {
			continue // the beginning of a word has no stem
		}
		var all, whole, parts []string
		inPart := 0
		a.tokens(lang, []byte(c.text), func(t token) bool {
			term := string(t.term)
			all = append(all, term)
			if t.part {
				parts = append(parts, term)
				inPart++
			} else {
				whole = append(whole, term)
			}
			return len(all) < 64
		})
		switch {
		case c.phrase || inPart == 0:
			add(variant{all, c.prefix || len(all) == 1 && aloneUnspaced(all[0])})
		default: // an identifier: as one word, or as its words in a row
			add(variant{whole, c.prefix})
			add(variant{parts, c.prefix})
		}
	}
	return out
}

// aloneUnspaced reports whether a term is a single letter of a script that is indexed in pairs. It
// then stands for the beginning of pairs.
func aloneUnspaced(term string) bool {
	r := []rune(term)
	return len(r) == 1 && unspaced(r[0])
}

// match writes the FTS5 expression of a query, "" when it asks for no word. Terms hold letters and
// digits only, so quoting them is enough.
func match(groups [][]variant, clauses []clause, join string) string {
	var want, not []string
	for i, vs := range groups {
		if len(vs) == 0 {
			continue
		}
		parts := make([]string, len(vs))
		for j, v := range vs {
			parts[j] = `"` + strings.Join(v.terms, " ") + `"`
			if v.prefix {
				parts[j] += "*"
			}
		}
		expr := "(" + strings.Join(parts, " OR ") + ")"
		if clauses[i].title {
			expr = "{title} : " + expr
		}
		if clauses[i].not {
			not = append(not, expr)
		} else {
			want = append(want, expr)
		}
	}
	if len(want) == 0 {
		return ""
	}
	expr := strings.Join(want, join)
	if len(not) > 0 {
		expr = "(" + expr + ") NOT (" + strings.Join(not, " OR ") + ")"
	}
	return expr
}
