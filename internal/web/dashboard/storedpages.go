package dashboard

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/questions"
	"github.com/curtsy/curtsy/internal/web"
	"github.com/curtsy/curtsy/internal/web/search"
	"github.com/curtsy/curtsy/internal/webtext"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/microcosm-cc/bluemonday"
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

// cachedView is what cached.html shows.
type cachedView struct {
	crawl.PageRecord
	// Copy is the page without anything that acts, loads or leads elsewhere, for a frame that may
	// do nothing; "" if the page forbids that it is shown.
	Copy string
	Why  string // there is no copy
}

func (v cachedView) title() string { return "Stored text of " + text(v.URL, 80) }

// withheldWords are the reasons why the content of a page is not shown.
var withheldWords = map[string]string{
	"nosnippet": "The page forbids excerpts (nosnippet).",
	"noarchive": "The page forbids copies (noarchive).",
	"metadata":  "Only the page’s metadata is stored, not its content.",
	"alias":     "This is another address of a page that is stored under its main address.",
}

// copyHead makes the frame follow the page around it, light or dark.
const copyHead = `<meta name="color-scheme" content="light dark">`

// harmless accepts markup that makes text readable. It removes everything that loads, leads
// elsewhere, asks for input or looks different from the rest. Its policies may be used by many
// goroutines.
var harmless = func() *bluemonday.Policy {
	p := bluemonday.NewPolicy()
	p.AllowElements("h1", "h2", "h3", "h4", "h5", "h6", "p", "br", "hr", "div", "section", "article", "header", "footer", "main", "aside",
		"ul", "ol", "li", "dl", "dt", "dd", "blockquote", "pre", "code", "kbd", "samp", "var", "em", "strong", "b", "i", "u", "s", "sub", "sup", "small",
		"abbr", "cite", "q", "dfn", "span", "figure", "figcaption", "table", "caption", "thead", "tbody", "tfoot", "tr", "th", "td")
	p.AllowTables()
	p.SkipElementsContent("script", "style", "noscript", "template", "iframe", "object", "svg", "math", "select", "textarea", "title")
	return p
}()

func cached(ctx context.Context, c *asker.Crawl, r *request) (any, error) {
	asked := r.URL.Query().Get("url")
	if _, err := canon.Parse(asked); err != nil {
		return nil, web.Wrong("This is not a URL: %s.", text(asked, 120))
	}
	// The indexers decide whether a page may be shown.
	rec, found, err := c.Page(ctx, asked, "html")
	if !found {
		if err != nil {
			return nil, err
		}
		return nil, web.NotFound("No text of %s is stored.", text(asked, 120)).With("curtsy explain " + webtext.ShellWord(asked))
	}
	v := cachedView{PageRecord: rec}
	switch {
	case rec.Withheld != "":
		v.Why = withheldWords[rec.Withheld]
		if v.Why == "" {
			v.Why = "Its content cannot be shown."
		}
	case !rec.SnippetAllowed || rec.MaxSnippet > 0: // Withheld says the same
		v.Why = withheldWords["nosnippet"]
	default:
		if v.Copy = harmless.Sanitize(rec.HTML); v.Copy != "" {
			v.Copy = copyHead + v.Copy
		}
	}
	v.HTML, v.Text = "", ""
	return v, nil
}
