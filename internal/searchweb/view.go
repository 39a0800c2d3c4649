package searchweb

import (
	"fmt"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"golang.org/x/text/language"
	"golang.org/x/text/language/display"

	"github.com/curtsy/curtsy/internal/crawl"
)

// view is what search.html shows. All text in it that comes from sites is clean.
type view struct {
	Name, Home string
	MaxQuery   int
	Params     params
	Problem    *problem

	Asked      bool // there is an answer
	Total      string
	Hits       []hit
	Notes      []string // what to know of the answer
	Suggestion string
	SuggestURL string
	WithoutURL string // the same without filters; "" when there are none
	Chips      []choice
	Facets     []facet
	Pages      []choice // numbered; the one shown is On
	Prev, Next string
	ExplainURL string
}

// First is the place of the first hit shown, from 1.
func (v view) First() int { return (v.Params.Page-1)*v.Params.Per + 1 }

// hit is one line of the answer.
type hit struct {
	Title   string
	URL     string // "": it is not to be led to
	Crumbs  []string
	Snippet []span
	Date    string // 2006-01-02; "": not known
	Day     string // the same for people
	Facts   []string
	Also    []link
	Signals []crawl.Signal
	Score   float64
}

// link leads to another address; URL "" is one that is only shown.
type link struct{ Text, URL string }

// choice is a link to the same search with one thing changed.
type choice struct {
	Text  string
	Count string
	URL   string
	On    bool
}

// facet narrows by one property of pages.
type facet struct {
	Name   string
	Values []choice
}

// show takes an answer in.
func (v *view) show(a *Answer) {
	v.Asked = true
	v.Total = count(a.Total, "page")
	if a.AtLeast {
		v.Total = "at least " + v.Total
	}
	for _, h := range a.Hits {
		v.Hits = append(v.Hits, shownHit(h))
	}
	if a.Loosened != "" {
		v.Notes = append(v.Notes, short(clean(a.Loosened), maxSnippet))
	}
	if a.Incomplete {
		v.Notes = append(v.Notes, missing(a))
	}
	if a.Behind > 0 {
		v.Notes = append(v.Notes, "Search is "+count(a.Behind, "page")+" behind the crawl.")
	}
	if s := clean(strings.TrimPrefix(a.Suggestion, v.Params.narrow())); s != "" && len(s) <= maxQuery {
		better := v.Params.at(1)
		better.Q = s
		v.Suggestion, v.SuggestURL = s, better.link("/search")
	}
	v.facets(a.Facets)
	v.pages(a)
	other := v.Params
	other.Explain = !other.Explain
	v.ExplainURL = other.link("/search")
}

// missing says what an answer lacks.
func missing(a *Answer) string {
	s := "Part of the crawl does not answer at the moment"
	if a.MissingPages > 0 {
		s += ", and with it " + count(a.MissingPages, "page")
	}
	if len(a.Missing) == 1 {
		return s + fmt.Sprintf(" (shard %s). What is shown comes from the others.", list(a.Missing))
	}
	return s + fmt.Sprintf(" (shards %s). What is shown comes from the others.", list(a.Missing))
}

// maxAlso is how many other addresses of a hit are listed.
const maxAlso = 20

func shownHit(h crawl.Hit) hit {
	v := hit{Title: short(strings.TrimSpace(clean(h.Title)), maxTitle), Crumbs: crumbs(h.URL), Signals: h.Signals, Score: h.Score}
	if v.Title == "" {
		v.Title = v.Crumbs[len(v.Crumbs)-1]
	}
	if _, ok := webURL(h.URL); ok {
		v.URL = h.URL
	}
	if h.Snippet != nil {
		v.Snippet = spans(*h.Snippet, h.Marks)
	}
	if !h.Date.IsZero() {
		v.Date, v.Day = h.Date.UTC().Format(time.DateOnly), h.Date.UTC().Format("2 January 2006")
	}
	if h.Lang != "" {
		v.Facts = append(v.Facts, languageName(h.Lang))
	}
	if h.Type != "" && h.Type != "text/html" {
		v.Facts = append(v.Facts, typeName(h.Type))
	}
	if h.Size > 0 {
		v.Facts = append(v.Facts, humanize.IBytes(uint64(h.Size)))
	}
	for _, also := range h.Also[:min(len(h.Also), maxAlso)] {
		l := link{Text: short(clean(also), 4*maxCrumb)}
		if _, ok := webURL(also); ok {
			l.URL = also
		}
		v.Also = append(v.Also, l)
	}
	return v
}

// languageName is the name of a language, as people call it in English.
func languageName(code string) string {
	tag, err := language.Parse(code)
	if err != nil {
		return short(clean(code), maxCrumb)
	}
	if name := display.English.Languages().Name(tag); name != "" {
		return name
	}
	return clean(code)
}

// typeName is the name of a media type.
func typeName(media string) string {
	switch media {
	case "text/html":
		return "HTML"
	case "application/xhtml+xml":
		return "XHTML"
	case "text/plain":
		return "plain text"
	}
	return short(clean(media), maxCrumb)
}

// Facets that the page can narrow by, in their order, and how many values of each it lists.
var facetNames = []struct{ key, name string }{{"site", "Site"}, {"lang", "Language"}, {"type", "Type"}, {"year", "Year"}}

const maxFacet = 8

// narrowing is the filters by which an answer is narrowed to a value of a facet.
func narrowing(key, value string) map[string]string {
	if key == "year" {
		return map[string]string{"after": value + "-01-01", "before": value + "-12-31"}
	}
	return map[string]string{key: value}
}

// off are the filters of a facet, none set.
func off(key string) map[string]string {
	if key == "year" {
		return map[string]string{"after": "", "before": ""}
	}
	return map[string]string{key: ""}
}

// valueName is a value of a facet as people call it.
func valueName(key, value string) string {
	switch key {
	case "lang":
		return languageName(value)
	case "type":
		return typeName(value)
	}
	return short(clean(value), maxCrumb)
}

// facets lists what the answer can be narrowed by. A value that every page has is no choice.
func (v *view) facets(all map[string][]crawl.FacetValue) {
	for _, f := range facetNames {
		shown := facet{Name: f.name}
		for _, value := range all[f.key] {
			set := narrowing(f.key, value.Value)
			if len(shown.Values) == maxFacet {
				break
			}
			if value.Value == "" || !v.takes(set) {
				continue
			}
			c := choice{Text: valueName(f.key, value.Value), Count: humanize.Comma(value.Count), URL: v.Params.with(set).link("/search"), On: v.narrowed(set)}
			if c.On {
				c.URL = v.Params.with(off(f.key)).link("/search")
			}
			shown.Values = append(shown.Values, c)
		}
		if len(shown.Values) > 1 || len(shown.Values) == 1 && shown.Values[0].On {
			v.Facets = append(v.Facets, shown)
		}
	}
}

// takes reports whether filters can be set to these values.
func (v *view) takes(set map[string]string) bool {
	p := params{Filters: map[string]string{}}
	for name, value := range set {
		if p.set(name, value) != nil {
			return false
		}
	}
	return true
}

// narrowed reports whether the search is narrowed by just these values.
func (v *view) narrowed(set map[string]string) bool {
	for name, value := range set {
		if v.Params.Filters[name] != value {
			return false
		}
	}
	return true
}

// chipNames are what the filters are called where they can be taken off.
var chipNames = map[string]string{"site": "site", "lang": "language", "type": "type", "after": "from", "before": "until"}

// fill makes what follows from the parameters alone.
func (v *view) fill() {
	p := v.Params
	if after, before := p.Filters["after"], p.Filters["before"]; len(after) == len("2006-01-02") && v.narrowed(narrowing("year", after[:4])) && before != "" {
		v.Chips = append(v.Chips, choice{Text: "year: " + after[:4], URL: p.with(off("year")).link("/search")})
		p = p.with(off("year"))
	}
	for _, name := range filters {
		if value := p.Filters[name]; value != "" {
			v.Chips = append(v.Chips, choice{Text: chipNames[name] + ": " + valueName(name, value), URL: v.Params.with(map[string]string{name: ""}).link("/search")})
		}
	}
	if len(v.Chips) > 0 && v.Params.Q != "" {
		all := v.Params.at(1)
		all.Filters = nil
		v.WithoutURL = all.link("/search")
	}
}

// pages makes the links to other pages of the answer: those around this one, as far as is known.
func (v *view) pages(a *Answer) {
	v.Prev, v.Next = a.Links.Prev, a.Links.Next
	const around = 3
	last := int(min((a.Total+int64(a.PerPage)-1)/int64(a.PerPage), int64(maxHits/a.PerPage)))
	if v.Next != "" {
		last = max(last, a.Page+1)
	}
	for n := max(1, a.Page-around); n <= min(last, a.Page+around); n++ {
		v.Pages = append(v.Pages, choice{Text: humanize.Comma(int64(n)), URL: v.Params.at(n).link("/search"), On: n == a.Page})
	}
	if len(v.Pages) < 2 {
		v.Pages = nil
	}
}
