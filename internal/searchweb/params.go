package searchweb

import (
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Limits of what is asked.
const (
	maxQuery  = 2048 // bytes of q
	maxFilter = 256  // bytes of a filter
	maxPer    = 100  // hits on a page
	maxHits   = 1000 // hits that can be turned to: page × per
	perUsual  = 10
)

// filters are the parameters that narrow, in the order in which they stand before the query. Each
// is the word of the query language that it becomes.
var filters = []string{"site", "lang", "type", "after", "before"}

// params are what a search is asked with.
type params struct {
	Q       string
	Page    int // from 1
	Per     int
	Filters map[string]string // by name of the filter; none is ""
	Explain bool
}

// knownParams are the names of all of them.
var knownParams = append([]string{"q", "page", "per", "explain"}, filters...)

// parse reads parameters. An empty one counts as not given. Unknown ones are a problem where
// strict: who wrote the program wants to know.
func parse(raw string, strict bool) (p params, bad *problem) {
	p = params{Page: 1, Per: perUsual, Filters: map[string]string{}}
	all, err := url.ParseQuery(raw)
	if err != nil {
		return p, wrong("", "the parameters cannot be read: write them as q=words&page=2, with %%26 for an & in a value")
	}
	for name := range all {
		if strict && !slices.Contains(knownParams, name) {
			return p, wrong(shown(name), "there is no parameter %q; there are %s", shown(name), strings.Join(knownParams, ", "))
		}
	}
	for _, name := range knownParams {
		switch values := all[name]; {
		case len(values) > 1:
			return p, wrong(name, "%s is given %d times: give it once", name, len(values))
		case len(values) == 1 && values[0] != "":
			if bad := p.set(name, values[0]); bad != nil {
				return p, bad
			}
		}
	}
	if p.Page > maxHits/p.Per {
		return p, wrong("page", "page × per is at most %d: narrow the search instead of turning further pages", maxHits)
	}
	return p, nil
}

var (
	filterValue = regexp.MustCompile(`^[^\s"\p{C}]+$`)
	langCode    = regexp.MustCompile(`^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$`)
)

// set takes one parameter.
func (p *params) set(name, value string) *problem {
	switch {
	case name == "q":
		if len(value) > maxQuery {
			return wrong("q", "q has %d bytes; at most %d are looked for: use fewer words", len(value), maxQuery)
		}
		if !utf8.ValidString(value) {
			return wrong("q", "q is not UTF-8")
		}
		p.Q = strings.TrimSpace(strings.Map(printable, value))
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
	}
	if len(value) > maxFilter {
		return wrong(name, "%s has %d bytes; use at most %d", name, len(value), maxFilter)
	}
	good, use := filterValue.MatchString(value), "a value without spaces and quotes"
	switch name {
	case "lang":
		good, use = langCode.MatchString(value), "for example de"
	case "before", "after":
		good, use = date(value), "for example 2024-05-31, 2024-05 or 2024"
	}
	if !good {
		return wrong(name, "%s is %q; use %s", name, shown(value), use)
	}
	p.Filters[name] = value
	return nil
}

// date reports whether s is a day, a month or a year.
func date(s string) bool {
	for _, layout := range []string{time.DateOnly, "2006-01", "2006"} {
		if _, err := time.Parse(layout, s); err == nil {
			return true
		}
	}
	return false
}

// printable makes a space of what is one and drops control characters.
func printable(r rune) rune {
	switch {
	case unicode.IsSpace(r):
		return ' '
	case unicode.IsControl(r):
		return -1
	}
	return r
}

// shown is the beginning of what was typed wrong.
func shown(s string) string {
	const most = 40
	s = strings.ToValidUTF8(s, "\uFFFD")
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

// words are the query as the crawl is asked it: filters, then what was typed. In this order a
// quotation mark that is never closed takes no filter in.
func (p params) words() string { return p.narrow() + p.Q }

// narrow are the filters in the query language, each with a space behind it.
func (p params) narrow() string {
	var b strings.Builder
	for _, name := range filters {
		if v := p.Filters[name]; v != "" {
			b.WriteString(name + ":" + v + " ")
		}
	}
	return b.String()
}

// asks reports whether anything is looked for.
func (p params) asks() bool { return p.Q != "" || len(p.Filters) > 0 }

// link is the address that asks the same at path.
func (p params) link(path string) string {
	var b strings.Builder
	add := func(name, value string) {
		if value != "" {
			b.WriteString("&" + name + "=" + url.QueryEscape(value))
		}
	}
	add("q", p.Q)
	for _, name := range filters {
		add(name, p.Filters[name])
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

// with is the same search, narrowed by another value of a filter, "" for none, from its first page.
func (p params) with(set map[string]string) params {
	all := map[string]string{}
	for _, name := range filters {
		v, given := set[name]
		if !given {
			v = p.Filters[name]
		}
		if v != "" {
			all[name] = v
		}
	}
	p.Filters, p.Page = all, 1
	return p
}
