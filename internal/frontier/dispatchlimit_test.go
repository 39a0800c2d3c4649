package frontier

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	rand "math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/budget"
	"github.com/curtsy/curtsy/internal/frontier/dispatch"
	"github.com/curtsy/curtsy/internal/frontier/times"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/internal/testaid"
	"github.com/curtsy/curtsy/pkg/canon"
)

// limited is a bench whose page budget survives its crashes.
type limited struct {
	*bench
	kv    fakeKV
	pages int64
}

// join makes the shard use the page budget, as an owner does that has read the log.
func (b *limited) join(unclean bool) {
	of := &budget.Budget{Log: slog.New(slog.DiscardHandler).Error}
	of.Open(context.Background(), &b.kv)
	of.SetLimit(b.pages, 0)
	of.Join(0, b.s.Visits.Slots(time.Now()), 0, yes, unclean)
	b.s.Ledger.Budget = of
}

// check reports more pages than are permitted.
func (b *limited) check(when string) {
	b.t.Helper()
	if n := b.status().Stored; n > b.pages {
		b.t.Fatalf("%s: %d pages are stored of --max-pages %d", when, n, b.pages)
	}
	var rec struct{ Reserved map[int]int64 }
	if len(b.kv.v) > 0 {
		if err := json.Unmarshal(b.kv.v, &rec); err != nil {
			b.t.Fatal(err)
		}
	}
	if rec.Reserved[0] > b.pages {
		b.t.Fatalf("%s: %d pages are reserved of --max-pages %d", when, rec.Reserved[0], b.pages)
	}
	left := int64(0)
	for i := range 3 {
		h, err := b.s.Ledger.HostNamed(canon.Host(fmt.Sprintf("h%d.a.example", i)))
		if err != nil {
			b.t.Fatal(err)
		}
		if h != nil {
			p, err := b.s.Dispatches.Infos(h)
			if err != nil {
				b.t.Fatal(err)
			}
			for _, d := range p {
				if d.State == "queued" || d.State == "running" {
					left++
				}
			}
		}
	}
	if left == 0 && b.s.Ledger.Reserved != 0 {
		b.t.Fatalf("%s: %d pages are reserved for robots, but none is out", when, b.s.Ledger.Reserved)
	}
}

// --max-pages is never exceeded, in whatever order robots bring pages, also more than they may,
// visits end or expire, fetchers are replaced, and the owner of the shard is killed. In the end all
// pages that are permitted are stored.
func TestRobotsNeverExceedMaxPages(t *testing.T) {
	for seed := range uint64(testaid.Runs(24, 12)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { limitRun(t, seed) })
		})
	}
}

// The pages that were reserved for a robot are not given to anybody else before an earlier fetcher
// can no longer report some of them.
func TestPagesOfARobotArriveAfterItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &limited{bench: newBench(t, dispatchSpec()), pages: 20}
		b.join(false)
		b.links(1, "", pagesAt(robotsSite, 100, 40)...)
		b.namesServer(robotsSite, robotsTxt)
		v, _ := b.sentRobot(time.Minute)
		d := b.plan(v.Aux[0]).Before
		if d.Limit != 20 || b.s.Ledger.Reserved != 20 {
			t.Fatalf("a limit of %d pages, %d are reserved", d.Limit, b.s.Ledger.Reserved)
		}
		b.brings(v.Aux[0], &d, pagesAt(robotsSite, 0, 5)...)
		late := bringing(t, v.Aux[0], &d, pagesAt(robotsSite, 5, 10)...)
		b.ends(v, &crawl.Dispatch{Pages: 5}, crawl.DispatchFailed)
		granted := func() (n int) {
			for _, v := range b.grant(4) {
				n += len(v.URLs)
				b.served(v, asBrought)
			}
			return n
		}
		n := 0
		for range 10 { // some of these visits are for pages that are compared
			n += granted()
			time.Sleep(time.Second)
		}
		if n != 0 || b.s.Ledger.Reserved != 0 {
			t.Errorf("%d pages granted at once, %d are reserved", n, b.s.Ledger.Reserved)
		}
		b.event(late)
		b.check("late")
		for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(time.Second) {
			b.upkeep()
			n += granted()
			b.check("afterwards")
		}
		if n != 5 || b.status().Stored != 20 {
			t.Errorf("%d pages granted, %d are stored", n, b.status().Stored)
		}
	})
}

// carrier is a fetcher that carries a dispatch out.
type carrier struct {
	v crawl.Visit
	d crawl.Dispatch
}

func limitRun(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 30))
	spec := dispatchSpec()
	spec.Recrawl, spec.RecrawlMin = true, time.Hour
	b := &limited{bench: newBench(t, spec), pages: int64(20 + rng.IntN(60))}
	b.join(false)
	site := func(i int) string { return fmt.Sprintf("http://h%d.a.example", i) }
	for i := range 3 {
		b.links(0, "", pagesAt(site(i), 0, 30)...)
		b.learned(site(i), robotsTxt, crawl.VisitID{})
	}
	var out []carrier
	var pages []crawl.Visit
	brings := func(c *carrier) {
		n := 1 + rng.IntN(12)
		if c.d.Limit > 0 && rng.IntN(5) > 0 { // otherwise it brings more than it may
			n = min(n, int(c.d.Limit-c.d.Pages))
		}
		if n > 0 {
			b.brings(c.v.Aux[0], &c.d, pagesAt(c.v.Aux[0].Origin.String(), 10+int(c.d.Pages), n)...)
		}
	}
	for step := range 300 {
		what := rng.IntN(100)
		switch {
		case what < 30:
			b.upkeep()
			for _, v := range b.grant(1 + rng.IntN(3)) {
				switch {
				case len(v.Aux) > 0 && v.Aux[0].Kind == crawl.AuxDispatch:
					if p := b.plan(v.Aux[0]); p.Wanted {
						out = append(out, carrier{v, p.Before})
					} else {
						b.ends(v, &crawl.Dispatch{}, crawl.DispatchDropped)
					}
				case len(v.Aux) > 0:
					b.served(v, asBrought)
				default:
					pages = append(pages, v)
				}
			}
		case what < 55 && len(out) > 0:
			brings(&out[rng.IntN(len(out))])
		case what < 62 && len(out) > 0:
			i := rng.IntN(len(out))
			b.ends(out[i].v, &out[i].d, []string{crawl.DispatchDone, crawl.DispatchCut, crawl.DispatchFailed}[rng.IntN(3)])
			out = slices.Delete(out, i, i+1)
		case what < 80 && len(pages) > 0:
			i := rng.IntN(len(pages))
			b.served(pages[i], nil)
			pages = slices.Delete(pages, i, i+1)
		case what < 85: // the visits of all fetchers expire
			time.Sleep(times.OwnerLease + time.Second)
			if err := b.s.Visits.Expire(time.Now()); err != nil {
				t.Fatal(err)
			}
			for i := range out { // what was on its way still arrives
				if rng.IntN(2) == 0 {
					brings(&out[i])
				}
			}
			out, pages = nil, nil
		case what < 90:
			b.crash()
			b.open()
			b.join(true)
			pages = nil // robots' fetchers go on
		case what < 93:
			b.s.Ledger.Budget.GiveBackNow(0)
		default:
			time.Sleep(time.Duration(rng.IntN(int(2 * time.Minute))))
			b.passes()
		}
		b.s.Visits.ReportBudget(time.Now())
		b.check(fmt.Sprint("step ", step, ", ", what))
	}
	// Nothing is left reserved.
	time.Sleep(dispatch.GiveUp + times.OwnerLease + time.Second)
	if err := b.s.Visits.Expire(time.Now()); err != nil {
		t.Fatal(err)
	}
	b.respec(func(s *crawl.Spec) { s.SendRobots = false })
	for range 150 {
		b.upkeep()
		b.passes()
		for _, v := range b.grant(4) {
			b.served(v, asBrought)
		}
		time.Sleep(2 * time.Second)
		b.check("at the end")
	}
	st := b.status()
	if want := min(b.pages, st.Discovered); st.Stored != want {
		t.Errorf("%d pages are stored, want %d; %+v", st.Stored, want, st)
	}
	if b.s.Ledger.Reserved != 0 {
		t.Errorf("%d pages are reserved in the end", b.s.Ledger.Reserved)
	}
}

// The owner of a shard answers requests for plans over NATS, and nobody else does.
func TestPlansOverNATS(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		spec := dispatchSpec()
		c := newCrew(t, spec)
		a := c.start("a")
		ask := func() (p crawl.DispatchPlan, err error) {
			q := crawl.DispatchQuery{Origin: canon.URL(robotsSite + "/").Origin(), About: robotsSite + "/", Hop: 1}
			m, err := c.q.NC.Request(crawl.Names(spec.Name).Dispatch(0), crawl.AppendDispatchQuery(nil, q), time.Second)
			if err != nil {
				return p, err
			}
			return crawl.DecodeDispatchPlan(m.Data)
		}
		until(t, 20*time.Second, "the plan is answered", func() bool {
			p, err := ask()
			return err == nil && !p.Wanted
		})
		if _, err := c.q.NC.Request(crawl.Names(spec.Name).Dispatch(0), []byte{0xff}, time.Second); err == nil {
			t.Error("a request that cannot be read is answered")
		}
		a.stop()
		if _, err := ask(); err == nil {
			t.Error("a frontier that has left its shard answers")
		}
	})
}
