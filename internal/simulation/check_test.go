package simulation

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier"
	"github.com/curtsy/curtsy/internal/indexer/assignment"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/internal/questions"
	"github.com/curtsy/curtsy/internal/simweb"
	"github.com/curtsy/curtsy/internal/simweb/requestlog"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/nats-io/nats.go/jetstream"
)

// check compares the answers of the running crawl with what the web expects.
func (w *world) check(st crawl.Status) {
	t := w.t
	for _, v := range requestlog.Check(w.web.Log(), requestlog.CheckOptions{Delay: requestlog.Every(w.spec.Delay), Token: token, AbortTolerance: 100 * ms}) {
		switch v.Rule {
		case requestlog.RuleRetryAfter:
			if w.unheard(v) {
				continue
			}
		case requestlog.RuleDelay, requestlog.RuleConcurrent:
			if w.exchanges.abandoned(v.Previous) || w.exchanges.abandoned(v.Request) {
				continue
			}
		}
		w.fail(v.Rule, "%s", v)
	}
	w.checkHours()
	kv, err := w.q.JS.KeyValue(t.Context(), crawl.Names(w.spec.Name).Bucket())
	if err != nil {
		t.Fatal(err)
	}
	c := asker.Running(w.q, kv, w.spec)
	want := w.expect()
	urls := slices.DeleteFunc(slices.Sorted(maps.Keys(want)), func(u string) bool {
		_, err := canon.Parse(u)
		return err != nil && want[u].Optional // no link leads there
	})
	var got map[string]crawl.Explanation
	w.patiently("explain", func(ctx context.Context) (err error) {
		got, err = c.ExplainAll(ctx, urls)
		return err
	})
	listed := map[string]crawl.PageInfo{}
	w.patiently("pages", func(ctx context.Context) error {
		clear(listed)
		return questions.Pages.Each(ctx, c, nil, func(p crawl.PageInfo) error {
			if _, twice := listed[p.URL]; twice {
				w.fail("stored-once", "%s is listed twice", p.URL)
			}
			listed[p.URL] = p
			return nil
		})
	})
	dropped := w.checkAgents(c)
	aside := int64(0)
	for _, u := range urls {
		e, x := want[u], got[u]
		if !x.Seen {
			if !e.Optional {
				w.fail("outcome", "%s was never seen, want %s %s", u, e.Class, e.Reason)
			}
			continue
		}
		if !right(x, e) && !w.undetected(u, dropped) {
			w.fail("outcome", "%s is %s (%s: %s), want %s (%s), also %v", u, x.State, x.Reason, x.Detail, e.Class, e.Reason, e.Also)
		}
		_, is := listed[u]
		if is && w.refusedAfterLoss(u, x) {
			aside++
		} else if is != (x.State == "stored") {
			w.fail("stored-both", "%s is %s in the frontier; in the page store: %v", u, x.State, is)
		}
		// An outcome that leaves the copy unchanged, such as a timeout after the answer of a visit
		// whose lease had ended, states in Detail what happened; then Visit is not that of the
		// copy.
		if is && x.State == "stored" && x.Detail == "" {
			w.visits[u] = x.Visit
		}
	}
	for u := range listed {
		if _, known := want[u]; !known && !w.web.Trap(u) && !w.undetected(u, dropped) {
			w.fail("outcome", "%s is stored, and the web does not know it", u)
		}
	}
	if n := int64(len(listed)) - aside; n != st.Stored {
		w.fail("stored-both", "%d are stored by the status, %d are listed", st.Stored, n)
	}
	w.checkBytes(listed, dropped)
	w.checkApps(listed)
	w.checkRules(got, listed)
	w.search(c, listed, dropped)
	w.attempts(got)
	w.fetchedOnce()
}

// attempts compares how often URLs were tried with the log of the web: no attempt is counted
// without a request, unless the web could not be reached.
func (w *world) attempts(got map[string]crawl.Explanation) {
	if w.faults.web > 0 {
		return
	}
	requests := map[string]int{}
	for _, q := range w.web.Log() {
		requests["http://"+q.Origin+q.Path]++
	}
	for u, x := range got {
		if x.Seen && x.Attempts > 0 && !w.hasAgents(u) && x.Reason != string(crawl.ReasonNetwork) && x.Attempts > requests[u] {
			w.fail("attempts", "%s was tried %d times, by %d requests (%s, %s)", u, x.Attempts, requests[u], x.State, x.Reason)
		}
	}
}

// fetchedOnce looks for pages of the chains that were fetched twice although nothing had gone
// wrong.
func (w *world) fetchedOnce() {
	chains := map[string]*requestlog.Request{}
	for _, c := range w.chains {
		for _, u := range c {
			chains[u] = nil
		}
	}
	for _, q := range w.web.Log() {
		u := "http://" + q.Origin + q.Path
		before, is := chains[u]
		if !is || q.Status != 200 || q.Aborted {
			continue
		}
		if before != nil && !w.hasAgents(u) && !w.isShell(u) && w.faults.undisturbed(before.Start, q.Start) {
			w.fail("fetched-once", "%s was fetched again %v after it had been fetched", u, q.Start.Sub(before.End))
		}
		chains[u] = &q
	}
}

// search searches for a word of each page.
func (w *world) search(c *asker.Crawl, listed map[string]crawl.PageInfo, dropped map[string]bool) {
	words := w.web.RareWords()
	words[chainWord] = slices.Concat(w.chains...)
	for word, on := range words {
		var hits map[string]bool
		w.patiently("search", func(ctx context.Context) error {
			a, err := c.Search(ctx, crawl.SearchRequest{Query: word, Limit: 100})
			hits = map[string]bool{}
			for _, h := range a.Hits {
				hits[h.URL] = true
			}
			return err
		})
		for _, u := range on {
			if _, is := listed[u]; is != hits[u] && !w.undetected(u, dropped) {
				w.fail("search", "%q finds %s: %v; it is stored: %v", word, u, hits[u], is)
			}
		}
	}
}

// right reports whether an explanation is what the web expects, or an equally correct one.
func right(x crawl.Explanation, e simweb.Expectation) bool {
	state := x.State
	if state == crawl.Queued.String() {
		state = string(simweb.StaysQueued)
	}
	return state == string(e.Class) || slices.Contains(e.Also, simweb.Class(state))
}

// checkStopped reads the files that the services have left.
func (w *world) checkStopped() {
	w.checkLog()
	w.checkRecords()
	visits := map[string][]crawl.VisitID{} // of the copies
	w.eachPage(func(p *pages.Page) {
		w.checkRuled(p)
		if p.Deleted == "" && p.Directives&crawl.NoIndex == 0 {
			visits[string(p.URL)] = append(visits[string(p.URL)], p.Visit)
		}
	})
	for u, least := range w.visits {
		// It may be newer, if it comes from a fetcher that was killed before it published the
		// outcome, while an older outcome was still in transit.
		switch got := visits[u]; {
		case len(got) != 1:
			w.fail("stored-once", "%s is stored %d times", u, len(got))
		case got[0].Compare(visitOf(least)) < 0:
			w.fail("newest", "the copy of %s is of visit %v, the outcome that counts of %s", u, got[0], least)
		}
	}
}

// eachPage calls f for the pages in the stores that the indexers have left. A store that the home
// record of its shard does not name does not count: its indexer removes it at its next check
// (package homes).
func (w *world) eachPage(f func(p *pages.Page)) {
	for _, s := range w.all {
		if !s.has("indexer") {
			continue
		}
		files, err := filepath.Glob(filepath.Join(s.dir, "pages-*.db"))
		if err != nil {
			w.t.Fatal(err)
		}
		for _, file := range files {
			store, err := pages.OpenReadOnly(file)
			if err != nil {
				w.fail("files", "%s: %v", file, err)
				continue
			}
			if w.counts(file, store) {
				err = store.Each(func(p pages.Page) error { f(&p); return nil })
			}
			if err := errors.Join(err, store.Close()); err != nil {
				w.fail("files", "%s: %v", file, err)
			}
		}
	}
}

// counts reports whether a page store is the one that the home record of its shard names.
func (w *world) counts(file string, store *pages.Store) bool {
	kv, err := w.q.JS.KeyValue(w.t.Context(), crawl.Names(w.spec.Name).Bucket())
	if err != nil {
		w.t.Fatal(err)
	}
	shard := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), "pages-"), ".db")
	e, err := kv.Get(w.t.Context(), "home."+shard)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return false
	}
	if err != nil {
		w.t.Fatal(err)
	}
	var home assignment.Record
	if err := json.Unmarshal(e.Value(), &home); err != nil {
		w.t.Fatal(err)
	}
	return store.Identity() == home.Store
}

// checkRecords counts the records in the files of the frontiers, for each shard in the file of its
// last owner, and compares the sums with the last status.
func (w *world) checkRecords() {
	type part struct {
		epoch uint64
		class map[crawl.Class]int64
		urls  map[canon.URL]bool
	}
	parts := map[int]*part{}
	for _, s := range w.all {
		if !s.has("frontier") {
			continue
		}
		files, err := frontier.OpenDir(s.dir)
		if err != nil {
			continue // a disk that was lost just before the end
		}
		here := map[int]*part{}
		err = files.Handlers().Ask(w.t.Context(), "status", struct{}{}, func(v any) error {
			st, ok := v.(crawl.Status)
			if !ok {
				return fmt.Errorf("a status is a %T", v)
			}
			for _, sh := range st.Shards {
				here[sh.Shard] = &part{sh.Epoch, map[crawl.Class]int64{}, map[canon.URL]bool{}}
			}
			return nil
		})
		if err == nil {
			err = files.EachURL(func(u frontier.URLState) error {
				p := here[crawl.ShardOf(u.URL.Host(), w.spec.Shards)]
				if p == nil {
					return fmt.Errorf("%s is in no file of its shard", u.URL)
				}
				if p.urls[u.URL] {
					w.fail("seen-once", "%s has two records in %s", u.URL, s.dir)
				}
				p.urls[u.URL] = true
				p.class[u.Class]++
				return nil
			})
		}
		if err := errors.Join(err, files.Close()); err != nil {
			w.fail("files", "%s: %v", s.dir, err)
		}
		for id, p := range here {
			if old := parts[id]; old == nil || old.epoch < p.epoch {
				parts[id] = p
			}
		}
	}
	sum := map[crawl.Class]int64{}
	var all int64
	for _, p := range parts {
		for c, n := range p.class {
			sum[c] += n
			all += n
		}
	}
	st := w.final
	got := []int64{all, sum[crawl.Queued], sum[crawl.Stored], sum[crawl.Redirected], sum[crawl.Refused], sum[crawl.Failed]}
	want := []int64{st.Discovered, st.Queued, st.Stored, st.Redirected, st.Refused, st.Failed}
	if !slices.Equal(got, want) {
		w.fail("counts", "records that are discovered, queued, stored, redirected, refused, failed: %v; by the status %v", got, want)
	}
}

func visitOf(text string) (v crawl.VisitID) {
	if _, err := fmt.Sscanf(text, "%d-%d", &v.Epoch, &v.N); err != nil {
		panic(err)
	}
	return v
}

// checkLog looks for a line of each page that was fetched.
func (w *world) checkLog() {
	if w.faults.disks > 0 {
		return // lines were lost with the disks
	}
	lines := map[string]bool{}
	for _, s := range w.all {
		if !s.has("frontier") {
			continue
		}
		var b []byte
		for _, dir := range append(s.dirs, s.dir) {
			part, err := os.ReadFile(filepath.Join(dir, "crawl.jsonl"))
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				w.t.Fatal(err)
			}
			b = append(b, part...)
		}
		for raw := range bytes.Lines(b) {
			var l crawl.LogLine
			if err := json.Unmarshal(raw, &l); err != nil {
				w.fail("crawl-log", "%s: %v: %s", s.name, err, raw)
				continue
			}
			lines[l.URL] = true
		}
	}
	want := w.expect()
	for _, q := range w.web.Log() {
		u := "http://" + q.Origin + q.Path
		if _, page := want[u]; page && q.Status == 200 && !q.Aborted && !lines[u] {
			w.fail("crawl-log", "%s was fetched and has no line", u)
		}
	}
}
