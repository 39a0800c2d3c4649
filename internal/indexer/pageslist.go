package indexer

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/internal/paging"
)

// pagesPage sends a part of the list of stored pages, the newest first. It reads the newest
// crawl.MaxPagesListed pages of each shard, so that the list of a large crawl takes a limited time.
func (a answers) pagesPage(ctx context.Context, req []byte, send func(any) error) error {
	var q crawl.PagesQuery
	if err := json.Unmarshal(req, &q); err != nil {
		return fmt.Errorf("pages-page: %w", err)
	}
	filter, now := newPagesFilter(&q), time.Now()
	for _, p := range a.parts() {
		top, err := paging.New[crawl.PageLine](q.Paging, crawl.PageSorts...)
		if err != nil {
			return err
		}
		sum, taken := paging.Sum{Counts: map[string]int64{}}, 0
		all, err := p.store.EachNewest(cmp.Or(a.newest, crawl.MaxPagesListed), func(page *pages.Page) error {
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
			k := paging.Key{N: float64(page.Changed.UnixMilli()), ID: string(page.URL)}
			if top.Wants(&k) {
				top.Add(k, lineOf(page))
				taken++
			}
			if q.Brief && taken > q.Offset+q.Limit {
				return pages.ErrEnough
			}
			return nil
		})
		if p.gone.Load() {
			continue // the response lists this shard as missing
		}
		if err != nil {
			return err
		}
		if !all && !q.Brief { // a brief list does not report it
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
	return crawl.PageLine{URL: string(p.URL), Title: p.Title, Type: p.ContentType, Lang: p.Lang, Size: p.Size, StoredAt: p.Changed, FetchedAt: p.FetchedAt}
}

// pagesFilter selects the pages that a query requests.
type pagesFilter struct {
	host, kind, lang string
	words            []string
	brief            bool
}

func newPagesFilter(q *crawl.PagesQuery) *pagesFilter {
	return &pagesFilter{host: strings.ToLower(q.Host), kind: strings.ToLower(q.Type), lang: strings.ToLower(q.Lang), words: strings.Fields(strings.ToLower(q.Title)), brief: q.Brief}
}

// Prefixes of the counts of a list of pages: of the pages that the other filters select.
const (
	countType = "type:"
	countLang = "lang:"
)

// match reports whether a page is selected, and counts it by its type and its language.
func (f *pagesFilter) match(p *pages.Page, sum *paging.Sum) bool {
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
