package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/internal/simweb"
	"github.com/curtsy/curtsy/internal/updates"
	"github.com/curtsy/curtsy/pkg/queue"
	"github.com/curtsy/curtsy/pkg/rup"
)

// rupSite is the server of pkg/rup behind a host of a simulated web, with its data in memory.
type rupSite struct {
	t    *testing.T
	web  *website
	base string
	srv  *rup.Server

	mu   sync.Mutex // guards the other fields
	regs map[string]rup.Registration
	log  []rup.Entry
}

func (s *rupSite) Get(key string) (rup.Registration, bool, error) {
	r, ok := s.regs[key]
	return r, ok, nil
}
func (s *rupSite) Put(r rup.Registration) error { s.regs[rup.EmailKey(r.Email)] = r; return nil }
func (s *rupSite) Delete(key string) error      { delete(s.regs, key); return nil }
func (s *rupSite) Count(string) (int, error)    { return 0, nil }
func (s *rupSite) View(_ context.Context, f func(rup.Registrations) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return f(s)
}
func (s *rupSite) Update(ctx context.Context, f func(rup.Registrations) error) error {
	return s.View(ctx, f)
}
func (s *rupSite) Changes(_ context.Context, since time.Time, yield func(rup.Entry) error) error {
	s.mu.Lock()
	log := slices.Clone(s.log)
	s.mu.Unlock()
	for _, e := range log {
		if !e.Date.Before(since) {
			if err := yield(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// newRUPSite lets the first host of a web offer RUP.
func newRUPSite(t *testing.T, web *website, span rup.Span) *rupSite {
	s := &rupSite{t: t, web: web, base: web.Seeds()[0], regs: map[string]rup.Registration{}}
	info := &rup.Info{CGI: "/rup", Latency: []rup.Unit{rup.Day}, MaxQuerySpan: span}
	var err error
	if s.srv, err = rup.NewServer(rup.ServerOptions{Info: info, Base: s.base, Store: s, Index: s, Log: slog.New(slog.NewTextHandler(io.Discard, nil))}); err != nil {
		t.Fatal(err)
	}
	web.Handle(s.base+"rupinfo.txt", func(method, _ string) simweb.Answer {
		rec := httptest.NewRecorder()
		s.srv.ServeInfo(rec, httptest.NewRequest(method, "/rupinfo.txt", nil))
		return simweb.Answer{Status: rec.Code, ContentType: "text/plain", Body: rec.Body.String()}
	})
	web.Handle(s.base+"rup", func(method, form string) simweb.Answer {
		rec, r := httptest.NewRecorder(), httptest.NewRequest(method, "/rup", strings.NewReader(form))
		r.Header.Set("Content-Type", rup.FormType)
		s.srv.ServeHTTP(rec, r)
		return simweb.Answer{Status: rec.Code, ContentType: rec.Header().Get("Content-Type"), Body: rec.Body.String()}
	})
	return s
}

// change changes the text of a page, or deletes it, and records that in the log of the site.
func (s *rupSite) change(kind rup.Kind, path, text string) {
	a := &simweb.Answer{Body: "<html><title>" + text + "</title><body>" + text + "</body></html>"}
	if kind == rup.Delete {
		a = &simweb.Answer{Status: 404, Body: "gone"}
	}
	s.web.Override(s.base+path, a)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, rup.Entry{URL: s.base + path, Kind: kind, Date: time.Now().UTC()})
}

// address returns where reports are to be mailed; it waits for the registration.
func (s *rupSite) address() (email string) {
	s.t.Helper()
	s.until("registered", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, r := range s.regs {
			email = r.Email
		}
		return email != ""
	})
	return email
}

func (s *rupSite) until(what string, f func() bool) {
	s.t.Helper()
	for end := time.Now().Add(time.Minute); !f(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("never %s", what)
		}
	}
}

// asked returns how often a path of the site was requested after the first n requests of the log.
func (s *rupSite) asked(from int, path string) (n int) {
	for _, q := range s.web.Log()[from:] {
		if strings.HasPrefix(s.base, "http://"+q.Host+"/") && q.Path == "/"+path && !q.End.IsZero() {
			n++
		}
	}
	return n
}

// report puts a report into the log, like the mail receiver does.
func (r *rig) report(to, text string) {
	r.t.Helper()
	site, parts, err := updates.Reports(text, time.Now())
	if err != nil {
		r.t.Fatal(err)
	}
	names, shard := crawl.Names(r.spec.Name), crawl.ShardOf(site.Host, r.spec.Shards)
	l, err := r.q.OpenLog(r.t.Context(), queue.LogConfig{Stream: names.EventsStream(shard), Subject: names.EventsSubject(shard)})
	if err != nil {
		r.t.Fatal(err)
	}
	for i := range parts {
		parts[i].Address = to
		if _, err := l.Append(r.t.Context(), crawl.AppendEvent(nil, &crawl.Event{Reports: parts[i : i+1]})); err != nil {
			r.t.Fatal(err)
		}
	}
}

// updates returns what `curtsy updates` would show for the site.
func (s *rupSite) updates(r *rig) (info crawl.UpdatesInfo) {
	s.t.Helper()
	err := ask.Gather(s.t.Context(), r.q.NC, crawl.Names(r.spec.Name), "updates", struct{}{}, r.spec.Shards, func(raw json.RawMessage) error {
		var u crawl.UpdatesInfo
		err := json.Unmarshal(raw, &u)
		if u.Site+"/" == s.base {
			info = u
		}
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return info
}

// A site with RUP, crawled and re-crawled: the crawl registers once, and only requests what the
// reports name; forged reports change nothing; lost reports are made up for from the log of the
// site or, without one, by requesting all pages.
func TestUpdates(t *testing.T) {
	for _, tt := range []struct {
		name string
		span rup.Span
	}{{"with a log", rup.Span{N: 7, Unit: rup.Day}}, {"without", rup.Span{}}} {
		t.Run(tt.name, func(t *testing.T) {
			simnet.Test(t, func(t *testing.T) {
				web := serve(t, simweb.Config{Seed: 6, Hosts: 2, PagesPerHost: 12, Mix: func(int) simweb.Behavior {
					return simweb.Behavior{Robots: simweb.RobotsCustom, RobotsText: "User-agent: *\nDisallow: /private/\n",
						Disallow: func(path, _ string) bool { return strings.HasPrefix(path, "/private/") }}
				}})
				site := newRUPSite(t, web, tt.span)
				spec := specFor(web)
				spec.Sitemaps, spec.Delay, spec.Recrawl, spec.RecrawlMin = false, 5*time.Millisecond, true, time.Millisecond
				spec.Updates, spec.UpdatesMail = true, "curtsy@crawler.example"
				r := newRig(t, web.net, spec, fetcher.Options{})
				r.seed()
				site.until("crawled", func() bool { return r.pages.Load() >= 24 })
				to := site.address()
				site.until("known to be", func() bool { return site.updates(r).Channel == "mail" })
				report := func(n int, base, lines string) string {
					return fmt.Sprintf("SequenceNumber: %d\nURLBase: %s\n\n%s", n, base, lines)
				}
				rootOf := func(path string) string { return site.base + path }

				// Forged, or about URLs of another site: they only leave a note.
				other := strings.Replace(site.base, "h0000", "h0001", 1)
				quietFrom := len(web.Log())
				r.report("curtsy+guess@crawler.example", report(1, site.base, "Change: p-forged\n"))
				r.report(to, report(1, other, "New: p-forged\n"))
				r.report(to, report(0, site.base, "New: p-forged\n"))

				// The first genuine one.
				site.change(rup.New, "news.html", "first")
				site.change(rup.Change, "", "home")
				from := len(web.Log())
				r.report(to, report(1, site.base, "New: news.html, private/x.html, "+other+"p-forged\nChange: /\n"))
				site.until("requested after the report", func() bool { return site.asked(from, "news.html") == 1 && site.asked(from, "") == 1 })
				// again: nothing new
				r.report(to, report(1, site.base, "New: news.html\nChange: /\n"))

				// A page that is reported as deleted is requested, once.
				site.until("stored", func() bool { return r.explain(rootOf("news.html")).State == "stored" })
				site.change(rup.Delete, "news.html", "")
				r.report(to, report(2, site.base, "Delete: news.html\n"))
				site.until("gone", func() bool { return r.explain(rootOf("news.html")).State == "failed" })
				if n := site.asked(from, "news.html"); n != 2 {
					t.Errorf("a page was asked for %d times", n)
				}

				// Many reports are lost: the number of the next one does not fit, the site is
				// asked, and what changed is obtained from its log or by requesting all pages.
				site.change(rup.New, "lost.html", "lost")
				site.change(rup.Change, "", "home again <a href=lost.html>lost</a>")
				site.mu.Lock()
				for key, reg := range site.regs {
					reg.Sequence = 2000
					site.regs[key] = reg
				}
				site.mu.Unlock()
				from = len(web.Log())
				r.report(to, report(2000, site.base, ""))
				site.until("recovered", func() bool { return site.asked(from, "lost.html") == 1 })
				site.until("all of it", func() bool { return tt.span.N > 0 || r.pages.Load() >= 24+11 })
				if n := site.asked(from, "rup"); tt.span.N > 0 && n != 2 || tt.span.N == 0 && n != 1 {
					t.Errorf("%d requests to recover", n)
				}

				u := site.updates(r)
				if u.Channel != "mail" || u.LastSequence != 2000 || u.Missing != 0 || u.Strange != 1 || u.Confirmed < 2 || u.Reported < 4 || (u.Recrawls > 0) != (tt.span.N == 0) {
					t.Errorf("%+v", u)
				}
				r.stop()
				polite(t, web, 0)
				for _, q := range web.Log()[quietFrom:] {
					if strings.Contains(q.Path, "forged") || strings.Contains(q.Path, "private") || strings.Contains(q.Path, to) {
						t.Errorf("asked for %s%s", q.Host, q.Path)
					}
				}
				if n := site.asked(0, "rupinfo.txt"); n != 1 {
					t.Errorf("/rupinfo.txt was asked for %d times", n)
				}
				noKeyIn(t, r.dir+"/crawl.jsonl", to)
			})
		})
	}
}

func noKeyIn(t *testing.T, file, secret string) {
	t.Helper()
	lines, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(lines), strings.TrimSuffix(secret, "@crawler.example")) {
		t.Errorf("%s holds the address of a site", file)
	}
}
