package dashboard

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/questions"
	"github.com/curtsy/curtsy/internal/web/search"
)

// storedPagesView is what pages.html shows.
type storedPagesView struct {
	crawl.Paged[crawl.PageLine]
	cursorLinks
	Q, Host, Type, Lang string
	Types, Langs        []pageChoice
	Partial             int // the list has so many pages of a shard, and not all; 0: it has all
}

// pageChoice is a value by which the list can be narrowed, and the number of pages with it.
type pageChoice struct {
	Value, Text string
	N           int64
}

// storedPages lists the stored pages, the newest first.
func storedPages(ctx context.Context, c *asker.Crawl, r *request) (any, error) {
	q := crawl.PagesQuery{Title: r.field("q"), Host: r.field("host"), Type: r.field("type"), Lang: r.field("lang")}
	q.After, q.Limit = r.URL.Query().Get("after"), perPage
	rows, err := questions.PagesPage.Ask(ctx, c, q)
	v := storedPagesView{Paged: rows, cursorLinks: linksOf(r, rows.Next), Q: q.Title, Host: q.Host, Type: q.Type, Lang: q.Lang}
	v.Types = choicesOf(rows.Counts, "type:", v.Type, func(s string) string { return s })
	v.Langs = choicesOf(rows.Counts, "lang:", v.Lang, langName)
	if rows.Counts[crawl.CountPartial] > 0 {
		v.Partial = crawl.MaxPagesListed
	}
	return v, listProblem(err, q.After, "")
}

// choicesOf are the values that were counted under a prefix, the most frequent first. The chosen
// value is always among them.
func choicesOf(counts map[string]int64, prefix, chosen string, name func(string) string) (all []pageChoice) {
	there := chosen == ""
	for key, n := range counts {
		if value, ok := strings.CutPrefix(key, prefix); ok {
			all = append(all, pageChoice{value, name(value), n})
			there = there || value == chosen
		}
	}
	if !there {
		all = append(all, pageChoice{Value: chosen, Text: name(chosen)})
	}
	slices.SortFunc(all, func(a, b pageChoice) int { return cmp.Or(cmp.Compare(b.N, a.N), strings.Compare(a.Value, b.Value)) })
	all, _ = cut(all, choicesKept)
	return all
}

// langName is what people call a language.
func langName(code string) string {
	if code == crawl.PageLangNone {
		return "not known"
	}
	return search.LanguageName(code)
}
