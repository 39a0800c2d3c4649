package search

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/pages"
)

const (
	snippetBytes = 240     // about three lines
	snippetText  = 1 << 20 // how far into a page is looked
	titleWithin  = 8 << 10 // how far the title is looked for, which most pages repeat
)

// mark is a word in the text that the query asks for.
type mark struct {
	clause, start, end int
}

// snippet cuts from a stored page the stretch that shows most of what was asked for, as plain text;
// "" when the page has no text. The caller has made sure that the page allows snippets.
func snippet(a *analyzer, p *pages.Page, lang string, clauses []clause, groups [][]variant) string {
	if p.Directives&crawl.NoSnippet != 0 {
		return ""
	}
	body, err := p.Unpack(nil)
	if err != nil {
		return ""
	}
	var x pages.Extractor
	text := x.Text(p.ContentType, p.Charset, body).Body
	text = text[:min(len(text), snippetText)]
	wanted, prefixes := make(map[string]int), make(map[string]int)
	for i, vs := range groups {
		if clauses[i].not {
			continue
		}
		for _, v := range vs {
			for j, t := range v.terms {
				if v.prefix && j == len(v.terms)-1 {
					prefixes[t] = i
				} else {
					wanted[t] = i
				}
			}
		}
	}
	var marks []mark
	a.tokens(lang, text, func(t token) bool {
		i, ok := wanted[string(t.term)]
		for p, pi := range prefixes {
			if !ok && bytes.HasPrefix(t.term, []byte(p)) {
				i, ok = pi, true
			}
		}
		if ok {
			marks = append(marks, mark{i, t.start, t.end})
		}
		return len(marks) < 10_000
	})
	from, to := bestWindow(beyondTitle(marks, text, p.Title), len(clauses))
	return cut(text, from, to)
}

// beyondTitle drops marks where the text only repeats the title, which is shown above the snippet
// anyway, unless there are no others.
func beyondTitle(marks []mark, text []byte, title string) []mark {
	at := bytes.Index(text[:min(len(text), titleWithin)], []byte(title))
	if title == "" || at < 0 {
		return marks
	}
	rest := slices.DeleteFunc(slices.Clone(marks), func(m mark) bool { return m.start >= at && m.end <= at+len(title) })
	if len(rest) == 0 {
		return marks
	}
	return rest
}

// bestWindow returns the stretch of marks, at most snippetBytes long, with the most different
// clauses; between equals the one with most marks, then the one nearest to the beginning.
func bestWindow(marks []mark, clauses int) (from, to int) {
	counts := make([]int, clauses)
	distinct, best, first := 0, -1, 0
	for last, m := range marks {
		if counts[m.clause]++; counts[m.clause] == 1 {
			distinct++
		}
		for marks[last].end-marks[first].start > snippetBytes && first < last {
			if counts[marks[first].clause]--; counts[marks[first].clause] == 0 {
				distinct--
			}
			first++
		}
		if score := distinct*1000 + min(last-first, 20); score > best {
			best, from, to = score, marks[first].start, m.end
		}
	}
	return from, to
}

// cut returns about snippetBytes of text around from..to as one line, cut at spaces.
func cut(text []byte, from, to int) string {
	room := max(0, snippetBytes-(to-from))
	start := max(0, from-room/3)
	end := min(len(text), start+snippetBytes)
	end = max(end, min(len(text), to))
	start = max(0, min(start, end-snippetBytes))
	// Begin after a space and end before one, unless none is near: some scripts have no spaces.
	if start > 0 {
		if n := strings.IndexAny(string(text[start:min(start+40, max(from, start))]), " \n"); n >= 0 {
			start += n + 1
		}
	}
	if end < len(text) {
		if n := strings.LastIndexAny(string(text[max(to, end-40, start):end]), " \n"); n >= 0 {
			end = max(to, end-40, start) + n
		}
	}
	for start < end && !utf8.RuneStart(text[start]) {
		start++
	}
	for end < len(text) && end > start && !utf8.RuneStart(text[end]) {
		end--
	}
	s := strings.TrimSpace(strings.ReplaceAll(string(text[start:end]), "\n", " "))
	if s == "" {
		return ""
	}
	if start > 0 {
		s = "… " + s
	}
	if end < len(text) {
		s += " …"
	}
	return s
}
