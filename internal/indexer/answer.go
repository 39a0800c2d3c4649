package indexer

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/internal/search"
	"github.com/curtsy/curtsy/pkg/canon"
)

// request is what questions ask with; each reads what it needs.
type request struct {
	URL string `json:"url"` // page, quoting, data-rule
	// Of search, which asks in steps: see search.Run.
	Step    search.Step  `json:"step,omitempty"`
	Plan    *search.Plan `json:"plan,omitempty"`    // all but search.StepSimilar
	Words   []string     `json:"words,omitempty"`   // search.StepSimilar
	N       int          `json:"n,omitempty"`       // search.StepRank: hits wanted
	Explain bool         `json:"explain,omitempty"` // search.StepRank
	URLs    []string     `json:"urls,omitempty"`    // search.StepShow

	What string `json:"what"` // export, as in crawl.ExportQuery
	// Of export; of page: text, html or markdown, as which its content comes, html unless it says
	// otherwise.
	Format     string    `json:"format"`
	For        []string  `json:"for,omitempty"`         // export
	UnknownToo bool      `json:"unknown_too,omitempty"` // export
	ChunkSize  int       `json:"chunk_size,omitempty"`  // export
	Since      time.Time `json:"since,omitzero"`        // export
	// Page, export: content also of pages that ask for it not to be shown.
	All bool `json:"all"`
}

// answers are the handlers of the questions an indexer answers. The same handlers run behind NATS,
// over the shards an Indexer holds, and directly, over the files that a Reader has opened.
type answers struct {
	parts     func() []part
	status    func() crawl.IndexerStatus
	token     func() string // by which records of a data.txt are chosen
	searching bool
	metrics   *metrics // nil: nobody watches
	// newest is how many pages of a shard a list of pages is made of; 0: crawl.MaxPagesListed.
	newest int
	limit  int // bytes of JSON that one object of an answer may have; 0: any
}

// handlers are the questions by name:
//
//	pages           crawl.PageInfo, one for each page
//	pages-page      a paging.Part of crawl.PageLine, for a crawl.PagesQuery
//	pages-under     crawl.Under, how many pages of a host, or below a URL
//	page            the Record of one URL, or nothing
//	quoting         crawl.QuoteLimit, what limits the excerpts of one URL's page
//	search          by its step: search.Terms or search.Ranked, one for each shard; search.Similar,
//	                one for each word and shard; crawl.Hit, those of the URLs that may be shown
//	export          strings to be written as they are, objects one a line, a crawl.LeftOut
//	datasets        crawl.DatasetClaim, what each document says (see catalog.Merge)
//	data-rule       crawl.DataRule, what in a data.txt closes one URL, or nothing
//	indexer-status  crawl.IndexerStatus
func (a answers) handlers() ask.Handlers {
	all := ask.Handlers{}
	for question, h := range map[string]func(ctx context.Context, r request, send func(any) error) error{
		"pages":       a.pages,
		"pages-under": a.prefixPages,
		"page": func(ctx context.Context, r request, send func(any) error) error {
			rec, ok, err := a.page(r)
			if !ok || err != nil {
				return err
			}
			return send(rec)
		},
		"quoting": a.quoting,
		"search":  a.search,
		"export":  a.export,
		"datasets": func(ctx context.Context, _ request, send func(any) error) error {
			return a.eachClaim(func(c crawl.DatasetClaim) error { return sendClaim(c, a.limit/2, send) })
		},
		"data-rule":      a.dataRule,
		"indexer-status": func(ctx context.Context, _ request, send func(any) error) error { return send(a.status()) },
	} {
		all[question] = func(ctx context.Context, req []byte, send func(any) error) error {
			var r request
			if len(req) > 0 {
				if err := json.Unmarshal(req, &r); err != nil {
					return fmt.Errorf("%s: %w", question, err)
				}
			}
			return h(ctx, r, send)
		}
	}
	all["pages-page"] = a.pagesPage // it has a request of its own
	return all
}

// answers are this indexer's, for the shards it holds.
func (x *Indexer) answers() answers {
	return answers{parts: x.parts, status: x.Status, token: x.token, searching: x.o.Search, metrics: x.metrics, limit: maxSent}
}

// parts are the shards held now, to be read from.
func (x *Indexer) parts() []part {
	var all []part
	for _, s := range x.ownShards() {
		all = append(all, s.part)
	}
	return all
}

// pages sends every page that may be shown now, shard by shard, within one by host.
func (a answers) pages(_ context.Context, _ request, send func(any) error) error {
	now := time.Now()
	for _, p := range a.parts() {
		err := p.store.Each(func(page pages.Page) error {
			if page.Expired(now) || p.hidden(page.URL) {
				return nil
			}
			return send(p.info(&page))
		})
		if err != nil && !p.gone.Load() {
			return err
		}
	}
	return nil
}

// page finds the page of a URL, which need not be spelled canonically. It comes with its content,
// unless it asks not to be quoted or copied and the asker does not take that on himself. Of an
// alias whose copy is not kept it says only what it is.
func (a answers) page(r request) (rec Record, ok bool, err error) {
	u, err := canon.Parse(r.URL)
	if err != nil {
		return rec, false, fmt.Errorf("page %q: %w", r.URL, err)
	}
	for _, p := range a.parts() {
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
		e := exporter{limit: a.limit}
		rec = e.record(p, &page, cmp.Or(r.Format, "html"), r.All)
		return rec, true, nil
	}
	return rec, false, nil
}

// search answers one step of a search.
func (a answers) search(ctx context.Context, r request, send func(any) error) (err error) {
	if a.metrics != nil {
		began := time.Now()
		defer func() { a.metrics.searched(ctx, r.Step, err, time.Since(began)) }()
	}
	p := r.Plan
	if p == nil {
		p = &search.Plan{}
	}
	switch r.Step {
	case search.StepTerms:
		none := func(p part) []search.Terms { return []search.Terms{{Behind: p.behind(a.searching)}} }
		return searching(a, send, none, func(x *search.Index) ([]search.Terms, error) { return one(x.Terms(ctx, p)) })
	case search.StepSimilar:
		return searching(a, send, nil, func(x *search.Index) ([]search.Similar, error) { return x.Similar(ctx, r.Words) })
	case search.StepRank:
		n := min(max(r.N, 0), search.MaxHits)
		return searching(a, send, nil, func(x *search.Index) ([]search.Ranked, error) { return one(x.Rank(ctx, p, n, r.Explain)) })
	case search.StepShow:
		urls := r.URLs[:min(len(r.URLs), search.MaxHits)]
		return searching(a, send, nil, func(x *search.Index) ([]crawl.Hit, error) { return x.Show(ctx, p, urls) })
	}
	return fmt.Errorf("search: the step %q is unknown to this version", r.Step)
}

// searching asks the search index of each shard and sends what it says. Of a shard whose index is
// not open nothing is known but how far it is behind. One whose index cannot be read costs its own
// hits only: the error is an ask.PartlyError.
func searching[T any](a answers, send func(any) error, none func(p part) []T, ask func(*search.Index) ([]T, error)) error {
	var failed unread
	for _, p := range a.parts() {
		var found []T
		var err error
		if index := p.index.Load(); index != nil {
			found, err = ask(index)
		} else if none != nil {
			found = none(p)
		}
		if p.gone.Load() {
			continue // the asker is told that the shard was not answered for
		}
		if err != nil {
			failed.add(p.id, err)
			continue
		}
		for _, f := range found {
			if err := send(f); err != nil {
				return err
			}
		}
	}
	return failed.err()
}

// unread are shards whose search index could not be read.
type unread struct {
	shards []int
	errs   []error
}

func (u *unread) add(shard int, err error) {
	u.shards, u.errs = append(u.shards, shard), append(u.errs, err)
}

func (u *unread) err() error {
	if len(u.errs) == 0 {
		return nil
	}
	return &ask.PartlyError{Shards: u.shards, Err: errors.Join(u.errs...)}
}

func one[T any](v T, err error) ([]T, error) { return []T{v}, err }
