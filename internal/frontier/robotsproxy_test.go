package frontier

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/polite"
	"github.com/curtsy/curtsy/internal/frontier/wellknown"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/robots"
)

// hop returns an auxiliary request for the robots.txt of http://<from>/ that was moved to u.
func hop(from string, u canon.URL) crawl.AuxRequest {
	return crawl.AuxRequest{Kind: crawl.AuxRobots, URL: u, Origin: canon.Origin{Scheme: "http", Host: canon.Host(from), Port: 80}, Hop: 1}
}

// hopped lets hops arrive, and returns what was answered at once.
func (b *bench) hopped(redirects ...crawl.AuxRequest) []crawl.Robots {
	b.t.Helper()
	b.event(crawl.Event{Aux: redirects})
	return b.answered()
}

// answered returns what the shard has answered since the last call.
func (b *bench) answered() (facts []crawl.Robots) {
	b.t.Helper()
	b.commit()
	for _, m := range b.s.Ledger.CommittedOutbox() {
		ev, err := crawl.DecodeEvent(b.outgoing(m))
		if err != nil {
			b.t.Fatal(err)
		}
		for _, a := range ev.Answers {
			facts = append(facts, a.Robots)
		}
		b.s.Ledger.MarkSent(m.N)
	}
	return facts
}

// A hop to the robots.txt of a host itself is answered from the copy in use; all others wait for
// that copy and are answered with the first, if it forbids them all.
func TestHopsWaitForTheRulesOfTheirHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const o, path = "http://b.example", "http://b.example/r.txt"
		at := canon.URL(o + "/").Origin()
		big := "#" + strings.Repeat("x", wellknown.ProxyInline) + "\n"
		small := strings.Repeat("#", wellknown.ProxyInline)
		for _, tt := range []struct {
			name  string
			fact  crawl.Robots
			lent  string // answer to a hop to /robots.txt; "" waits
			moved string // answer to another
		}{
			{"rules", crawl.Robots{State: crawl.RobotsParsed, Status: 200, Body: []byte(small), Fresh: time.Hour, HasCrawlDelay: true, CrawlDelay: 2 * time.Second}, "parsed", ""},
			{"large", crawl.Robots{State: crawl.RobotsParsed, Status: 200, Body: []byte(big), Fresh: time.Hour}, "", ""},
			{"none", crawl.Robots{State: crawl.RobotsUnavailable, Status: 404, Fresh: time.Hour}, "unavailable", ""},
			{"unreachable", crawl.Robots{State: crawl.RobotsUnreachable, Status: 503}, "unreachable", "unreachable"},
			{"moved", crawl.Robots{State: crawl.RobotsPending, Status: 302, Location: "http://c.example/r", Redirects: 2}, "pending http://c.example/r 3", "unreachable"},
			{"slow", crawl.Robots{State: crawl.RobotsParsed, Status: 200, Body: []byte("#"), Fresh: time.Hour, HasCrawlDelay: true, CrawlDelay: time.Hour}, "parsed", "unreachable"},
		} {
			for _, late := range []bool{false, true} {
				b := newBench(t, testSpec())
				fact := tt.fact
				fact.Origin = at
				if fact.Body != nil {
					sum := robots.Digest(fact.Body)
					fact.Digest = sum[:]
				}
				learn := func() {
					b.event(crawl.Event{Robots: []crawl.Robots{fact}})
					time.Sleep(time.Minute)
				}
				lent, moved := hop("a.example", o+"/robots.txt"), hop("a.example", path)
				b.links(0, "", o+"/")
				var got []crawl.Robots
				if late {
					learn()
					got = b.hopped(lent, moved)
				} else {
					if got := b.hopped(lent, moved); len(got) != 0 {
						t.Errorf("%s: answered before its host was asked: %+v", tt.name, got)
					}
					learn()
					got = b.answered()
				}
				var reported, want []string
				for _, f := range got {
					s := f.State.String()
					if f.State == crawl.RobotsPending {
						s = fmt.Sprintf("%s %s %d", s, f.Location, f.Redirects)
					}
					reported = append(reported, s)
					if f.Origin.Host != "a.example" || string(f.Body) != string(fact.Body) && f.State == crawl.RobotsParsed || f.HasCrawlDelay && f.CrawlDelay != fact.CrawlDelay {
						t.Errorf("%s: %+v", tt.name, f)
					}
					if late && f.Age+f.Fresh != time.Hour && f.Fresh > 0 {
						t.Errorf("%s: %v old and fresh for %v, of an hour", tt.name, f.Age, f.Fresh)
					}
				}
				waits := 0
				for _, s := range []string{tt.lent, tt.moved} {
					if s != "" {
						want = append(want, s)
					} else {
						waits++
					}
				}
				if fmt.Sprint(reported) != fmt.Sprint(want) || len(b.s.Ledger.Hosts["b.example"].Aux) != waits {
					t.Errorf("%s, late %v: answered %v, %d wait; want %v, %d", tt.name, late, reported, len(b.s.Ledger.Hosts["b.example"].Aux), want, waits)
				}
				if waits > 0 && fact.State != crawl.RobotsUnreachable {
					time.Sleep(time.Minute)
					if v := b.grant(1); len(v) != 1 || len(v[0].Aux) != waits || len(v[0].Robots) != 1 || v[0].Robots[0].State != fact.State {
						t.Errorf("%s: granted %+v, want %d auxiliary requests and the rules of their host", tt.name, v, waits)
					}
				}
			}
		}
	})
}

// Our own limit of hops allows nothing that was forbidden, or may be.
func TestHopsOverTheLimitAllowNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, tt := range []struct {
			name   string
			before crawl.Robots
			want   crawl.RobotsState
		}{
			{"first", crawl.Robots{}, crawl.RobotsUnavailable},
			{"had rules", crawl.Robots{State: crawl.RobotsParsed, Status: 200, Body: []byte("#"), Digest: make([]byte, 32), Fresh: time.Hour}, crawl.RobotsUnreachable},
			{"had none", crawl.Robots{State: crawl.RobotsUnavailable, Status: 404, Fresh: time.Hour}, crawl.RobotsUnavailable},
			{"unreachable", crawl.Robots{State: crawl.RobotsUnreachable, Status: 503}, crawl.RobotsUnreachable},
		} {
			b := newBench(t, testSpec())
			b.links(0, "", "http://a.example/")
			o := canon.URL("http://a.example/").Origin()
			if tt.before.State != crawl.RobotsUnknown {
				tt.before.Origin = o
				b.event(crawl.Event{Robots: []crawl.Robots{tt.before}})
				time.Sleep(25 * time.Hour)
			}
			b.event(crawl.Event{Robots: []crawl.Robots{{Origin: o, State: crawl.RobotsPending, Status: 302, Location: "http://b.example/r", Redirects: 1}}})
			b.event(crawl.Event{Answers: []crawl.Answer{{Aux: hop("a.example", "http://b.example/r"),
				Robots: crawl.Robots{Origin: o, State: crawl.RobotsUnavailable, Fresh: robots.MaxAge, Reason: "over 10 redirects a day"}}}})
			if got, _ := polite.State(&b.s.Ledger.Hosts["a.example"].Origins[0], time.Now()); got != tt.want {
				t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
			}
		}
	})
}

// A Crawl-delay of a robots.txt on another host counts from the last request that was made without
// knowing it, whichever visit makes the next one.
func TestDelayOfARobotsTxtElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testSpec())
		b.links(0, "", "http://a.example/")
		v := b.grant(1)[0]
		o := v.URLs[0].URL.Origin()
		b.event(crawl.Event{Visit: v.ID, Robots: []crawl.Robots{{Origin: o, State: crawl.RobotsPending, Status: 302, Location: "http://b.example/r", Redirects: 1}}})
		b.event(crawl.Event{Visit: v.ID, Outcome: &crawl.Outcome{Host: v.Host, Requests: 1, Delay: v.Delay}})
		const delay = 30 * time.Second
		b.event(crawl.Event{Answers: []crawl.Answer{{Aux: hop("a.example", "http://b.example/r"),
			Robots: crawl.Robots{Origin: o, State: crawl.RobotsParsed, Status: 200, Fresh: time.Hour, HasCrawlDelay: true, CrawlDelay: delay}}}})
		if _, after := b.nextVisit(); after != delay {
			t.Errorf("the next visit begins after %v, want %v", after, delay)
		}
	})
}

// A robots.txt that was read for another host, when no URL of its own host was known, still names
// sitemaps: they are requested when there is something to crawl.
func TestSitemapsOfARobotsTxtReadForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, withSitemaps("http://a.example/"))
		b.hopped(hop("a.example", "http://b.example/robots.txt"))
		b.learned("http://b.example", "Sitemap: /s1.xml\nSitemap: /s2.txt\n", crawl.VisitID{})
		if got := b.sitemapsOf("b.example"); got != nil {
			t.Errorf("asked for, although nothing of their host is crawled: %v", got)
		}
		b.links(1, "http://a.example/", "http://b.example/x")
		b.outboxToLog()
		want := "[http://b.example/s1.xml for http://b.example http://b.example/s2.txt for http://b.example]"
		if got := fmt.Sprint(b.sitemapsOf("b.example")); got != want {
			t.Errorf("asked for %s, want %s", got, want)
		}
	})
}
