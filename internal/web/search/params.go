package search

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/query"
	"github.com/curtsy/curtsy/internal/web"
	"github.com/curtsy/curtsy/internal/webtext"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Limits of what is asked.
const (
	maxQuery  = query.MaxBytes
	maxFilter = 256  // bytes of a filter
	maxPer    = 100  // hits on a page
	maxHits   = 1000 // hits that can be asked for by a page's number: page × per
	maxNumber = 1e6  // of a page that begins at a cursor
	perUsual  = 10
)

// filters are the parameters that narrow a search. Each is a filter of the query language and
// becomes part of the query.
var filters = []string{"site", "lang", "type", "after", "before"}

// params are the parameters of a search.
type params struct {
	Q         string // filters included
	Like      string // the page to which the hits are to be similar; "": they answer Q
	Page      int    // from 1; with a cursor it only numbers the hits
	Per       int
	Explain   bool
	Sort      string // date or a field, with "-" for the highest value first; "": best first
	Cursor    string // where an earlier answer ended; "": the page says where to begin
	PerSite   int    // the most hits of a host; 0: all
	Verbatim  bool   // no other spelling is used
	Languages string // what overrides Accept-Language, as languagesOf reads it; "": nothing does
}

// knownParams are the names of all of them.
var knownParams = append([]string{"q", "like", "page", "per", "explain", "sort", "cursor", "per_site", "verbatim", "languages"}, filters...)

// ParamNames are the names of the parameters of a search. No field may have one of them.
func ParamNames() []string { return slices.Clone(knownParams) }

// parse reads parameters. An empty one counts as not given. With strict, an unknown one is a
// problem, because the author of a program wants to know. The names of fields are parameters, too,
// unless another parameter has that name.
func parse(raw string, strict bool, fields query.Schema) (p params, bad *web.Problem) {
	all, err := url.ParseQuery(raw)
	if err != nil {
		return p, wrong("", "the parameters are not valid: write them as q=words&page=2, with %%26 for an & in a value")
	}
	known := slices.Concat(knownParams, fieldParams(fields))
	for name := range all {
		if strict && !slices.Contains(known, name) {
			return p, wrong(shown(name), "there is no parameter %q; there are %s", shown(name), strings.Join(known, ", "))
		}
	}
	return readAll(all, known, fields)
}

// readAll reads the parameters with these names, in this order.
func readAll(all url.Values, known []string, fields query.Schema) (p params, bad *web.Problem) {
	p = params{Page: 1, Per: perUsual}
	for _, name := range known {
		values := slices.DeleteFunc(all[name], func(v string) bool { return v == "" })
		if len(values) > 1 && !repeats(name) {
			return p, wrong(name, "%s is given %d times: give it once", name, len(values))
		}
		for i, value := range values {
			if bad := p.set(name, value, i > 0, fields); bad != nil {
				return p, bad
			}
		}
	}
	if p.Cursor == "" && p.Page > maxHits/p.Per {
		return p, wrong("page", "page × per is at most %d: go on with links.next of an answer, which has a cursor, or narrow the search", maxHits)
	}
	return p, nil
}

// repeats reports whether a parameter may be given several times: a filter, of which a page must
// have one of the values. A page cannot be before two days more than it is before the first.
func repeats(name string) bool {
	return name != "url" && name != "before" && name != "after" && (slices.Contains(filters, name) || !slices.Contains(knownParams, name))
}

// fieldParams are the parameters that filter by fields.
func fieldParams(fields query.Schema) (names []string) {
	for name := range fields {
		if !slices.Contains(knownParams, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// set reads one parameter. again: it is not the first of its name.
func (p *params) set(name, value string, again bool, fields query.Schema) *web.Problem {
	switch {
	case name == "q":
		if len(value) > maxQuery {
			return wrong("q", "q has %d bytes; the limit is %d: use fewer words", len(value), maxQuery)
		}
		if !utf8.ValidString(value) {
			return wrong("q", "q is not UTF-8")
		}
		p.Q = strings.TrimSpace(webtext.Clean(value))
		return nil
	case name == "like" || name == "url":
		return p.likeURL(name, value)
	case name == "page":
		return number(name, value, maxNumber, &p.Page)
	case name == "per":
		return number(name, value, maxPer, &p.Per)
	case name == "per_site":
		return number(name, value, maxPer, &p.PerSite)
	case name == "explain":
		return yesNo(name, value, &p.Explain)
	case name == "verbatim":
		return yesNo(name, value, &p.Verbatim)
	case name == "cursor":
		if len(value) > crawl.MaxCursor || strings.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
			return wrong(name, "the cursor is none of an answer: use links.next of the answer before, or leave cursor out")
		}
		p.Cursor = value
		return nil
	case name == "languages":
		list, ok := languagesOf(value)
		if !ok || len(list) > maxLanguages {
			return wrong(name, "languages is %q; use the codes of at most %d languages, best first, for example de,fr", shown(value), maxLanguages)
		}
		p.Languages = cmp.Or(strings.Join(list, ","), anyLanguage)
		return nil
	case name == "sort":
		if _, err := fields.Sort(value); err != nil {
			return wrong("sort", "%v", err)
		}
		p.Sort = value
		return nil
	}
	return p.narrow(name, value, again, fields)
}

// likeURL reads the URL of a page.
func (p *params) likeURL(name, value string) *web.Problem {
	if len(value) > maxURL {
		return wrong(name, "the URL has %d bytes; the limit is %d", len(value), maxURL)
	}
	u, err := canon.Parse(value)
	if err != nil {
		return wrong(name, "%q is not a URL; use for example https://example.org/", shown(value))
	}
	p.Like = string(u)
	return nil
}

// number reads a number from 1 to most.
func number(name, value string, most int, to *int) *web.Problem {
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 || n > most {
		return wrong(name, "%s is %q; use 1 to %d", name, shown(value), min(most, maxHits))
	}
	*to = n
	return nil
}

// yesNo reads a parameter that is on or off.
func yesNo(name, value string, to *bool) *web.Problem {
	yes, err := strconv.ParseBool(value)
	if err != nil {
		return wrong(name, "%s is %q; use 1 or 0", name, shown(value))
	}
	*to = yes
	return nil
}

// examples are values of filters that work.
var examples = map[string]string{
	"site": "docs.example.org", "lang": "de", "type": "text/plain or pdf", "after": "2024-05-31, 2024-05 or 2024", "before": "2024-05-31, 2024-05 or 2024",
}

// fieldExamples are values of fields that work, by type.
var fieldExamples = map[crawl.FieldType]string{
	crawl.FieldText: "two words", crawl.FieldKeyword: "one value", crawl.FieldNumber: "16, >=15 or 14..16",
	crawl.FieldDate: "2024, 2024-05-31, >=2024-05 or 2023..2024", crawl.FieldBoolean: "true or false",
}

// narrow adds a filter to the query. The first of a name replaces those of that name in the query.
func (p *params) narrow(name, value string, again bool, fields query.Schema) *web.Problem {
	if len(value) > maxFilter {
		return wrong(name, "%s has %d bytes; use at most %d", name, len(value), maxFilter)
	}
	word := fields.Parse("").With(name, value).String()
	if word == "" || strings.ContainsAny(value, "\x00\"") {
		return wrong(name, "%s is %q; use for example %s", name, shown(value), cmp.Or(examples[name], fieldExamples[fields[name]]))
	}
	asked := fields.Parse(p.Q)
	q := asked.With(name, value).String()
	if again {
		q = asked.Also(name, value).String()
	}
	if !strings.Contains(" "+q+" ", " "+word+" ") {
		return wrong("q", "q is too long to be narrowed by %s as well", name)
	}
	p.Q = q
	return nil
}

// shown is the beginning of a wrong value.
func shown(s string) string {
	const most = 40
	s = strings.ToValidUTF8(s, "\uFFFD")
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

// link is the address of the same search at path.
func (p params) link(path string) string {
	var b strings.Builder
	add := func(name, value string) {
		if value != "" {
			b.WriteString("&" + name + "=" + url.QueryEscape(value))
		}
	}
	if path == similarPath {
		p.similarTo(add)
	} else {
		add("q", p.Q)
		add("like", p.Like)
	}
	if p.Per != perUsual {
		add("per", strconv.Itoa(p.Per))
	}
	if p.Page > 1 {
		add("page", strconv.Itoa(p.Page))
	}
	if p.Explain {
		add("explain", "1")
	}
	add("sort", p.Sort)
	if p.PerSite > 0 {
		add("per_site", strconv.Itoa(p.PerSite))
	}
	if p.Verbatim {
		add("verbatim", "1")
	}
	add("languages", p.Languages)
	add("cursor", p.Cursor)
	if b.Len() == 0 {
		return path
	}
	return path + "?" + b.String()[1:]
}

// at is the same search at another page.
func (p params) at(page int) params {
	p.Page, p.Cursor = page, ""
	return p
}

// after is the page of the same search that begins at a cursor.
func (p params) after(cursor string) params {
	p.Page, p.Cursor = p.Page+1, cursor
	return p
}

// with is the same search with another query, from its first page. It may be about other words, so
// their spelling is up to the crawl again.
func (p params) with(q query.Query) params {
	p = p.at(1)
	p.Q = q.String()
	return p
}

// wrong is the problem of a parameter.
func wrong(parameter, format string, args ...any) *web.Problem {
	return &web.Problem{Status: http.StatusBadRequest, Parameter: parameter, Text: fmt.Sprintf(format, args...)}
}

// reaches reports whether a page of the answer can be asked for by its number.
func (p params) reaches(page int) bool {
	return page*p.Per <= maxHits
}
