package indexer

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/internal/questions"
)

// pagesPage sends a page of the list of stored pages, the newest first. It looks at the newest
// crawl.MaxPagesListed pages of each shard, so that the list of a large crawl takes a bounded time.
func (a answers) pagesPage(ctx context.Context, q crawl.PagesQuery, send func(questions.Part[crawl.PageLine]) error) error {
	filter, now := newPagesFilter(&q), time.Now()
	for _, p := range a.parts() {
		top, err := questions.PagesPage.Top(q)
		if err != nil {
			return err
		}
		sum, taken := questions.Sum{Counts: map[string]int64{}}, 0
		all, err := p.store.Feed().EachNewest(cmp.Or(a.newest, crawl.MaxPagesListed), func(page *pages.Page) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			if page.Expired(now) || p.hidden(page.URL) {
				return nil
			}
			sum.Total++
			if !filter.match(page, &sum) {
				return nil
			}
			sum.Matched++
			if top.Add(lineOf(page)) {
				taken++
			}
			if q.Brief && taken > q.Offset+q.Limit {
				return pages.ErrEnough
			}
			return nil
		})
		if p.gone.Load() {
			continue // the asker learns that there is no answer for this shard
		}
		if err != nil {
			return err
		}
		if !all && !q.Brief {
			sum.Counts[crawl.CountPartial]++
		}
		if err := top.Send(p.id, sum, send); err != nil {
			return err
		}
	}
	return nil
}

// lineOf returns a page as a line of the list.
func lineOf(p *pages.Page) crawl.PageLine {
	_, fields := p.RuledExcerpt()
	return crawl.PageLine{URL: string(p.URL), Title: p.Title, Type: p.ContentType, Lang: p.Lang, Size: p.Size, StoredAt: p.Changed, FetchedAt: p.FetchedAt,
		Fields: fields.Brief()}
}

// pagesFilter selects the pages that a query asks for.
type pagesFilter struct {
	host, kind, lang string
	words            []string
	brief            bool
}

func newPagesFilter(q *crawl.PagesQuery) *pagesFilter {
	return &pagesFilter{host: strings.ToLower(q.Host), kind: strings.ToLower(q.Type), lang: strings.ToLower(q.Lang), words: strings.Fields(strings.ToLower(q.Title)), brief: q.Brief}
}

// Prefixes of the names of counts. A page is counted if it passes all filters except the one by the
// property that is counted.
const (
	countType = "type:"
	countLang = "lang:"
)

// match reports whether a page is selected, and counts it by its type and its language.
func (f *pagesFilter) match(p *pages.Page, sum *questions.Sum) bool {
	if f.host != "" && !strings.Contains(p.URL.Host().String(), f.host) {
		return false
	}
	if len(f.words) > 0 {
		text := strings.ToLower(p.Title + " " + string(p.URL))
		for _, w := range f.words {
			if !strings.Contains(text, w) {
				return false
			}
		}
	}
	kind, lang := crawl.PageTypeOther, p.Lang
	if names := crawl.TypeOf(p.ContentType).Names(); len(names) > 0 {
		kind = names[0]
	}
	if lang == "" {
		lang = crawl.PageLangNone
	}
	isKind, isLang := f.kind == "" || f.kind == kind || f.kind == p.ContentType, f.lang == "" || f.lang == lang
	if !f.brief {
		if isLang {
			sum.Counts[countType+kind]++
		}
		if isKind {
			sum.Counts[countLang+lang]++
		}
	}
	return isKind && isLang
}

// prefixPages sends the number of stored pages that an entry of Spec.Forgotten names.
func (a answers) prefixPages(_ context.Context, r questions.PrefixRequest, send func(crawl.PrefixCount) error) error {
	n, entry := int64(0), r.URL
	whole := !strings.Contains(entry, "://")
	for _, p := range a.parts() {
		err := p.store.EachOfHost(crawl.EntryHost(entry), func(page pages.Page) error {
			if whole || strings.HasPrefix(string(page.URL), entry) {
				n++
			}
			return nil
		})
		if err != nil && !p.gone.Load() {
			return err
		}
	}
	return send(crawl.PrefixCount{Pages: n})
}
