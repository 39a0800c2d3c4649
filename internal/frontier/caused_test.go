package frontier

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/polite"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Many names of one domain claim that a stranger is their main host. Each claim has up to five
// pages of the stranger compared, and again more closely. In two hours it receives 2,001 requests
// because of 200 names without an allowance, and 151 with it.
func TestNamesOfOneDomainClaimAStranger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := map[string]*site{"victim.example": {robots: "404", pages: map[string]string{"/": "victim"}}}
		var seeds []string
		for i := range 200 {
			name := fmt.Sprintf("n%d.evil.example", i)
			pages := map[string]string{"/": fmt.Sprint("root ", i)}
			for k := range 6 {
				path := fmt.Sprintf("/%d-%d", i, k)
				pages["/"] += fmt.Sprintf(" <%s>", path)
				pages[path] = "text of " + path
			}
			web[name] = &site{robots: "User-agent: *\nAllow: /\nHost: victim.example\n", pages: pages}
			seeds = append(seeds, "http://"+name+"/")
		}
		g := newRig(t, 1, web)
		g.seed(seeds...)
		g.run(2 * time.Hour)
		got, most := len(g.requests["http://victim.example"]), polite.CausedInside.Burst+2*60+2
		if got > most || got < polite.CausedInside.Burst {
			t.Errorf("%d requests to the stranger in two hours, not %d at most", got, most)
		}
	})
}

// causer sends auxiliary requests to a bench, and counts those that are granted.
type causer struct {
	*bench
	sent    map[canon.Host]int // by the host that caused them
	refused map[string]int     // by reason
}

// outside is the spec of a crawl that has only one host in scope.
func outside() crawl.Spec {
	spec := testSpec("http://seed.example/")
	spec.Scope = "host"
	return spec
}

func (c *causer) causes(list ...crawl.AuxRequest) {
	for len(list) > 0 {
		n := min(len(list), 100)
		c.event(crawl.Event{Aux: list[:n]})
		list = list[n:]
	}
}

// run grants all visits of a span of time. Each request takes a second.
func (c *causer) run(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(time.Second) {
		if err := c.s.Features.Upkeep(time.Now()); err != nil {
			c.t.Fatal(err)
		}
		for _, v := range c.grant(4) {
			ev := crawl.Event{Visit: v.ID}
			for _, r := range v.Robots {
				ev.Robots = append(ev.Robots, robotsOK(canon.URL(r.Origin.String()+"/")))
			}
			for _, e := range v.Aux {
				c.sent[e.Origin.Host]++
				time.Sleep(v.Delay)
			}
			ev.Outcome = &crawl.Outcome{Host: v.Host, Delay: v.Delay, Requests: len(v.Aux), Done: v.Aux}
			c.event(ev)
		}
		c.commit()
		for _, m := range c.s.Ledger.CommittedOutbox() {
			ev, err := crawl.DecodeEvent(c.outgoing(m))
			if err != nil {
				c.t.Fatal(err)
			}
			for _, a := range ev.Answers {
				c.refused[a.Robots.Reason+a.Probe.Reason+a.Claim.Reason+a.Sample.Reason]++
			}
			c.s.Ledger.MarkSent(m.N)
		}
	}
}

func newCauser(t *testing.T, spec crawl.Spec) *causer {
	return &causer{bench: newBench(t, spec), sent: map[canon.Host]int{}, refused: map[string]int{}}
}

// all is how many requests were sent because of names that end so.
func (c *causer) all(suffix string) (n int) {
	for h, k := range c.sent {
		if strings.HasSuffix(string(h), suffix) {
			n += k
		}
	}
	return n
}

func causedBy(kind crawl.AuxKind, host, url string) crawl.AuxRequest {
	return crawl.AuxRequest{Kind: kind, URL: canon.URL(url), Origin: testOriginOf(host), Hop: 1}
}

// 1,000 names of one domain lead to a stranger, by redirects or otherwise. In an hour it receives
// 40 requests, and without an allowance 1,000; of redirects of robots.txt 10, by their own limit.
func TestStrangersReceiveFewRequests(t *testing.T) {
	for _, kind := range []crawl.AuxKind{crawl.AuxRobots, crawl.AuxData, crawl.AuxSample} {
		t.Run(kind.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCauser(t, outside())
				const names = 1000
				for i := range names {
					c.causes(causedBy(kind, fmt.Sprintf("n%d.evil.example", i), fmt.Sprintf("http://victim.example/%d", i)))
					if i%10 == 0 {
						c.run(time.Second)
					}
				}
				c.run(time.Hour)
				sent, refused := c.all(".evil.example"), 0
				for why, n := range c.refused {
					refused += n
					if why == "" {
						t.Errorf("%d refusals have no reason", n)
					}
				}
				if most := polite.CausedOutside.Burst + 40; sent > most || sent < 10 {
					t.Errorf("%d requests in an hour, not %d at most", sent, most)
				}
				if sent+refused+len(c.s.Ledger.Hosts["victim.example"].Aux) != names {
					t.Errorf("%d sent, %d refused, %d wait, of %d: some are lost", sent, refused, len(c.s.Ledger.Hosts["victim.example"].Aux), names)
				}
			})
		})
	}
}

// 950 domains use one service outside of the scope, as sites do with a hub. Somebody else causes as
// many requests as it can: 69 of them are sent, and 645 without an allowance. All of the others are
// served within two hours, and 240 of them in the first four minutes, as many as without.
func TestOneServiceOfManyDomains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCauser(t, outside())
		const domains = 950
		for i := range 100 {
			c.causes(causedBy(crawl.AuxData, fmt.Sprintf("n%d.evil.example", i), fmt.Sprintf("http://hub.example/evil%d", i)))
		}
		for i := range domains {
			c.causes(causedBy(crawl.AuxData, fmt.Sprintf("good%d.example", i), fmt.Sprintf("http://hub.example/%d", i)))
		}
		first := 0
		for minute := range 120 {
			for i := range 5 {
				c.causes(causedBy(crawl.AuxData, fmt.Sprintf("m%d-%d.evil.example", minute, i), fmt.Sprintf("http://hub.example/m%d-%d", minute, i)))
			}
			c.run(time.Minute)
			if minute == 3 {
				first = len(c.sent)
			}
		}
		good := len(c.sent)
		for h := range c.sent {
			if strings.HasSuffix(string(h), ".evil.example") {
				good--
			}
		}
		if good != domains || c.all(".evil.example") > polite.CausedOutside.Burst+70 || first < 200 {
			t.Errorf("%d of %d domains were served, %d in the first minutes; %d requests because of one that causes many", good, domains, first, c.all(".evil.example"))
		}
	})
}

// When a host has no room for more requests, the party with the most waiting there gives way: to
// another party, and to the host itself, but not to one that has as many.
func TestRoomForEverybody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCauser(t, outside())
		for party := range 30 { // as many of each as may wait
			for i := range polite.CausedOutside.Burst + 7 {
				c.causes(causedBy(crawl.AuxData, fmt.Sprintf("n%d.evil%d.example", i, party), fmt.Sprintf("http://victim.example/%d-%d", party, i)))
			}
		}
		h := c.s.Ledger.Hosts["victim.example"]
		for _, by := range []string{"good.example", "victim.example", "new.evil3.example"} {
			c.causes(causedBy(crawl.AuxData, by, "http://victim.example/"+by))
			waits := slices.ContainsFunc(h.Aux, func(e crawl.AuxRequest) bool { return string(e.Origin.Host) == by })
			if waits == (by == "new.evil3.example") || len(h.Aux) != hosts.MaxAux {
				t.Errorf("%s: waits %v, with %d", by, waits, len(h.Aux))
			}
		}
		c.run(time.Second)
		refused := 0
		for why, n := range c.refused {
			refused += n
			if !strings.HasPrefix(why, "too many auxiliary requests for victim.example") {
				t.Errorf("%d are refused: %q", n, why)
			}
		}
		if most := 30*(polite.CausedOutside.Burst+7) + 3; refused != most-hosts.MaxAux {
			t.Errorf("%d of %d are refused", refused, most)
		}
	})
}

// A portal lists sitemaps on a host of its content network, which is in scope. In ten minutes as
// many are read as if its own host listed them.
func TestAllowanceDoesNotDelayAPortal(t *testing.T) {
	driven(t)
	read := func(by string) (n int) {
		synctest.Test(t, func(t *testing.T) {
			c := newCauser(t, withSitemaps("http://portal.example/", "http://cdn.example/"))
			for i := range 120 {
				c.causes(causedBy(crawl.AuxSitemap, by, fmt.Sprintf("http://cdn.example/%d.xml", i)))
			}
			c.run(10 * time.Minute)
			n = c.all(by)
		})
		return n
	}
	if own, other := read("cdn.example"), read("portal.example"); other < own || other < 100 {
		t.Errorf("%d sitemaps of another host are read in ten minutes, and %d of the same one", other, own)
	}
}

// What was used of an allowance outlives a crash.
func TestAllowanceAfterACrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCauser(t, outside())
		send := func(from string, n int) {
			for i := range n {
				c.causes(causedBy(crawl.AuxData, fmt.Sprintf("n%s%d.evil.example", from, i), fmt.Sprintf("http://victim.example/%s%d", from, i)))
			}
			c.run(2 * time.Minute)
		}
		send("a", 40)
		before := c.all(".evil.example")
		c.crash()
		c.open()
		send("b", 40)
		if n := c.all(".evil.example"); before < polite.CausedOutside.Burst || n > before+3 {
			t.Errorf("%d requests before a crash, %d with those after it", before, n)
		}
		time.Sleep(2 * time.Hour)
		c.run(time.Second)
		if n := c.s.Ledger.Tx.Bucket(store.BucketCaused).Stats().KeyN; n != 2 {
			t.Errorf("%d allowances are in the file, not the two of those that waited", n)
		}
	})
}

// Every kind of auxiliary request counts, and has an answer with a reason if it is refused. A kind
// that no request is sent for does not count.
func TestEveryKindHasAnAllowance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, spec := range []crawl.Spec{outside(), testSpec()} {
			b := newBench(t, spec)
			for _, kind := range crawl.AuxKinds() {
				name := canon.Host(fmt.Sprintf("victim%d.example", kind))
				b.links(0, "", "http://"+string(name)+"/")
				b.causedHost(name, func(h *hosts.Host) {
					now, n := time.Now(), 0
					e := causedBy(kind, "a.evil.example", "http://"+string(name)+"/x")
					for ; n < 1000 && !b.s.Polite.AuxFrom(h, &e, now).After(now); n++ {
						if err := b.s.Polite.Caused.Use(h, &e, now); err != nil {
							t.Fatal(err)
						}
					}
					if (n < 1000) == (kind == crawl.AuxTwin) {
						t.Errorf("%v: %d requests of one party at once", kind, n)
					}
					own := causedBy(kind, "x."+string(name), "http://"+string(name)+"/x")
					if from := b.s.Polite.AuxFrom(h, &own, now); from.After(now) {
						t.Errorf("%v: a party has to wait for itself", kind)
					}
					if a := polite.Refusal(&e, "the reason", time.Hour); !strings.Contains(fmt.Sprintf("%+v %+v %+v %+v %+v %+v", a, a.SecurityTxt, a.LLMSTxt, a.KeyFile, a.Feed, a.Dispatch), "the reason") {
						t.Errorf("%v: a refusal has no reason", kind)
					}
				})
			}
		}
	})
}

// causedHost calls do with a host, also one out of scope.
func (b *bench) causedHost(name canon.Host, do func(h *hosts.Host)) {
	b.t.Helper()
	h, err := b.s.Ledger.HostOf(name)
	if err != nil {
		b.t.Fatal(err)
	}
	do(h)
}

// However many parties cause requests, the memory and the file of their allowances have a limit.
func TestAllowancesAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, outside())
		b.causedHost("victim.example", func(h *hosts.Host) {
			for i := range polite.MostCaused + 500 {
				e := causedBy(crawl.AuxData, fmt.Sprintf("evil%d.example", i), "http://victim.example/x")
				if err := b.s.Polite.Caused.Use(h, &e, time.Now()); err != nil {
					t.Fatal(err)
				}
			}
		})
		b.commit()
		if n := b.s.Ledger.Tx.Bucket(store.BucketCaused).Stats().KeyN; n > polite.MostCaused || n < polite.MostCaused/2 {
			t.Errorf("%d allowances are kept, of at most %d", n, polite.MostCaused)
		}
	})
}
