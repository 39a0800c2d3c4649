package search

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/query"
	"github.com/curtsy/curtsy/internal/web"
	"github.com/curtsy/curtsy/internal/webtext"
	"github.com/dustin/go-humanize"
	"golang.org/x/text/language"
	"golang.org/x/text/language/display"
)

// view is what search.html shows. All text from sites in it is clean.
type view struct {
	Name, Home string
	Bar        web.Bar
	MaxQuery   int
	HowToAsk   []example
	MoreToAsk  []string
	Params     params
	Problem    *web.Problem

	Asked      bool // there is an answer
	Total      string
	Hits       []hit
	Notes      []string // what to know of the answer
	Suggestion string
	SuggestURL string
	Corrected  string // the query that was answered instead of the one typed; "": none
	TypedURL   string // leads to the answer to the query as it was typed
	WithoutURL string // the same without filters; "" when there are none
	Chips      []choice
	Facets     []facet
	Pages      []choice // numbered; the one shown is On
	Prev, Next string
	ExplainURL string
	Like       string   // the page to which the hits are similar; "": they answer a query
	Words      bool     // the query has words, not only filters
	Sorts      []choice // the orders to choose from

	fields query.Schema
	answer *Answer // nil: there is none
}

// First is the place of the first hit shown, from 1.
func (v view) First() int { return (v.Params.Page-1)*v.Params.Per + 1 }

// hit is one line of the answer.
type hit struct {
	Title        string
	URL          string // "": it is not to be led to
	Section      link   // the section that answers best; without Text there is none
	Crumbs       []string
	Snippet      []span
	Date         string // 2006-01-02; "": not known
	Day          string // the same for people
	Facts        []string
	Fields       []ShownField
	About        string // the description that site rules found, if there is no snippet
	Also         []link
	Translations []translation
	Signals      []crawl.Signal
	Similar      string // leads to pages that are similar to this one; "": nowhere
	Score        float64
}

// translation leads to a page in another language, by the language's own name.
type translation struct{ Lang, Name, URL string }

// link is a link. If URL is "", it is only text.
type link struct{ Text, URL string }

// example is a form of queries, in one or more spellings, and what it finds.
type example struct {
	Typed []string
	Finds string
}

// choice is a link to the same search with one change.
type choice struct {
	Text  string
	Count string
	URL   string
	On    bool
}

// facet narrows a search by one property of pages.
type facet struct {
	Name   string
	Values []choice
}

// show fills in the answer.
func (v *view) show(a *Answer) {
	v.Asked = true
	v.Total = count(a.Total, "page")
	if a.AtLeast {
		v.Total = "at least " + v.Total
	}
	for _, h := range a.Hits {
		shown := shownHit(h)
		shown.Similar = v.Params.like(&h)
		v.Hits = append(v.Hits, shown)
	}
	if a.Loosened != "" {
		v.Notes = append(v.Notes, webtext.Short(webtext.Clean(a.Loosened), maxSnippet))
	}
	for _, n := range a.Notes {
		v.Notes = append(v.Notes, webtext.Short(webtext.Clean(n), maxSnippet))
	}
	if a.Incomplete {
		v.Notes = append(v.Notes, missing(a))
	}
	if a.Behind > 0 {
		v.Notes = append(v.Notes, "Search is "+count(a.Behind, "page")+" behind the crawl.")
	}
	if v.fields.Parse(v.Params.Q).Cut {
		v.Notes = append(v.Notes, "The query is too long. Only its beginning was used.")
	}
	if s := strings.TrimSpace(webtext.Clean(a.Suggestion)); s != "" && s != v.Params.Q && len(s) <= maxQuery {
		better := v.Params.at(1)
		better.Q, better.Verbatim = s, false
		v.Suggestion, v.SuggestURL = s, better.link("/search")
	}
	if s := strings.TrimSpace(webtext.Clean(a.Corrected)); s != "" && s != v.Params.Q {
		typed := v.Params.at(1)
		typed.Verbatim = true
		v.Corrected, v.TypedURL = webtext.Short(s, maxSnippet), typed.link("/search")
	}
	v.facets(a.Facets)
	if len(v.Hits) > 0 {
		v.sorts()
	}
	v.answer = a
	v.pages(a)
	other := v.Params
	other.Explain = !other.Explain
	v.ExplainURL = other.link("/search")
}

// missing is the note on an answer that lacks shards.
func missing(a *Answer) string {
	s := "Part of the crawl does not answer at the moment"
	if a.MissingPages > 0 {
		s += ", and with it " + count(a.MissingPages, "page")
	}
	if len(a.Missing) == 1 {
		return s + fmt.Sprintf(" (shard %s). The page shows the rest.", webtext.Numbers(a.Missing))
	}
	return s + fmt.Sprintf(" (shards %s). The page shows the rest.", webtext.Numbers(a.Missing))
}

// The most other addresses and translations of a hit that are shown.
const (
	maxAlso         = 20
	maxTranslations = 20
)

func shownHit(h crawl.Hit) hit {
	v := hit{Title: webtext.Short(strings.TrimSpace(webtext.Clean(h.Title)), maxTitle), Crumbs: crumbs(h.URL), Score: h.Score}
	if v.Title == "" {
		v.Title = v.Crumbs[len(v.Crumbs)-1]
	}
	if _, ok := webtext.URL(h.URL); ok {
		v.URL = h.URL
	}
	if h.Snippet != nil {
		v.Snippet = spans(*h.Snippet, h.Marks)
	}
	for _, g := range h.Signals {
		g.Name = webtext.Short(webtext.Clean(g.Name), maxCrumb)
		v.Signals = append(v.Signals, g)
	}
	if !h.Date.IsZero() {
		v.Date, v.Day = h.Date.UTC().Format(time.DateOnly), h.Date.UTC().Format("2 January 2006")
	}
	if h.Snippet == nil {
		v.About = webtext.Short(strings.TrimSpace(webtext.Clean(h.Description)), maxSnippet)
	}
	v.Fields = ShownFields(h.Fields)
	if h.Lang != "" {
		v.Facts = append(v.Facts, LanguageName(h.Lang))
	}
	if h.Type != "" && h.Type != "text/html" {
		v.Facts = append(v.Facts, typeName(h.Type))
	}
	if h.Size > 0 {
		v.Facts = append(v.Facts, plainSize(h.Size))
	}
	if h.Pinned {
		v.Facts = append(v.Facts, "pinned")
	}
	if h.Section != nil {
		v.Section.Text = webtext.Short(strings.TrimSpace(webtext.Clean(h.Section.Title)), maxTitle)
		if _, ok := webtext.URL(h.Section.URL); ok {
			v.Section.URL = h.Section.URL
		}
	}
	for _, t := range h.Translations[:min(len(h.Translations), maxTranslations)] {
		if _, ok := webtext.URL(t.URL); ok {
			v.Translations = append(v.Translations, translation{Lang: webtext.Clean(t.Lang), Name: ownName(t.Lang), URL: t.URL})
		}
	}
	for _, also := range h.Also[:min(len(h.Also), maxAlso)] {
		l := link{Text: webtext.Short(webtext.Clean(also), 4*maxCrumb)}
		if _, ok := webtext.URL(also); ok {
			l.URL = also
		}
		v.Also = append(v.Also, l)
	}
	return v
}

// LanguageName is the English name of a language.
func LanguageName(code string) string {
	tag, err := language.Parse(code)
	if err != nil {
		return webtext.Short(webtext.Clean(code), maxCrumb)
	}
	if name := display.English.Languages().Name(tag); name != "" {
		return name
	}
	return webtext.Clean(code)
}

// ownName is the name of a language in that language.
func ownName(code string) string {
	tag, err := language.Parse(code)
	if err == nil {
		if name := display.Self.Name(tag); name != "" {
			return name
		}
	}
	return LanguageName(code)
}

// plainSize is a number of bytes, without a fraction that is 0.
func plainSize(n int64) string {
	return strings.Replace(humanize.IBytes(uint64(n)), ".0", "", 1)
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
	case "text/markdown":
		return "Markdown"
	}
	return webtext.Short(webtext.Clean(media), maxCrumb)
}

// The facets of the page in their order, and how many values of each it lists.
var facetNames = []facetName{{"site", "Site"}, {"lang", "Language"}, {"type", "Type"}, {"year", "Year"}}

const maxFacet = 8

type facetName struct{ key, name string }

// valueName is the usual name of a value of a facet.
func valueName(key, value string) string {
	switch key {
	case "lang":
		return LanguageName(value)
	case "type":
		return typeName(value)
	}
	return webtext.Short(webtext.Clean(value), maxCrumb)
}

// facets lists what the answer can be narrowed by. A value that all hits have is not offered.
func (v *view) facets(all map[string][]crawl.FacetValue) {
	asked := v.fields.Parse(v.Params.Q)
	names := facetNames
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if _, ok := v.fields[name]; ok {
			names = append(names, facetName{name, fieldName(name)})
		}
	}
	for _, f := range names {
		shown := facet{Name: f.name}
		for _, value := range all[f.key] {
			if len(shown.Values) == maxFacet {
				break
			}
			narrow := v.fields.Parse("").With(f.key, value.Value)
			if narrow.Empty() {
				continue // the query language has no filter for it
			}
			c := choice{Text: valueName(f.key, value.Value), Count: humanize.Comma(value.Count)}
			to := asked.With(f.key, value.Value)
			without := asked.Without(f.key, value.Value)
			// One of several values is on, too. A year is when both of its days are.
			c.On = to.String() == asked.String() || f.key != "year" && without.String() != asked.String()
			if c.On {
				to = without
			}
			c.URL = v.Params.with(to).link("/search")
			shown.Values = append(shown.Values, c)
		}
		if len(shown.Values) > 1 || len(shown.Values) == 1 && shown.Values[0].On {
			v.Facets = append(v.Facets, shown)
		}
	}
}

// fill fills in what follows from the query alone: the filters in it, and the same query without
// them.
func (v *view) fill() {
	asked := v.fields.Parse(v.Params.Q)
	without := asked
	v.Words = len(asked.Groups) > 0
	add := func(text, filter, value string) {
		v.Chips = append(v.Chips, choice{Text: text, URL: v.Params.with(asked.Without(filter, value)).link("/search")})
		without = without.Without(filter, value)
	}
	if v.Params.Like != "" {
		v.Like = webtext.Short(webtext.Clean(v.Params.Like), 4*maxCrumb)
		without := v.Params.at(1)
		without.Like = ""
		v.Chips = append(v.Chips, choice{Text: "similar to: " + v.Like, URL: without.link("/search")})
	}
	f := &asked.Filters
	for _, kind := range []struct {
		filter, name string
		values, not  []string
	}{
		{"site", "site", f.Sites, f.NotSites}, {"inurl", "in the address", f.InURL, f.NotInURL}, {"lang", "language", f.Langs, f.NotLangs}, {"type", "type", f.Types, f.NotTypes},
	} {
		for _, value := range kind.values {
			add(kind.name+": "+valueName(kind.filter, value), kind.filter, value)
		}
		for _, value := range kind.not {
			add("not "+kind.name+": "+valueName(kind.filter, value), "-"+kind.filter, value)
		}
	}
	for _, field := range f.Fields {
		if field.Not {
			add("not "+fieldName(field.Name)+": "+v.spelled(field), "-"+field.Name, field.Text)
		} else {
			add(fieldName(field.Name)+": "+v.spelled(field), field.Name, field.Text)
		}
	}
	switch {
	case !f.After.IsZero() && f.After.YearDay() == 1 && f.Before.Equal(f.After.AddDate(1, 0, 0)):
		add("year: "+f.After.Format("2006"), "year", "")
	default:
		if !f.After.IsZero() {
			add("since "+f.After.Format("2 January 2006"), "after", "")
		}
		if !f.Before.IsZero() {
			add("before "+f.Before.Format("2 January 2006"), "before", "")
		}
	}
	if len(v.Chips) > 0 && v.Words {
		v.WithoutURL = v.Params.with(without).link("/search")
	}
}

// spelled is the value of a filter by a field. In the query it has no upper-case letters; here it
// is written as pages of the answer have it.
func (v *view) spelled(f query.FieldFilter) string {
	written := f.Text
	note := func(value string) {
		if query.Fold(value) == f.Text {
			written = value
		}
	}
	if v.answer != nil {
		for _, hit := range v.answer.Hits {
			for _, value := range hit.Fields.Get(f.Name) {
				note(value)
			}
		}
		for _, value := range v.answer.Facets[f.Name] {
			note(value.Value)
		}
	}
	return valueName("", written)
}

// pages makes the links to the pages of the answer around this one, as far as they are known.
func (v *view) pages(a *Answer) {
	v.Prev, v.Next = a.Links.Prev, a.Links.Next
	const around = 3
	last := int(min((a.Total+int64(a.PerPage)-1)/int64(a.PerPage), int64(maxHits/a.PerPage)))
	if v.Next != "" {
		last = max(last, a.Page+1)
	} else {
		last = a.Page // whatever the total is, there are no more hits
	}
	for n := max(1, a.Page-around); n <= min(last, a.Page+around) && v.Params.reaches(n); n++ {
		v.Pages = append(v.Pages, choice{Text: humanize.Comma(int64(n)), URL: v.Params.at(n).link("/search"), On: n == a.Page})
	}
	if len(v.Pages) < 2 {
		v.Pages = nil
	}
}
