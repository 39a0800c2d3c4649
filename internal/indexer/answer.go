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
	"github.com/curtsy/curtsy/internal/questions"
	"github.com/curtsy/curtsy/internal/search"
	"github.com/curtsy/curtsy/pkg/canon"
)

// answers has the handlers of the indexer's questions. They are called over NATS for the shards
// that an Indexer holds, and directly for the files that a Reader has opened.
type answers struct {
	parts     func() []part
	status    func() crawl.IndexerStatus
	token     func() string   // by which records of a data.txt are chosen
	forgotten func() []string // Spec.Forgotten
	searching bool
	metrics   *metrics // nil: not measured
	// newest is how many pages of a shard a list of pages includes; 0 means crawl.MaxPagesListed.
	newest int
	limit  int // of the JSON of one row, in bytes; 0: no limit
}

func (a answers) handlers(more ...questions.Answer) ask.Handlers {
	return questions.Handlers(append(append(more, a.feeding()...),
		questions.IndexerStatus.Handle(func(_ context.Context, _ struct{}, send func(crawl.IndexerStatus) error) error {
			return send(a.status())
		}),
		questions.Pages.Handle(a.pages),
		questions.PagesPage.Handle(a.pagesPage),
		questions.PagesUnder.Handle(a.prefixPages),
		questions.Page.Handle(a.page),
		questions.Quoting.Handle(a.quoting),
		questions.Search.Handle(a.search),
		questions.Export.Handle(a.export),
		questions.Datasets.Handle(a.datasets),
		questions.DataRule.Handle(a.dataRule),
		questions.SiteRules.Handle(a.siteRules),
	)...)
}

// answers has the handlers for the shards that x holds.
func (x *Indexer) answers() answers {
	return answers{parts: x.parts, status: x.Status, token: x.token, forgotten: x.forgottenEntries, searching: x.o.Search, metrics: x.metrics, limit: maxSent}
}

// parts are the shards that x holds now, for reading.
func (x *Indexer) parts() []part {
	var all []part
	for _, s := range x.ownShards() {
		all = append(all, s.part)
	}
	return all
}

// pages sends every page that may be shown now. The order is by shard, and within a shard by host.
func (a answers) pages(_ context.Context, _ questions.Nothing, send func(crawl.PageInfo) error) error {
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

// page sends the page of a URL, which need not be canonical. It comes with its content, unless it
// forbids quotation or copies and r.All is false. The record of an alias whose copy is not stored
// says only which page it is an alias of.
func (a answers) page(_ context.Context, r questions.PageRequest, send func(crawl.PageRecord) error) error {
	u, err := canon.Parse(r.URL)
	if err != nil {
		return fmt.Errorf("page %q: %w", r.URL, err)
	}
	for _, p := range a.parts() {
		page, ok, err := p.store.Get(u)
		if p.gone.Load() {
			continue
		}
		if err != nil {
			return err
		}
		if p.hidden(u) || ok && page.Expired(time.Now()) {
			continue
		}
		if !ok {
			if main, err := p.store.AliasOf(u); err == nil && main != "" && !p.hidden(main) {
				return send(Record{PageInfo: crawl.PageInfo{URL: string(u), AliasOf: string(main)}, Withheld: "alias"})
			}
			continue
		}
		e := exporter{limit: a.limit}
		return send(e.record(p, &page, cmp.Or(r.Format, "html"), r.All))
	}
	return nil
}

// search answers one step of a search.
func (a answers) search(ctx context.Context, raw json.RawMessage, send func(any) error) (err error) {
	var r search.Request
	if err := json.Unmarshal(raw, &r); err != nil {
		return fmt.Errorf("search: %w", err)
	}
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
	case search.StepWords:
		if len(r.URLs) != 1 {
			return fmt.Errorf("search: the step %q has %d URLs and needs one", r.Step, len(r.URLs))
		}
		return searching(a, send, nil, func(x *search.Index) ([]search.PageWords, error) { return x.Words(ctx, r.URLs[0]) })
	case search.StepRank:
		var o search.RankOptions
		if r.RankOptions != nil {
			o = *r.RankOptions
		}
		o.N = min(max(o.N, 0), search.MaxHits)
		return searching(a, send, nil, func(x *search.Index) ([]search.Ranked, error) { return one(x.Rank(ctx, p, o)) })
	case search.StepShow:
		urls := r.URLs[:min(len(r.URLs), search.MaxHits)]
		return searching(a, send, nil, func(x *search.Index) ([]crawl.Hit, error) { return x.Show(ctx, p, urls) })
	case search.StepSuggest:
		return searching(a, send, nil, func(x *search.Index) ([]search.Suggested, error) { return one(x.Suggest(ctx, p, r.Words)) })
	}
	return fmt.Errorf("search: the step %q is unknown to this version", r.Step)
}

// searching asks the search index of each shard and sends the answers. If an index is not open, all
// that is known of its shard is how far the index is behind, and none says so. An index that cannot
// be read costs only the hits of its own shard: the error is then an ask.PartlyError.
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
			continue // the asker learns that there is no answer for this shard
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
