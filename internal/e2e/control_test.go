package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/control"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/internal/simweb"
	"github.com/curtsy/curtsy/pkg/canon"
)

// controlled is a crawl of two hosts with a delay between requests, which a test controls while it
// runs.
type controlled struct {
	*rig
	web  *website
	a, b string // the hosts
}

var ada = control.By{Who: "ada@laptop", From: "10.0.0.2"}

func newControlled(t *testing.T, pages int, delay time.Duration) *controlled {
	t.Helper()
	web := serve(t, simweb.Config{Seed: 4, Hosts: 2, PagesPerHost: pages, CrossLinks: 1, Mix: func(int) simweb.Behavior { return simweb.Behavior{} }})
	spec := specFor(web)
	spec.Delay, spec.Scope, spec.Seeds = delay, "host", nil
	for _, h := range web.Hosts() {
		spec.Seeds = append(spec.Seeds, "http://"+h+"/")
	}
	s := &controlled{rig: newRig(t, web.net, spec, fetcher.Options{}), web: web, a: web.Hosts()[0], b: web.Hosts()[1]}
	s.seed()
	return s
}

// requests returns how many requests a host has had so far.
func (s *controlled) requests(host string) (n int) {
	for _, q := range s.web.Log() {
		if q.Host == host {
			n++
		}
	}
	return n
}

// more waits for n more requests to a host.
func (s *controlled) more(host string, n int) {
	s.t.Helper()
	want := s.requests(host) + n
	for end := time.Now().Add(time.Minute); s.requests(host) < want; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("%s has had %d requests within a minute, want %d", host, s.requests(host), want)
		}
	}
}

// do checks that an act succeeded.
func (s *controlled) do(text string, err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Log(text)
}

// quiet checks that none of these hosts gets a request that begins while do waits for something
// else, except for those that began before the fetcher received the change.
func (s *controlled) quiet(since time.Time, do func(), hosts ...string) {
	s.t.Helper()
	do()
	for _, q := range s.web.Log() {
		if slices.Contains(hosts, q.Host) && q.Start.After(since) {
			s.t.Errorf("%s%s was asked for %v after the pause", q.Host, q.Path, q.Start.Sub(since))
		}
	}
}

// appliesFrom returns the time from which a change applies, for an act that has just returned: the
// fetcher in the same process receives the spec over the same connection.
func (s *controlled) appliesFrom() time.Time {
	s.t.Helper()
	time.Sleep(100 * time.Millisecond)
	return time.Now()
}

// A paused host gets no more requests, although a visit with many URLs was in progress, while
// another host continues; when it is resumed, it is crawled to its end.
func TestPausedHost(t *testing.T) { simnet.Test(t, testPausedHost) }

func testPausedHost(t *testing.T) {
	const delay = 40 * time.Millisecond
	s := newControlled(t, 40, delay)
	c := s.engine.Crawl()
	s.more(s.a, 5)
	s.do(control.PauseHost(t.Context(), c, ada, s.a))
	s.quiet(s.appliesFrom(), func() { s.more(s.b, 15) }, s.a)
	if st, err := c.Status(t.Context()); err != nil || st.State != "running" {
		t.Errorf("%v, %v: a crawl with a paused host goes on", st.State, err)
	}
	s.do(control.ResumeHost(t.Context(), c, ada, s.a))
	st := s.wait(time.Minute)
	s.stop()
	if want := int64(s.web.Pages()); st.Stored != want {
		t.Errorf("%d pages are stored, want %d: %+v", st.Stored, want, st)
	}
	polite(t, s.web, delay)
	seen := map[string]int{}
	for _, q := range s.web.Log() {
		if seen[q.Host+q.Path]++; seen[q.Host+q.Path] > 1 && !q.Robots {
			t.Errorf("%s%s was asked for again: what a pause cuts short goes back unasked", q.Host, q.Path)
		}
	}
	s.audited("pause-host "+s.a, "resume-host "+s.a)
}

// The same for a whole crawl.
func TestPausedCrawl(t *testing.T) { simnet.Test(t, testPausedCrawl) }

func testPausedCrawl(t *testing.T) {
	s := newControlled(t, 20, 40*time.Millisecond)
	c := s.engine.Crawl()
	s.more(s.a, 3)
	s.do(control.Pause(t.Context(), c, ada))
	s.quiet(s.appliesFrom(), func() { time.Sleep(500 * time.Millisecond) }, s.a, s.b)
	s.do(control.Pause(t.Context(), c, ada)) // a second pause changes nothing
	s.do(control.Resume(t.Context(), c, ada))
	if st := s.wait(time.Minute); st.Stored != int64(s.web.Pages()) {
		t.Errorf("%+v", st)
	}
	s.stop()
	s.audited("pause ", "resume ")
}

// A delay that is raised during a visit applies from the next request on. One that is below the
// delay that the site requires changes nothing.
func TestRaisedDelay(t *testing.T) { simnet.Test(t, testRaisedDelay) }

func testRaisedDelay(t *testing.T) {
	const before, after = 40 * time.Millisecond, 300 * time.Millisecond
	s := newControlled(t, 30, before)
	c := s.engine.Crawl()
	s.more(s.a, 4)
	s.do(control.DelayHost(t.Context(), c, ada, s.a, after))
	since := s.appliesFrom()
	s.more(s.a, 4)
	var last time.Time
	n := 0
	for _, q := range s.web.Log() {
		if q.Host != s.a {
			continue
		}
		if q.Start.After(since) {
			if gap := q.Start.Sub(last); gap < after {
				t.Errorf("%s came %v after the one before", q.Path, gap)
			}
			n++
		}
		last = q.End
	}
	if n < 3 {
		t.Errorf("only %d requests since: the log proves little", n)
	}
	text, err := control.DelayHost(t.Context(), c, ada, s.a, time.Millisecond)
	if err != nil || !strings.Contains(text, "more than 1ms") {
		t.Errorf("%q, %v", text, err)
	}
	s.do(control.DelayHost(t.Context(), c, ada, s.a, 0))
	s.wait(time.Minute)
	s.stop()
	polite(t, s.web, before)
	s.audited("delay-host "+s.a+" 300ms", "delay-host "+s.a+" 1ms", "delay-host "+s.a+" 0s")
}

// A longer delay for all hosts applies from the next request on, also in visits that were granted
// with the previous one. The log has a line, once, for the way in which a site's updates are
// received.
func TestRaisedDelayOfAll(t *testing.T) { simnet.Test(t, testRaisedDelayOfAll) }

func testRaisedDelayOfAll(t *testing.T) {
	const before, after = 40 * time.Millisecond, 300 * time.Millisecond
	s := newControlled(t, 20, before)
	c := s.engine.Crawl()
	s.more(s.a, 4)
	s.more(s.b, 2)
	s.do(control.Set(t.Context(), c, ada, func(spec crawl.Spec) (crawl.Spec, error) {
		spec.Delay = after
		return spec, nil
	}))
	since := s.appliesFrom()
	s.more(s.a, 4)
	s.more(s.b, 4)
	last, n := map[string]time.Time{}, 0
	for _, q := range s.web.Log() {
		if q.Start.After(since) {
			if gap := q.Start.Sub(last[q.Host]); gap < after {
				t.Errorf("%s%s came %v after the one before", q.Host, q.Path, gap)
			}
			n++
		}
		last[q.Host] = q.End
	}
	if n < 6 {
		t.Errorf("only %d requests since: the log proves little", n)
	}
	site := canon.Origin{Scheme: "http", Host: canon.Host(s.a), Port: 80}
	for range 2 {
		s.do(control.Updates(t.Context(), c, ada, site, func(spec crawl.Spec) (crawl.Spec, string, error) {
			spec.UpdatesOff = []string{site.String()}
			return spec, "off", nil
		}))
	}
	s.wait(time.Minute)
	s.stop()
	s.audited("settings settings delay 40ms → 300ms", "updates "+site.String()+" off")
}

// Seeds are crawled, a URL is fetched again, a host is forgotten; names that the crawl does not
// know are refused, with what to type instead.
func TestSteeredURLs(t *testing.T) { simnet.Test(t, testControlledURLs) }

func testControlledURLs(t *testing.T) {
	s := newControlled(t, 5, 0)
	c := s.engine.Crawl()
	s.wait(time.Minute)
	// Out of scope, as the crawl is of two hosts.
	other := strings.Replace(s.a, "h0000", "h0099", 1)
	s.do(control.AddSeeds(t.Context(), c, ada, []string{"http://" + other + "/", "http://" + s.a + "/"}))
	again := "http://" + s.a + "/"
	asked := s.requests(s.a)
	s.do(control.Refetch(t.Context(), c, ada, again))
	s.more(s.a, asked+1-s.requests(s.a))
	s.wait(time.Minute)
	if x, err := c.Explain(t.Context(), "http://"+other+"/"); err != nil || !x.Seen || !x.InScope {
		t.Errorf("the seed: %+v, %v", x, err)
	}
	for name, act := range map[string]func() (string, error){
		"pause":   func() (string, error) { return control.PauseHost(t.Context(), c, ada, "unknown.example") },
		"delay":   func() (string, error) { return control.DelayHost(t.Context(), c, ada, "unknown.example", time.Second) },
		"refetch": func() (string, error) { return control.Refetch(t.Context(), c, ada, "http://unknown.example/") },
		"retry":   func() (string, error) { return control.Retry(t.Context(), c, ada, []string{"unknown.example"}) },
		"long":    func() (string, error) { return control.DelayHost(t.Context(), c, ada, s.a, crawl.MaxHostDelay+1) },
		"seeds":   func() (string, error) { return control.AddSeeds(t.Context(), c, ada, []string{"ftp://a.example/"}) },
		"none":    func() (string, error) { return control.AddSeeds(t.Context(), c, ada, nil) },
		"many": func() (string, error) {
			return control.AddSeeds(t.Context(), c, ada, make([]string, control.MaxSeedsAtOnce+1))
		},
	} {
		if text, err := act(); err == nil {
			t.Errorf("%s: %s", name, text)
		}
	}
	s.do(control.Retry(t.Context(), c, ada, []string{other}))
	s.stop()
	s.audited("seed http://"+other+"/ and 1 more", "refetch "+again, "retry "+other)
}

// audited checks that the crawl log has exactly these acts.
func (s *controlled) audited(want ...string) {
	s.t.Helper()
	b, err := os.ReadFile(filepath.Join(s.dir, "crawl.jsonl"))
	if err != nil {
		s.t.Fatal(err)
	}
	var got []string
	for raw := range bytes.Lines(b) {
		var l struct{ Audit, What, Detail, Who, From, Error string }
		if err := json.Unmarshal(raw, &l); err != nil {
			s.t.Fatalf("%v: %s", err, raw)
		}
		if l.Audit == "" {
			continue
		}
		got = append(got, strings.TrimSuffix(l.Audit+" "+l.What+" "+l.Detail, " "))
		if l.Who != ada.Who || l.From != ada.From || l.Error != "" {
			s.t.Errorf("%s", raw)
		}
	}
	for i := range want {
		want[i] = strings.TrimRight(want[i], " ")
	}
	for i := range got {
		got[i] = strings.TrimRight(got[i], " ")
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		s.t.Errorf("acts in the crawl log: %q, want %q", got, want)
	}
}
