package indexer

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/curtsy/curtsy/internal/backoff"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/internal/pagetext"
	"github.com/curtsy/curtsy/internal/questions"
	"github.com/curtsy/curtsy/internal/siterules"
)

// Site rules are applied to a page when it is fetched. When the rules change, all stored pages are
// read by the new ones, without a request. A store is passed once, in the order of its keys. What
// became of a step's pages and the position after it are written in one transaction, so a crash
// costs at most a step.
//
// Pages that arrive are the other half. Their fetchers may have had older rules, or newer ones, so
// each page that does not have the result of our rules is read again before it is stored. A gate
// separates both: the pass begins when no page is being stored that was compared with older rules.
// So after the pass each stored page has what the rules make of it.

// markRuled is the mark of a store for how far the site rules were applied to it: an applied.
const markRuled = "siterules"

// applied is how far rules were applied to a store.
type applied struct {
	crawl.RulesMade
	Cursor string `json:"cursor,omitempty"` // of pages.Store.ReadFrom
}

// rulingRound is how many pages are read for one transaction.
const rulingRound = 200

// ruling applies the site rules to the pages of a shard. Its methods may be called concurrently.
type ruling struct {
	store *pages.Store
	shard int
	marks *marks
	log   *slog.Logger
	gate  *sync.RWMutex // of the shard; see shard.gate
	rules func() *siterules.Rules
	// changed returns a channel that is closed when the rules may have changed.
	changed func() <-chan struct{}
	// The rules changed, and were not applied to all stored pages.
	pending atomic.Bool
	state   atomic.Pointer[crawl.RulesApplied] // of the current or last pass; nil: there was none
	passing sync.Mutex                         // guards extract and buf
	extract pagetext.Extractor
	buf     []byte
}

func newRuling(s *shard) *ruling {
	r := &ruling{store: s.store, shard: s.id, marks: s.marks, log: s.log, gate: &s.gate, rules: s.x.rules.Load, changed: s.x.specChanged}
	if at, began, err := position(s.store); err == nil && began {
		r.state.Store(&at.RulesApplied)
	}
	return r
}

// position reads the mark of a store. began is false if no rules were ever applied to it.
func position(store *pages.Store) (at applied, began bool, err error) {
	text, err := store.Mark(markRuled)
	if err != nil || text == "" {
		return at, false, err
	}
	return at, true, json.Unmarshal([]byte(text), &at)
}

// behind reports whether stored pages must be read by the current rules.
func (r *ruling) behind() bool {
	at, began, err := position(r.store)
	return err != nil || at.Rules != r.rules().Hash() || began && !at.Finished
}

// keepApplied applies the rules whenever they have changed, until ctx ends. Its errors do not stop
// the storing of pages.
func (r *ruling) keepApplied(ctx context.Context) error {
	again := backoff.Delay{Least: time.Second, Most: time.Minute}
	for {
		changed := r.changed()
		err := r.apply(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			wait := again.Next()
			r.log.Error("site rules cannot be applied to stored pages yet", "err", err, "wait", wait)
			if !sleep(ctx, wait) {
				return nil
			}
			continue
		}
		r.pending.Store(r.behind())
		again.Reset()
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
			r.pending.Store(r.behind())
		}
	}
}

// apply applies the current rules to the pages to which they were not applied yet.
func (r *ruling) apply(ctx context.Context) error {
	rules := r.rules()
	at, began, err := position(r.store)
	if err != nil {
		return err
	}
	if at.Rules != rules.Hash() {
		at = applied{RulesMade: crawl.RulesMade{RulesApplied: crawl.RulesApplied{Shard: r.shard, Rules: rules.Hash()}}}
	} else if at.Finished || !began {
		return nil
	}
	// Pages that were compared with older rules are stored before the pass begins.
	r.gate.Lock()
	r.gate.Unlock() //nolint:staticcheck // it waits for others
	start := time.Now()
	for ctx.Err() == nil {
		if at, err = r.step(rules, at); err != nil {
			return err
		}
		r.state.Store(&at.RulesApplied)
		if r.rules() != rules {
			return nil // the next pass begins at once
		}
		if at.Finished {
			r.log.Info("site rules were applied to stored pages", "pages", at.Pages, "read", at.Read, "changed", at.Changed, "skipped", at.Skipped,
				"took", time.Since(start).Round(time.Millisecond))
			return nil
		}
	}
	return ctx.Err()
}

// step applies the rules to some pages, and writes what became of them together with the position.
func (r *ruling) step(rules *siterules.Rules, at applied) (applied, error) {
	counts := slices.Clone(at.Fields) // of a step that fails nothing is counted
	found, seen, next, err := r.store.ReadFrom(at.Cursor, rulingRound, func(p *pages.Page) bool {
		if stale(rules, p) {
			return true
		}
		counts = countFields(rules, p, counts)
		return false
	})
	if err != nil {
		return at, err
	}
	all := make([]pages.Ruling, 0, len(found))
	for i := range found {
		made, err := r.read(rules, &found[i])
		if err != nil {
			continue // it is removed from the store: see keepQuarantined
		}
		if all = append(all, made); made.SkippedBy == "" {
			counts = countFields(rules, &made.Page, counts)
		}
	}
	at.Fields = counts
	at.Cursor, at.Finished = next, next == ""
	state := at.RulesApplied
	at.Pages, at.Read = at.Pages+int64(seen), at.Read+int64(len(found))
	_, err = r.store.Rule(all, markRuled, func(done pages.Ruled) string {
		at.Changed, at.Skipped = state.Changed+int64(done.Changed), state.Skipped+int64(done.Skipped)
		text, err := json.Marshal(at)
		if err != nil {
			panic(err) // it consists of numbers and a text
		}
		return string(text)
	})
	return at, err
}

// countFields counts the fields that the rules have for a page.
func countFields(rules *siterules.Rules, p *pages.Page, counts []crawl.FieldCount) []crawl.FieldCount {
	site := rules.Reader(p.URL)
	if site == nil || p.Ruled == nil || p.Kind != crawl.KindPage {
		return counts
	}
	var here []crawl.FieldCount
	for _, name := range site.Fields() {
		f := crawl.FieldCount{Name: name, Pages: 1}
		if len(p.Ruled.Fields.Get(name)) == 0 {
			f.Empty = 1
		}
		here = append(here, f)
	}
	return crawl.CountFields(counts, here)
}

// siteRules sends how far rules were applied to each shard.
func (a answers) siteRules(_ context.Context, _ questions.Nothing, send func(crawl.RulesMade) error) error {
	for _, p := range a.parts() {
		at, began, err := position(p.store)
		var scope string
		if err == nil {
			scope, err = p.store.Mark(markScope)
		}
		switch {
		case p.gone.Load():
			continue // the asker learns that there is no answer for this shard
		case err != nil:
			return err
		case !began:
			at.Shard, at.Finished = p.id, true
		}
		at.Links = crawl.LinkHashOf(scope)
		if err := send(at.RulesMade); err != nil {
			return err
		}
	}
	return nil
}

// stale reports whether a page does not have what the rules make of it.
func stale(rules *siterules.Rules, p *pages.Page) bool {
	if p.Kind != crawl.KindPage || p.Encoding == crawl.EncodingParts {
		return false
	}
	if rules.Reader(p.URL) == nil {
		return p.Ruled != nil
	}
	return p.Ruled == nil || p.Ruled.Rules != rules.Hash()
}

// read reads a page by the rules. The error is that of marks.read.
func (r *ruling) read(rules *siterules.Rules, p *pages.Page) (out pages.Ruling, err error) {
	r.passing.Lock()
	defer r.passing.Unlock()
	out.Page = *p
	out.Page.Ruled = nil
	site := rules.Reader(p.URL)
	hadTitle := p.Ruled != nil && p.Ruled.Title != ""
	if site == nil && !hadTitle {
		return out, nil
	}
	err = r.marks.read(p, func() {
		body, err := p.Unpack(r.buf)
		if err != nil {
			r.log.Warn("a page has no fields of the site rules", "url", p.URL, "err", err)
			if site != nil {
				out.Page.Ruled = &crawl.Ruled{Rules: rules.Hash()}
			}
			return
		}
		if p.Encoding != crawl.EncodingNone {
			if r.buf = body; cap(body) > maxUnpacked {
				r.buf = nil
			}
		}
		if hadTitle {
			out.Page.Title, _ = r.extract.Title(p.ContentType, p.Charset, body)
		}
		if site == nil {
			return
		}
		made := site.Read(siterules.InputOf(&p.Page, nil, body))
		if len(made.Cut) > 0 {
			r.log.Debug("site rules could not be applied to a whole page", "url", p.URL, "why", strings.Join(made.Cut, "; "))
		}
		if out.Page.Ruled = &made.Ruled; made.Skip {
			out.SkippedBy = made.Why
		}
	})
	if err != nil {
		r.extract, r.buf = pagetext.Extractor{}, nil // their state is unknown
	}
	return out, err
}

// conform reads those pages of a batch that were not read by the rules, or by other ones, because
// fetchers learn of a new spec at another moment. The gate must be locked for reading until the
// batch is stored.
func (r *ruling) conform(batch []pages.Page) {
	rules := r.rules()
	for i := range batch {
		p := &batch[i]
		if p.Deleted != "" || p.Renewed || p.Directives&crawl.NoIndex != 0 || p.Kind != crawl.KindPage || !stale(rules, p) {
			continue
		}
		made, err := r.read(rules, p)
		switch {
		case err != nil:
			*p = unreadable(p)
		case made.SkippedBy != "":
			*p = pages.Page{Page: crawl.Page{URL: p.URL, Visit: p.Visit, FetchedAt: p.FetchedAt, Depth: p.Depth, FoundOn: p.FoundOn,
				Deleted: crawl.ReasonSiteRule, Ruled: made.Page.Ruled}, SkippedBy: made.SkippedBy}
		default:
			p.Ruled = made.Page.Ruled
		}
	}
}

// contentBy makes the content of pages by the site rules that are in force when a page is read. A
// page without rules about its content costs a look for its entry.
func contentBy(rules func() *siterules.Rules) pages.Content {
	return func(p *pages.Page, body []byte) (contentType, charset string, content []byte) {
		if site := rules().For(p.URL); site.HasContent() && !p.IsMeta() {
			in := siterules.InputOf(&p.Page, nil, body)
			if out, changed := site.Content(in.ContentType, in.Charset, body); changed {
				return "text/html", "utf-8", out
			}
		}
		return p.ContentType, p.Charset, body
	}
}
