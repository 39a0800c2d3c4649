package fetcher

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/mobile/reading"
	"github.com/curtsy/curtsy/pkg/atp"
	"github.com/curtsy/curtsy/pkg/canon"
)

// A fetcher that is killed, at any step, leaves a position from which the next one goes on: no page
// is missing, and the robot is not sent again.
func TestDispatchGoesOn(t *testing.T) {
	for _, point := range []string{"append", "appended", "send pages", "sent pages"} {
		for nth := range 4 {
			t.Run(fmt.Sprint(point, " ", nth), func(t *testing.T) {
				virtual(t, func(t *testing.T) {
					var records [][]byte
					for i := range 30 {
						records = append(records, docRecord(fmt.Sprintf("/docs/%02d.html", i), strings.Repeat(fmt.Sprintf("<p>%d and much text", i*7919), 50+i)))
					}
					stream := resultsOf(t, 4, append(records, endRecord(30))...)
					h := newRobotHost(t, func(h *robotHost) { h.stream, h.piece, h.has = stream, len(stream)/5, true })
					d := newDispatchDesk(t, nil)
					robot, calls := testRobot(t), atomic.Int32{}
					fault := func(p string) error {
						if p == point && calls.Add(1) > int32(nth) {
							return errors.New("killed")
						}
						return nil
					}
					aux := dispatchAux(t)
					visit := crawl.Visit{Host: aux.URL.Host(), Aux: []crawl.AuxRequest{aux}, Delay: time.Second, Hurried: true}
					_, stop := startFetcher(t, d.desk, dispatchSpec(h.addr), Options{Robot: robot, Fault: fault})
					d.grant(visit)
					time.Sleep(time.Minute)
					stop()
					sent := strings.Count(strings.Join(h.requests(), " "), "DISPATCH")
					if all := d.progress(); len(all) > 0 { // what the shard knows now
						last := all[len(all)-1]
						d.mu.Lock()
						p := &d.plans[0]
						p.AgentID, p.Offset, p.Skip, p.Before = last.AgentID, last.Offset, last.Skip, last
						d.mu.Unlock()
					}
					startFetcher(t, d.desk, dispatchSpec(h.addr), Options{Robot: robot})
					_, a := d.carry(t)
					if a == nil || a.State != crawl.DispatchDone || a.Pages != 30 || len(d.results()) != 30 {
						t.Fatalf("%+v, %d results; %v", a, len(d.results()), h.requests())
					}
					// A part of the pages is no sample of all.
					if first := d.plans[0].Before.Pages; (first == 0) != (len(a.Sample) > 0) {
						t.Errorf("%d pages came before, and a sample of %d is compared", first, len(a.Sample))
					}
					known := d.plans[0].AgentID != ""
					if n := strings.Count(strings.Join(h.requests(), " "), "DISPATCH"); known && n != sent || !known && n != sent+1 {
						t.Errorf("the robot was sent %d times, at first %d times", n, sent)
					}
					stored := map[canon.URL]bool{}
					d.mu.Lock()
					for _, p := range d.pages {
						stored[p.URL] = true
					}
					d.mu.Unlock()
					if len(stored) != 30 {
						t.Errorf("%d pages of 30 were published", len(stored))
					}
				})
			})
		}
	}
}

// A dispatch that is not wanted any more is answered as such, and its run is retracted. One whose
// lease is lost is not: somebody else goes on.
func TestDispatchIsGivenUp(t *testing.T) {
	begun := func(p *crawl.DispatchPlan) { p.AgentID, p.Before.AgentID = robotRun, robotRun }
	slow := func(h *robotHost) {
		h.has = true
		h.before = func(_ int, w *atp.ResponseWriter, r *atp.Request) (bool, error) {
			if r.Method != atp.Fetch {
				return false, nil
			}
			w.Start(206, "OK", -1)
			w.Write(frame(t, asResult(docRecord("/docs/a", "x"))))
			w.Flush()
			pass(20 * time.Second)
			return true, nil
		}
	}
	for name, c := range map[string]struct {
		plan   func(p *crawl.DispatchPlan)
		during func(f *Fetcher, d *dispatchDesk) // ten seconds later
		state  string                            // empty: there is no answer
		want   string                            // requests
	}{
		"not wanted":     {func(p *crawl.DispatchPlan) { p.Wanted = false }, nil, crawl.DispatchDropped, ""},
		"not any more":   {func(p *crawl.DispatchPlan) { p.Wanted = false; begun(p) }, nil, crawl.DispatchDropped, "RETRACT"},
		"no robots.txt":  {func(p *crawl.DispatchPlan) { p.Robots.State = crawl.RobotsUnreachable }, nil, crawl.DispatchFailed, ""},
		"begun long ago": {func(p *crawl.DispatchPlan) { begun(p); p.Before.Began = time.Now().Add(-3 * time.Hour) }, nil, crawl.DispatchFailed, "RETRACT"},
		"forgotten": {nil, func(f *Fetcher, d *dispatchDesk) {
			spec := *f.cfg.Load().Spec()
			spec.Forgotten = []string{robotSite + "/"}
			if err := f.SetSpec(spec); err != nil {
				d.t.Error(err)
			}
		}, crawl.DispatchDropped, "DISPATCH, FETCH octets=0-, RETRACT"},
		"the lease is lost": {nil, func(_ *Fetcher, d *dispatchDesk) { d.mu.Lock(); d.lose = true; d.mu.Unlock() }, "", "DISPATCH, FETCH octets=0-"},
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(t *testing.T) {
				h := newRobotHost(t, slow)
				d := newDispatchDesk(t, c.plan)
				f, _ := startFetcher(t, d.desk, dispatchSpec(h.addr), Options{Robot: testRobot(t)})
				if c.during != nil {
					time.AfterFunc(10*time.Second, func() { c.during(f, d) })
				}
				_, a := d.carry(t)
				if state := ""; a != nil && a.State != c.state || a == nil && c.state != state {
					t.Errorf("%+v, want %s", a, c.state)
				}
				if got := strings.Join(h.requests(), ", "); got != c.want {
					t.Errorf("requests %s, want %s", got, c.want)
				}
			})
		})
	}
}

// Without a key the answer says what to do. A fifth dispatch waits for a later visit.
func TestDispatchWithoutKey(t *testing.T) {
	virtual(t, func(t *testing.T) {
		h := newRobotHost(t, nil)
		d := newDispatchDesk(t, nil)
		startFetcher(t, d.desk, dispatchSpec(h.addr), Options{})
		if _, a := d.carry(t); a == nil || a.State != crawl.DispatchFailed || !strings.Contains(a.Reason, "--mobile-robots") || len(h.requests()) > 0 {
			t.Errorf("%+v, %v", a, h.requests())
		}
	})
}

// A server that is busy is left alone for as long as it asks, whichever site's robots are due: its
// wait is that of its host, and the visit sends no other robot.
func TestDispatchToABusyServer(t *testing.T) {
	virtual(t, func(t *testing.T) {
		h := newRobotHost(t, func(h *robotHost) {
			h.before = func(_ int, w *atp.ResponseWriter, _ *atp.Request) (bool, error) {
				w.Header().Set(atp.RetryAfter, "1200")
				return true, w.Start(503, "busy", 0)
			}
		})
		d := newDispatchDesk(t, nil)
		startFetcher(t, d.desk, dispatchSpec(h.addr), Options{Robot: testRobot(t)})
		first, second := dispatchAux(t), dispatchAux(t)
		second.Hop++
		id := d.grant(crawl.Visit{Host: first.URL.Host(), Aux: []crawl.AuxRequest{first, second}, Delay: time.Second, Hurried: true})
		if out := d.outcome(id); out.RetryAfter != 20*time.Minute || out.Overloads != 1 || len(out.Done) != 1 || len(h.requests()) != 1 {
			t.Errorf("%+v, %v", out, h.requests())
		}
	})
}

// What a robot brings takes the path of fetched pages: robots tags of head and markup, links,
// renewals, types, truncation, and captures for the archive.
func TestDispatchKinds(t *testing.T) {
	skeleton := docRecord("/docs/hidden.html", "<meta name=robots content=noindex><a href=/docs/linked.html>x</a>")
	skeleton[0] = byte(reading.Skeleton)
	records := [][]byte{
		docRecord("/docs/tagged.html", "<p>x", "X-Robots-Tag: noindex"),
		docRecord("/docs/nosnippet.html", "<meta name=robots content=nosnippet><p>x"),
		skeleton,
		reading.AppendHead(nil, reading.Unchanged, "/docs/same.html", reading.Head("Status: 200\nETag: \"new\"\nX-Robots-Tag: noarchive\n")),
		[]byte("u/docs/same1.html\x00/docs/same2.html\x00"),
		append(reading.AppendHead(nil, reading.Document, "/docs/data.bin", reading.Head("Status: 200\nContent-Type: application/octet-stream\n")), "x"...),
		append(reading.AppendHead(nil, reading.Document, "/docs/a.txt", reading.Head("Status: 200\nContent-Type: text/plain\n")), "some text"...),
		docRecord("/docs/cut.html", "<p>the beginning", "Curtsy-Truncated: yes"),
		endRecord(9),
	}
	known := func(path string) crawl.KnownPage {
		return crawl.KnownPage{Path: reading.PathHash(path), Digest: 9, Depth: 3}
	}
	virtual(t, func(t *testing.T) {
		h := newRobotHost(t, func(h *robotHost) { h.stream, h.has = resultsOf(t, 2, records...), true })
		d := newDispatchDesk(t, func(p *crawl.DispatchPlan) {
			p.Known = []crawl.KnownPage{known("/docs/same.html"), known("/docs/same1.html"), known("/docs/same2.html"), known("/docs/a.txt")}
		})
		spec := dispatchSpec(h.addr)
		spec.WARC = "warc"
		startFetcher(t, d.desk, spec, Options{Robot: testRobot(t)})
		_, a := d.carry(t)
		if a == nil || a.State != crawl.DispatchDone || a.Pages != 5 || a.Unchanged != 3 || a.Ignored != 1 || len(a.Sample) != 6 {
			t.Fatalf("%+v", a)
		}
		for _, p := range a.Sample { // of what is called unchanged, only the stored digest is known
			if same := strings.Contains(string(p.URL), "/same"); same != (p.Type == "") || same && p.Digest != 9 {
				t.Errorf("%+v is compared", p)
			}
		}
		results := d.results()
		for path, want := range map[string]struct {
			class  crawl.Class
			reason crawl.Reason
			same   bool
		}{
			"tagged.html": {crawl.Refused, crawl.ReasonNoindex, false}, "nosnippet.html": {crawl.Stored, "", false}, "hidden.html": {crawl.Refused, crawl.ReasonNoindex, false},
			"same.html": {crawl.Stored, "", true}, "same1.html": {crawl.Stored, "", true}, "same2.html": {crawl.Stored, "", true}, "a.txt": {crawl.Stored, "", false}, "cut.html": {crawl.Stored, "", false},
		} {
			r := results[canon.URL(robotSite+"/docs/"+path)]
			if r.Class != want.class || r.Reason != want.reason || r.NotModified != want.same || !strings.HasPrefix(r.Rule, "mobile robot "+robotServer) {
				t.Errorf("%s: %+v", path, r)
			}
			p := d.pageOf(canon.URL(robotSite + "/docs/" + path))
			isResource := want.class == crawl.Stored && !want.same
			if (p.Capture != nil) != isResource || isResource && (p.Capture.Type == "" || len(p.Capture.Request) > 0 || !p.Capture.OfPage || p.Capture.Cut != (path == "cut.html")) {
				t.Errorf("%s: captured as %+v", path, p.Capture)
			}
			if p.Renewed != want.same || path == "same.html" && (!p.Tagged || p.Directives != crawl.NoArchive || p.ETag != `"new"`) || path == "same1.html" && p.Tagged {
				t.Errorf("%s: %+v", path, p)
			}
		}
		if !results[robotSite+"/docs/nosnippet.html"].NoSnippet || len(results) != 8 {
			t.Errorf("%+v", results)
		}
		if _, ok := d.links()[robotSite+"/docs/linked.html"]; !ok {
			t.Error("the links of a page that must not be stored are not followed")
		}
		if i := slices.IndexFunc(a.Sample, func(s crawl.DispatchSample) bool { return s.URL == robotSite+"/docs/nosnippet.html" }); i < 0 || a.Sample[i].Directives != uint8(crawl.NoSnippet) {
			t.Errorf("sample %+v", a.Sample)
		}
	})
}

// A page of a sample is requested like any other, and what is compared is reported.
func TestVerify(t *testing.T) {
	page := "<meta name=robots content=nosnippet><p>"
	for i := range 200 {
		page += fmt.Sprintf("word%d ", i*i)
	}
	for name, c := range map[string]struct {
		answer func(w http.ResponseWriter)
		want   crawl.Sample
	}{
		"page": {func(w http.ResponseWriter) {
			w.Header().Set("Last-Modified", "Fri, 20 Nov 2026 10:00:00 GMT")
			w.Header().Set("X-Robots-Tag", "noarchive")
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			io.WriteString(w, page)
		}, crawl.Sample{Status: 200, Digest: reading.Digest([]byte(page)), Directives: uint8(crawl.NoSnippet | crawl.NoArchive), Type: "text/html", Modified: time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)}},
		"gone":   {func(w http.ResponseWriter) { w.WriteHeader(404) }, crawl.Sample{Status: 404, Reason: "HTTP 404"}},
		"broken": {func(w http.ResponseWriter) { w.WriteHeader(500) }, crawl.Sample{Status: 500, Reason: "HTTP 500", Again: true}},
		"busy":   {func(w http.ResponseWriter) { w.WriteHeader(503) }, crawl.Sample{Status: 503, Reason: "overload: HTTP 503", Again: true}},
		"moved":  {func(w http.ResponseWriter) { w.Header().Set("Location", "/b"); w.WriteHeader(302) }, crawl.Sample{Status: 302, Reason: "redirect", Location: robotSite + "/b"}},
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(t *testing.T) {
				addr := origin(t, func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path == "/robots.txt" {
						w.WriteHeader(404)
						return
					}
					c.answer(w)
				})
				d := newDesk(t, 1)
				startFetcher(t, d, testSpec(1, addr), Options{})
				u := mustURL(t, robotSite+"/docs/a.html")
				out := d.outcome(d.grant(crawl.Visit{Host: u.Host(), Aux: []crawl.AuxRequest{{Kind: crawl.AuxVerify, URL: u, Origin: u.Origin(), Hop: 3}}}))
				got := d.answersOf(1)[0].Sample
				if c.want.Digest != 0 && got.Likeness == 0 {
					t.Errorf("no likeness: %+v", got)
				}
				if got.Likeness, got.Modified = 0, got.Modified.UTC(); c.want.Status != 200 {
					got.Type, got.Modified = "", time.Time{}
				}
				if c.want.Modified.IsZero() {
					got.Modified = time.Time{}
				}
				if got != c.want || len(out.Done) != 1 {
					t.Errorf("%+v, want %+v", got, c.want)
				}
			})
		})
	}
}
