package look

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/cmd/curtsy/internal/term"
	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/query"
	"github.com/dustin/go-humanize"
)

// printReading prints how a query was understood, if not as it was typed, and what may have been
// meant.
func (a *commands) printReading(ans crawl.SearchAnswer) {
	for _, n := range ans.Notes {
		fmt.Fprintln(a.Stderr, term.Clean(n))
	}
	if ans.Loosened != "" {
		fmt.Fprintln(a.Stderr, term.Clean(ans.Loosened))
	}
	if ans.Corrected != "" {
		fmt.Fprintf(a.Stderr, "showing results for %s; --verbatim searches as typed\n", term.Clean(ans.Corrected))
	}
	if ans.Suggestion != "" {
		fmt.Fprintln(a.Stderr, "did you mean:", term.Clean(ans.Suggestion))
	}
}

// printAnswer prints a search result for people: hits and facets on standard output, and their
// number on standard error.
func (a *commands) printAnswer(ans crawl.SearchAnswer, o asking, fields query.Schema) {
	PrintHits(a.App, ans, o.offset)
	if o.facets {
		printFacets(a.Stdout, ans.Facets, fields)
	}
	if len(ans.Hits) > 0 {
		fmt.Fprintln(a.Stderr, extent(ans, o))
	}
}

// PrintHits prints hits; the first has the number offset+1.
func PrintHits(a *app.App, ans crawl.SearchAnswer, offset int) {
	on, off := bold(a.Stdout)
	for i, h := range ans.Hits {
		fmt.Fprintf(a.Stdout, "%d. %s\n   %s\n", offset+i+1, cmp.Or(term.Clean(h.Title), "(no title)"), term.Clean(h.URL))
		if h.Section != nil {
			fmt.Fprintf(a.Stdout, "   section %s: %s\n", term.Short(term.Clean(h.Section.Title), maxFieldShown), term.Clean(h.Section.URL))
		}
		var says []string
		if !h.Date.IsZero() {
			says = append(says, h.Date.UTC().Format(time.DateOnly))
		}
		if h.Snippet != nil {
			if s := term.CleanMarked(*h.Snippet, h.Marks, on, off); s != "" {
				says = append(says, s)
			}
		}
		if h.Snippet == nil && h.Description != "" {
			says = append(says, term.Short(term.Clean(h.Description), 200))
		}
		if len(says) > 0 {
			fmt.Fprintf(a.Stdout, "   %s\n", strings.Join(says, " · "))
		}
		if line := FieldsLine(h.Fields); line != "" {
			fmt.Fprintf(a.Stdout, "   %s\n", line)
		}
		if len(h.Also) > 0 {
			fmt.Fprintf(a.Stdout, "   also at %s\n", term.Clean(strings.Join(h.Also, " ")))
		}
		if len(h.Translations) > 0 {
			var also []string
			for _, t := range h.Translations {
				also = append(also, term.Clean(t.Lang+" "+t.URL))
			}
			fmt.Fprintf(a.Stdout, "   also in %s\n", strings.Join(also, ", "))
		}
		printSignals(a.Stdout, h)
	}
	if len(ans.Hits) == 0 {
		fmt.Fprintln(a.Stderr, "nothing found")
	}
	if ans.Behind > 0 {
		fmt.Fprintf(a.Stderr, "the index is %s behind the crawl\n", term.Count(ans.Behind, "page"))
	}
}

// printSignals prints how the rank of a hit was computed, if that was asked for.
func printSignals(w io.Writer, h crawl.Hit) {
	if len(h.Signals) == 0 {
		return
	}
	number := func(f float64) string { return strconv.FormatFloat(f, 'f', 3, 64) }
	t := term.NewTable(w, "", "SIGNAL", "VALUE", "WEIGHT", "POINTS")
	for _, s := range h.Signals {
		t.Row("", s.Name, number(s.Value), number(s.Weight), number(s.Points))
	}
	t.Row("", "score", "", "", number(h.Score))
	t.Flush()
}

// printFacets prints the filters that narrow an answer, in the form in which they are typed.
func printFacets(w io.Writer, facets map[string][]crawl.FacetValue, fields query.Schema) {
	order := []string{"site", "lang", "type", "year"}
	var names []string
	for name, values := range facets {
		if len(values) > 0 {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		// A name without a place in the order comes last.
		return cmp.Or(cmp.Compare(uint(slices.Index(order, a)), uint(slices.Index(order, b))), cmp.Compare(a, b))
	})
	if len(names) == 0 {
		return
	}
	t := term.NewTable(w, "NARROW BY", "PAGES")
	for _, name := range names {
		for _, v := range facets[name] {
			t.Row(cmp.Or(fields.Typed(name, v.Value), name+" "+v.Value), humanize.Comma(v.Count))
		}
	}
	t.Flush()
}

// extent describes which of how many hits are shown, and how to get the next.
func extent(ans crawl.SearchAnswer, o asking) string {
	end := o.offset + len(ans.Hits)
	if o.cursor != "" {
		s := term.Count(int64(end), "page") + " more"
		if ans.Next != "" {
			s += "; the next: --cursor " + term.Clean(ans.Next)
		}
		return s
	}
	if !ans.AtLeast && ans.Next == "" && ans.Total <= int64(end) {
		if o.offset == 0 {
			return term.Count(int64(end), "page")
		}
		return fmt.Sprintf("%d to %d of %s", o.offset+1, end, term.Count(int64(end), "page"))
	}
	about := "about"
	if ans.AtLeast {
		about = "at least"
	}
	s := fmt.Sprintf("%d to %d of %s %s", o.offset+1, end, about, term.Count(max(ans.Total, int64(end)), "page"))
	switch {
	case ans.Next == "":
		return s
	case end+o.limit > deepest:
		return s + "; the next: --cursor " + term.Clean(ans.Next)
	case o.offset%o.limit == 0:
		return s + fmt.Sprintf("; the next: --page %d", end/o.limit+1)
	}
	return s + fmt.Sprintf("; the next: --offset %d", end)
}

// bold begins and ends bold text: nothing if w is no terminal, or if NO_COLOR is set
// (no-color.org).
func bold(w io.Writer) (on, off string) {
	if !config.Terminal(w) || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return "", ""
	}
	return "\x1b[1m", "\x1b[0m"
}
