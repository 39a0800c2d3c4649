package indexer

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/pkg/canon"
)

// request is what questions ask with; each reads what it needs.
type request struct {
	URL    string `json:"url"`    // page, data-rule
	Query  string `json:"query"`  // search
	Limit  int    `json:"limit"`  // search
	What   string `json:"what"`   // export: pages or links
	Format string `json:"format"` // export
	All    bool   `json:"all"`    // page, export: content also of pages that ask for it not to be shown
}

// handle announces the questions this indexer answers for the shards it holds:
//
//	pages           crawl.PageInfo, one for each page
//	page            the Record of one URL, or nothing
//	search          crawl.SearchAnswer, one for each shard
//	export          what Export writes: strings to be written as they are, or objects to be written one a line
//	datasets        crawl.DatasetClaim, what every document says of every dataset; catalog.Merge puts them together
//	data-rule       crawl.DataRule, what in a data.txt closes one URL to fetches of datasets, or nothing
//	indexer-status  crawl.IndexerStatus
func (x *Indexer) handle(svc *ask.Service) error {
	for question, h := range map[string]func(ctx context.Context, r request, send func(any) error) error{
		"pages": func(ctx context.Context, _ request, send func(any) error) error {
			return eachPage(x.parts(), func(info crawl.PageInfo) error { return send(info) })
		},
		"page": func(ctx context.Context, r request, send func(any) error) error {
			rec, ok, err := onePage(x.parts(), r, maxSent)
			if !ok || err != nil {
				return err
			}
			return send(rec)
		},
		"search": func(ctx context.Context, r request, send func(any) error) error {
			for _, p := range x.parts() {
				a, err := p.search(ctx, r.Query, r.Limit, x.o.Search)
				if p.gone.Load() {
					continue // the asker is told that the shard was not answered for
				}
				if err != nil {
					return err
				}
				if err := send(a); err != nil {
					return err
				}
			}
			return nil
		},
		"export": func(ctx context.Context, r request, send func(any) error) error {
			return exportParts(ctx, x.parts(), r, maxSent, send)
		},
		"datasets": func(ctx context.Context, _ request, send func(any) error) error {
			return eachClaim(x.parts(), x.token(), func(c crawl.DatasetClaim) error { return sendClaim(c, maxSent/2, send) })
		},
		"data-rule": func(_ context.Context, r request, send func(any) error) error {
			return dataRule(x.parts(), x.token(), r.URL, func(rule crawl.DataRule) error { return send(rule) })
		},
		"indexer-status": func(ctx context.Context, _ request, send func(any) error) error { return send(x.Status()) },
	} {
		err := svc.Handle(question, x.ids, func(ctx context.Context, req []byte, send func(any) error) error {
			var r request
			if len(req) > 0 {
				if err := json.Unmarshal(req, &r); err != nil {
					return fmt.Errorf("%s: %w", question, err)
				}
			}
			return h(ctx, r, send)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// parts are the shards held now, to be read from.
func (x *Indexer) parts() []part {
	var all []part
	for _, s := range x.held() {
		all = append(all, s.part)
	}
	return all
}

// eachPage calls fn for every page that may be shown now, shard by shard, within one by host.
func eachPage(parts []part, fn func(crawl.PageInfo) error) error {
	now := time.Now()
	for _, p := range parts {
		err := p.store.Each(func(page pages.Page) error {
			if page.Expired(now) || p.hidden(page.URL) {
				return nil
			}
			return fn(p.info(&page))
		})
		if err != nil && !p.gone.Load() {
			return err
		}
	}
	return nil
}

// onePage finds the page of a URL, which need not be spelled canonically. It comes with its content, unless it asks not
// to be quoted or copied and the asker does not take that on himself. Of an alias whose copy is not kept it says only what it is.
func onePage(parts []part, r request, limit int) (rec Record, ok bool, err error) {
	u, err := canon.Parse(r.URL)
	if err != nil {
		return rec, false, fmt.Errorf("page %q: %w", r.URL, err)
	}
	for _, p := range parts {
		page, ok, err := p.store.Get(u)
		if p.gone.Load() {
			continue
		}
		if err != nil {
			return rec, false, err
		}
		if p.hidden(u) || ok && page.Expired(time.Now()) {
			continue
		}
		if !ok {
			if main, err := p.store.AliasOf(u); err == nil && main != "" && !p.hidden(main) {
				return Record{PageInfo: crawl.PageInfo{URL: string(u), AliasOf: string(main)}, Withheld: "alias"}, true, nil
			}
			continue
		}
		e := exporter{limit: limit}
		rec = e.record(p, &page, "html", r.All)
		if page.Directives&crawl.NoArchive != 0 && !r.All {
			rec.HTML, rec.Cut, rec.Withheld = "", false, "noarchive"
		}
		return rec, true, nil
	}
	return rec, false, nil
}

// search asks the part's index.
func (p part) search(ctx context.Context, query string, limit int, searching bool) (crawl.SearchAnswer, error) {
	if index := p.index.Load(); index != nil {
		return index.Search(ctx, query, limit)
	}
	return crawl.SearchAnswer{Hits: []crawl.Hit{}, Behind: p.behind(searching)}, nil
}
