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
)

// Limits of what is asked.
const (
	maxQuery  = query.MaxBytes
	maxFilter = 256  // bytes of a filter
	maxPer    = 100  // hits on a page
	maxHits   = 1000 // hits that can be shown: page × per
	perUsual  = 10
)

// filters are the parameters that narrow a search. Each is a filter of the query language and
// becomes part of the query.
var filters = []string{"site", "lang", "type", "after", "before"}

// params are the parameters of a search.
type params struct {
	Q       string // filters included
	Page    int    // from 1
	Per     int
	Explain bool
	Sort    string // a field, with "-" for the highest value first; "": best first
}

// knownParams are the names of all of them.
var knownParams = append([]string{"q", "page", "per", "explain", "sort"}, filters...)

// ParamNames are the names of the parameters of a search. No field may have one of them.
func ParamNames() []string { return slices.Clone(knownParams) }

// parse reads parameters. An empty one counts as not given. With strict, an unknown one is a
// problem, because the author of a program wants to know. The names of fields are parameters, too,
// unless another parameter has that name.
func parse(raw string, strict bool, fields query.Schema) (p params, bad *web.Problem) {
	p = params{Page: 1, Per: perUsual}
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
	for _, name := range known {
		switch values := all[name]; {
		case len(values) > 1:
			return p, wrong(name, "%s is given %d times: give it once", name, len(values))
		case len(values) == 1 && values[0] != "":
			if bad := p.set(name, values[0], fields); bad != nil {
				return p, bad
			}
		}
	}
	if p.Page > maxHits/p.Per {
		return p, wrong("page", "page × per is at most %d: narrow the search instead of going to further pages", maxHits)
	}
	return p, nil
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

// set reads one parameter.
func (p *params) set(name, value string, fields query.Schema) *web.Problem {
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
	case name == "page" || name == "per":
		n, err := strconv.Atoi(value)
		most := maxHits
		if name == "per" {
			most = maxPer
		}
		if err != nil || n < 1 || n > most {
			return wrong(name, "%s is %q; use 1 to %d", name, shown(value), most)
		}
		if name == "page" {
			p.Page = n
		} else {
			p.Per = n
		}
		return nil
	case name == "explain":
		yes, err := strconv.ParseBool(value)
		if err != nil {
			return wrong(name, "explain is %q; use 1 or 0", shown(value))
		}
		p.Explain = yes
		return nil
	case name == "sort":
		if _, err := fields.Sort(value); err != nil {
			return wrong("sort", "%v", err)
		}
		p.Sort = value
		return nil
	}
	return p.narrow(name, value, fields)
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

// narrow adds a filter to the query, and replaces one with the same name.
func (p *params) narrow(name, value string, fields query.Schema) *web.Problem {
	if len(value) > maxFilter {
		return wrong(name, "%s has %d bytes; use at most %d", name, len(value), maxFilter)
	}
	word := fields.Parse("").With(name, value).String()
	if word == "" || strings.ContainsAny(value, "\x00\"") {
		return wrong(name, "%s is %q; use for example %s", name, shown(value), cmp.Or(examples[name], fieldExamples[fields[name]]))
	}
	q := fields.Parse(p.Q).With(name, value).String()
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
	add("q", p.Q)
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
	if b.Len() == 0 {
		return path
	}
	return path + "?" + b.String()[1:]
}

// at is the same search at another page.
func (p params) at(page int) params {
	p.Page = page
	return p
}

// with is the same search with another query, from its first page.
func (p params) with(q query.Query) params {
	p.Q, p.Page = q.String(), 1
	return p
}

// wrong is the problem of a parameter.
func wrong(parameter, format string, args ...any) *web.Problem {
	return &web.Problem{Status: http.StatusBadRequest, Parameter: parameter, Text: fmt.Sprintf(format, args...)}
}

// reaches reports whether there can be hits on a page of the answer.
func (p params) reaches(page int) bool {
	return page*p.Per <= maxHits && (p.Sort != "" || (page-1)*p.Per < crawl.MaxRanked)
}
