package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/query"
	"github.com/dustin/go-humanize"
)

// printReading says how a query was read otherwise than it was typed, or might be.
func (a *app) printReading(ans crawl.SearchAnswer) {
	if ans.Loosened != "" {
		fmt.Fprintln(a.stderr, clean(ans.Loosened))
	}
	if ans.Suggestion != "" {
		fmt.Fprintln(a.stderr, "did you mean:", clean(ans.Suggestion))
	}
}

// printAnswer shows a person what a search found: hits and facets on standard output, and how many
// there are on standard error.
func (a *app) printAnswer(ans crawl.SearchAnswer, o asking) {
	a.printHits(ans, o.offset)
	if o.facets {
		printFacets(a.stdout, ans.Facets)
	}
	if len(ans.Hits) > 0 {
		fmt.Fprintln(a.stderr, extent(ans, o))
	}
}

// printHits shows hits, the first as number offset+1.
func (a *app) printHits(ans crawl.SearchAnswer, offset int) {
	on, off := bold(a.stdout)
	for i, h := range ans.Hits {
		fmt.Fprintf(a.stdout, "%d. %s\n   %s\n", offset+i+1, cmp.Or(clean(h.Title), "(no title)"), clean(h.URL))
		var says []string
		if !h.Date.IsZero() {
			says = append(says, h.Date.UTC().Format(time.DateOnly))
		}
		if h.Snippet != nil {
			if s := cleanMarked(*h.Snippet, h.Marks, on, off); s != "" {
				says = append(says, s)
			}
		}
		if len(says) > 0 {
			fmt.Fprintf(a.stdout, "   %s\n", strings.Join(says, " · "))
		}
		if len(h.Also) > 0 {
			fmt.Fprintf(a.stdout, "   also at %s\n", clean(strings.Join(h.Also, " ")))
		}
		printSignals(a.stdout, h)
	}
	if len(ans.Hits) == 0 {
		fmt.Fprintln(a.stderr, "nothing found")
	}
	if ans.Behind > 0 {
		fmt.Fprintf(a.stderr, "the index is %s behind the crawl\n", count(ans.Behind, "page"))
	}
}

// printSignals says what the place of a hit rests on, if that was asked for.
func printSignals(w io.Writer, h crawl.Hit) {
	if len(h.Signals) == 0 {
		return
	}
	number := func(f float64) string { return strconv.FormatFloat(f, 'f', 3, 64) }
	t := newTable(w, "", "SIGNAL", "VALUE", "WEIGHT", "POINTS")
	for _, s := range h.Signals {
		t.row("", s.Name, number(s.Value), number(s.Weight), number(s.Points))
	}
	t.row("", "score", "", "", number(h.Score))
	t.flush()
}

// printFacets lists the filters by which an answer can be narrowed, as they are typed.
func printFacets(w io.Writer, facets map[string][]crawl.FacetValue) {
	order := []string{"site", "lang", "type", "year"}
	var names []string
	for name, values := range facets {
		if len(values) > 0 {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		// A name that is not in order comes behind all that are.
		return cmp.Or(cmp.Compare(uint(slices.Index(order, a)), uint(slices.Index(order, b))), cmp.Compare(a, b))
	})
	if len(names) == 0 {
		return
	}
	t := newTable(w, "NARROW BY", "PAGES")
	for _, name := range names {
		for _, v := range facets[name] {
			typed := query.Query{}.With(name, v.Value).String()
			t.row(cmp.Or(typed, name+" "+v.Value), humanize.Comma(v.Count))
		}
	}
	t.flush()
}

// extent says which of how many pages are shown, and how the next are asked for.
func extent(ans crawl.SearchAnswer, o asking) string {
	end := o.offset + len(ans.Hits)
	if !ans.AtLeast && ans.Total <= int64(end) {
		if o.offset == 0 {
			return count(int64(end), "page")
		}
		return fmt.Sprintf("%d to %d of %s", o.offset+1, end, count(int64(end), "page"))
	}
	about := "about"
	if ans.AtLeast {
		about = "at least"
	}
	s := fmt.Sprintf("%d to %d of %s %s", o.offset+1, end, about, count(max(ans.Total, int64(end)), "page"))
	switch {
	case len(ans.Hits) < o.limit || end+o.limit > deepest:
		return s
	case o.offset%o.limit == 0:
		return s + fmt.Sprintf("; the next: --page %d", end/o.limit+1)
	}
	return s + fmt.Sprintf("; the next: --offset %d", end)
}

// bold is what begins and ends what stands out: nothing unless w is a terminal, or where NO_COLOR
// is set (no-color.org).
func bold(w io.Writer) (on, off string) {
	if !config.Terminal(w) || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return "", ""
	}
	return "\x1b[1m", "\x1b[0m"
}
