package frontier

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/updates"
	mailed "github.com/curtsy/curtsy/internal/updates"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/rup"
)

// rupWorld is a site with RUP, the server of pkg/rup, and a fetcher without a network, around one
// shard; all in simulated time.
type rupWorld struct {
	t    testing.TB
	b    *bench
	srv  *rup.Server
	info *rup.Info // nil: no /rupinfo.txt
	base string

	pages map[canon.URL]*rupPage
	log   []rup.Entry
	regs  map[string]rup.Registration
	next  map[string]time.Time // when a robot's next report is due
	since map[string]time.Time

	lose     func(n int64) bool // reports that never arrive
	down     bool               // the CGI answers 503
	posted   []string           // to other pages of the site
	early    func(string)       // called with an address that registers, before it is answered
	sitemap  bool               // it reports by a sitemap
	feed     bool               // by a feed of its newest changes, which its pages announce
	submits  bool               // by IndexNow, each change as it happens
	hub      bool               // a hub delivers each change of the feed as it happens
	visited  []canon.URL        // requested pages
	actions  []string           // RUP requests, in order
	requests int
	bytes    int64
}

type rupPage struct {
	version uint64
	changed time.Time
	gone    bool
	seen    uint64 // version fetched last
	stale   time.Duration
}

func (w *rupWorld) Get(key string) (rup.Registration, bool, error) {
	r, ok := w.regs[key]
	return r, ok, nil
}

func (w *rupWorld) Put(r rup.Registration) error {
	key := rup.EmailKey(r.Email)
	if w.regs[key] = r; w.next[key].IsZero() {
		w.next[key], w.since[key] = time.Now().Add(r.Latency.Duration()), time.Now()
	}
	return nil
}

func (w *rupWorld) Delete(key string) error {
	delete(w.regs, key)
	return nil
}

func (w *rupWorld) Count(string) (int, error) { return 0, nil }

func (w *rupWorld) View(_ context.Context, f func(rup.Registrations) error) error { return f(w) }

func (w *rupWorld) Update(_ context.Context, f func(rup.Registrations) error) error { return f(w) }

func (w *rupWorld) Changes(_ context.Context, since time.Time, yield func(rup.Entry) error) error {
	for _, e := range w.log {
		if !e.Date.Before(since) {
			if err := yield(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// newRUPWorld makes a site of n pages and its root.
func newRUPWorld(t testing.TB, spec crawl.Spec, n int, info *rup.Info) *rupWorld {
	w := &rupWorld{t: t, info: info, base: "http://a.example/", pages: map[canon.URL]*rupPage{}, regs: map[string]rup.Registration{},
		next: map[string]time.Time{}, since: map[string]time.Time{}, lose: func(int64) bool { return false }}
	spec.Recrawl, spec.Sitemaps = true, false
	w.b = newBench(t, spec)
	w.serve()
	w.pages[canon.URL(w.base)] = &rupPage{version: 1, changed: time.Now()}
	for i := range n {
		w.pages[w.url(i)] = &rupPage{version: 1, changed: time.Now()}
	}
	return w
}

func (w *rupWorld) serve() {
	if w.info == nil {
		return
	}
	opt := rup.ServerOptions{Info: w.info, Base: w.base, Store: w, Index: w, RegisterPerHour: 100, IndexPerHour: 1000, Log: slog.New(slog.NewTextHandler(io.Discard, nil))}
	var err error
	if w.srv, err = rup.NewServer(opt); err != nil {
		w.t.Fatal(err)
	}
}

func updatesSpec(mail string) crawl.Spec {
	spec := testSpec("http://a.example/")
	spec.Delay, spec.Recrawl, spec.Updates, spec.UpdatesMail = 0, true, true, mail
	return spec
}

func (w *rupWorld) url(i int) canon.URL { return canon.URL(fmt.Sprintf("%sp%05d", w.base, i)) }

// change changes the i-th page.
func (w *rupWorld) change(i int) {
	p := w.pages[w.url(i)]
	kind := rup.Change
	if p == nil {
		p, kind = new(rupPage), rup.New
		w.pages[w.url(i)] = p
	}
	p.version++
	p.changed, p.gone = time.Now(), false
	w.log = append(w.log, rup.Entry{URL: string(w.url(i)), Kind: kind, Date: time.Now().UTC()})
	w.submit(i)
	if w.hub {
		w.b.event(crawl.Event{WebSub: []crawl.WebSub{{Topic: testFeed, N: 1, Mode: crawl.WebSubDeliver, Received: time.Now(), URLs: []canon.URL{w.url(i)}, Mods: []int64{time.Now().Unix()}}}})
	}
}

func (w *rupWorld) remove(i int) {
	w.pages[w.url(i)].gone, w.pages[w.url(i)].changed = true, time.Now()
	w.log = append(w.log, rup.Entry{URL: string(w.url(i)), Kind: rup.Delete, Date: time.Now().UTC()})
	w.submit(i)
}

const testIndexNowKey = "12345678"

// submit submits the i-th page by IndexNow.
func (w *rupWorld) submit(i int) {
	if w.submits {
		w.b.reported(testIndexNowKey, string(w.url(i)))
	}
}

// Of the site's feed: how many changes it has, and how many bytes each has.
const feedEntries, feedEntryBytes = 50, 400

// readFeed answers an auxiliary request for the feed, like a fetcher would.
func (w *rupWorld) readFeed(id crawl.VisitID, e *crawl.AuxRequest) *crawl.Feed {
	f := &crawl.Feed{Status: 200, ETag: fmt.Sprintf(`"%d"`, len(w.log)), Digest: uint64(len(w.log)), Scope: w.b.s.Ledger.Judge.Spec.ScopeHash()}
	if e.ETag == f.ETag {
		f.Status, f.NotModified = 304, true
		w.bytes += 200
		return f
	}
	f.Read = true
	l := crawl.Links{FoundOn: e.URL, Depth: e.Hop, Source: crawl.SourceFeed}
	for _, c := range slices.Backward(w.log) {
		if u := canon.URL(c.URL); c.Kind != rup.Delete && len(l.URLs) < feedEntries && !slices.Contains(l.URLs, u) {
			l.URLs, l.Mods = append(l.URLs, u), append(l.Mods, c.Date.Unix())
		}
	}
	f.Entries = len(l.URLs)
	w.bytes += int64(len(l.URLs)) * feedEntryBytes
	if len(l.URLs) > 0 {
		w.b.event(crawl.Event{Visit: id, Links: []crawl.Links{l}})
	}
	return f
}

// run lets time pass: reports are mailed, visits carried out.
func (w *rupWorld) run(d time.Duration) {
	w.t.Helper()
	for end, visits := time.Now().Add(d), 0; ; {
		w.mail()
		w.upkeep()
		for {
			vs := w.b.grant(1)
			if len(vs) == 0 {
				break
			}
			for _, v := range vs {
				if visits++; visits > 200_000 {
					w.t.Fatalf("endless: %+v", v)
				}
				w.visit(v)
			}
			w.upkeep()
		}
		left := time.Until(end)
		if left <= 0 {
			return
		}
		time.Sleep(min(left, max(min(w.b.untilDue(), 5*time.Minute), time.Second)))
	}
}

func (w *rupWorld) upkeep() {
	w.t.Helper()
	w.b.s.Ledger.Mu.Lock()
	defer w.b.s.Ledger.Mu.Unlock()
	if err := w.b.s.RUPSites.Upkeep(time.Now()); err != nil {
		w.t.Fatal(err)
	}
	if err := w.b.s.Feeds.Upkeep(time.Now()); err != nil {
		w.t.Fatal(err)
	}
	if err := w.b.s.WebSub.Upkeep(time.Now()); err != nil {
		w.t.Fatal(err)
	}
	for more := true; more; {
		var err error
		if more, err = w.b.s.Passes.Some(time.Now()); err != nil {
			w.t.Fatal(err)
		}
	}
}

// mail sends the reports that are due.
func (w *rupWorld) mail() {
	w.t.Helper()
	for key, r := range w.regs {
		if time.Now().Before(w.next[key]) {
			continue
		}
		r.Sequence++
		w.regs[key] = r
		report, err := w.srv.Report(context.Background(), r, w.since[key])
		if err != nil {
			w.t.Fatal(err)
		}
		w.since[key], w.next[key] = time.Now(), w.next[key].Add(r.Latency.Duration())
		if w.lose(r.Sequence) {
			continue
		}
		text, _ := report.Text()
		w.deliver(r.Email, string(text))
	}
}

// deliver delivers a report by mail.
func (w *rupWorld) deliver(to, text string) {
	w.t.Helper()
	_, parts, err := mailed.Reports(text, time.Now())
	if err != nil {
		w.t.Fatal(err)
	}
	for i := range parts {
		parts[i].Address = to
		w.b.event(crawl.Event{Reports: parts[i : i+1]})
	}
}

// visit carries a visit out.
func (w *rupWorld) visit(v crawl.Visit) {
	w.t.Helper()
	o := &crawl.Outcome{Host: v.Host, Delay: v.Delay, Private: true}
	ev := crawl.Event{Visit: v.ID, Outcome: o}
	for _, r := range v.Robots {
		if r.State == crawl.RobotsUnknown {
			w.requests++
			o.Requests++
			w.b.event(crawl.Event{Visit: v.ID, Robots: []crawl.Robots{robotsOK(canon.URL(r.Origin.String() + "/"))}})
			w.b.outboxToLog()
		}
	}
	for _, e := range v.Aux {
		a := crawl.Answer{Aux: e}
		a.Aux.Form = ""
		o.Requests++
		w.requests++
		switch e.Kind {
		case crawl.AuxRUP:
			a.RUP = w.ask(v.ID, &e)
		case crawl.AuxSitemap:
			a.Sitemap = w.readSitemap(v.ID)
		case crawl.AuxFeed:
			a.Feed = w.readFeed(v.ID, &e)
			if w.hub && a.Feed.Read {
				a.Feed.Hub, a.Feed.Self = testHub, testFeed
			}
		case crawl.AuxWebSub:
			a.RUP = crawl.RUP{Status: 202}
			w.b.event(crawl.Event{WebSub: []crawl.WebSub{{Topic: testFeed, N: 1, Mode: "subscribe", Received: time.Now()}}})
		case crawl.AuxIndexNow:
			a.KeyFile = &crawl.KeyFile{Key: testIndexNowKey}
			w.bytes += int64(len(testIndexNowKey))
		}
		w.b.event(crawl.Event{Visit: v.ID, Answers: []crawl.Answer{a}})
		o.Done = append(o.Done, a.Aux)
	}
	for _, u := range v.URLs {
		o.Requests++
		w.requests++
		w.visited = append(w.visited, u.URL)
		o.Results = append(o.Results, w.fetch(u, &ev))
	}
	w.b.event(ev)
	w.b.outboxToLog()
}

const rupPageSize = 18 << 10

func (w *rupWorld) fetch(u crawl.VisitURL, ev *crawl.Event) crawl.Result {
	res := crawl.Result{URL: u.URL, Class: crawl.Stored, Status: 200, FetchedAt: time.Now()}
	p := w.pages[u.URL]
	if p == nil || p.gone {
		w.bytes += 300
		res.Class, res.Status, res.Reason, res.Kept = crawl.Failed, 404, crawl.ReasonHTTP4xx, u.Keep
		if p != nil {
			p.noticed(p.version + 1)
		}
		return res
	}
	p.noticed(p.version)
	res.ETag = fmt.Sprintf(`"%d"`, p.version)
	if res.Digest = p.version; u.ETag == res.ETag {
		res.Status, res.NotModified = 304, true
		w.bytes += 200
		return res
	}
	w.bytes += rupPageSize
	if u.URL == canon.URL(w.base) {
		l := crawl.Links{FoundOn: u.URL, Depth: 1}
		for v := range w.pages {
			l.URLs = append(l.URLs, v)
		}
		slices.Sort(l.URLs)
		ev.Links = append(ev.Links, l)
		if w.feed {
			ev.Aux = append(ev.Aux, crawl.AuxRequest{Kind: crawl.AuxFeed, URL: testFeed, Origin: u.URL.Origin(), Hop: 1})
		}
	}
	return res
}

// noticed records that a version was fetched, and for how long it was unknown.
func (p *rupPage) noticed(version uint64) {
	if p.seen != version {
		p.stale = time.Since(p.changed)
	}
	p.seen = version
}

// ask answers an auxiliary request of RUP, like a fetcher would.
func (w *rupWorld) ask(id crawl.VisitID, e *crawl.AuxRequest) (m crawl.RUP) {
	form, err := url.ParseQuery(e.Form)
	if err != nil {
		w.t.Fatal(err)
	}
	w.actions = append(w.actions, cmp.Or(form.Get("Action"), "info"))
	rec := httptest.NewRecorder()
	switch {
	case w.down:
		rec.WriteHeader(503)
	case w.info == nil:
		rec.WriteHeader(404)
	case e.Form == "":
		w.srv.ServeInfo(rec, httptest.NewRequest("GET", string(e.URL), nil))
	case form.Get("Action") == "" && e.Form != "":
		w.actions[len(w.actions)-1] = "post"
		w.posted = append(w.posted, string(e.URL)+" "+e.Form)
		rec.WriteHeader(200)
	default:
		if w.early != nil && form.Get("Action") == string(rup.Register) {
			w.early(form.Get("RobotEmail"))
		}
		r := httptest.NewRequest("POST", string(e.URL), strings.NewReader(e.Form))
		r.Header.Set("Content-Type", rup.FormType)
		w.srv.ServeHTTP(rec, r)
	}
	a := rup.Answer{Status: rec.Code, ContentType: rec.Header().Get("Content-Type"), Body: rec.Body.Bytes()}
	w.bytes += int64(len(a.Body))
	m.Status = a.Status
	if err = a.Err(); err == nil {
		switch rup.Action(form.Get("Action")) {
		case "":
			m.Body = a.Body
		case rup.Register:
			var key rup.Key
			key, err = a.Key()
			m.Key = string(key)
		case rup.GetSequenceNumber:
			var n int64
			n, err = a.Sequence()
			m.Sequence = uint64(n)
		case rup.GetIndex:
			var read *rup.Report
			if read, err = a.Report(); err == nil {
				_, parts, perr := mailed.Parts(read, time.Now())
				err = perr
				for i := range parts {
					parts[i].Index = true
					w.b.event(crawl.Event{Visit: id, Reports: parts[i : i+1]})
				}
			}
		}
	}
	if err != nil {
		m.Reason, m.Retry = err.Error(), rup.Retryable(err)
	}
	return m
}

func (w *rupWorld) readSitemap(id crawl.VisitID) crawl.Sitemap {
	if !w.sitemap {
		return crawl.Sitemap{Status: http.StatusNotFound}
	}
	l := crawl.Links{FoundOn: canon.URL(w.base + "sitemap.xml"), Depth: 1, Source: crawl.SourceSitemap}
	for u, p := range w.pages {
		if !p.gone {
			l.URLs = append(l.URLs, u)
		}
	}
	slices.Sort(l.URLs)
	for _, u := range l.URLs {
		l.Mods = append(l.Mods, w.pages[u].changed.Unix())
		w.bytes += int64(len(u)) + 70
	}
	w.b.event(crawl.Event{Visit: id, Links: []crawl.Links{l}})
	return crawl.Sitemap{Status: 200, Read: true, Form: "urlset", Entries: len(l.URLs)}
}

// site returns the record of the site.
func (w *rupWorld) site() *updates.RUPSite { return w.b.s.RUPSites.Sites[canon.URL(w.base).Origin()] }

// asked returns what was requested since the last call.
func (w *rupWorld) asked() (actions []string, pages []canon.URL) {
	actions, pages = w.actions, w.visited
	w.actions, w.visited = nil, nil
	return actions, pages
}
