package frontier

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Three hosts with delays of 1, 3 and 10 s: from the tenth second on, the estimated time left is
// within 20 % of the real one, or within the delay of the slowest host near the end; and more exact
// than queue length divided by rate.
func TestTimeLeft(t *testing.T) {
	for name, pages := range map[string][3]int{
		"the slow one is last":  {200, 100, 60},
		"the fast one is last":  {900, 100, 20},
		"all at the same time":  {600, 200, 60},
		"one is much of it all": {60, 300, 6},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { timeLeft(t, pages) })
		})
	}
}

// looked is an estimate at a time.
type looked struct {
	at        time.Time
	ours      float64
	unknown   bool
	queueRate float64
}

func timeLeft(t *testing.T, pages [3]int) {
	b := newBench(t, testSpec("http://h0.example/"))
	b.s.Ledger.DB.DB().NoSync = true
	delays := [3]time.Duration{time.Second, 3 * time.Second, 10 * time.Second}
	hosts := map[canon.Host]time.Duration{}
	for i, n := range pages {
		var l []string
		for u := range n {
			l = append(l, fmt.Sprintf("http://h%d.example/%d.html", i, u))
		}
		hosts[canon.Host(fmt.Sprintf("h%d.example", i))] = delays[i]
		b.links(0, "", l...)
	}
	const response = 150 * time.Millisecond
	began := time.Now()
	type walk struct {
		v      crawl.Visit
		next   time.Time // when its next answer has arrived
		done   int
		robots bool // still to be requested
		data   bool // the same for data.txt
		sent   int
	}
	var walks []*walk
	ended := map[canon.Host]time.Time{}
	var seen []looked
	var end time.Time
	for lookAt := began; end.IsZero(); time.Sleep(50 * time.Millisecond) {
		now := time.Now()
		for _, v := range b.grant(3) {
			w := &walk{v: v, robots: v.Robots[0].Fresh <= 0, data: v.Robots[0].ProbeData}
			start := now
			if t := ended[v.Host].Add(hosts[v.Host]); t.After(start) {
				start = t
			}
			w.next = start.Add(response)
			walks = append(walks, w)
		}
		keep := walks[:0]
		for _, w := range walks {
			if now.Before(w.next) {
				keep = append(keep, w)
				continue
			}
			w.sent++
			ended[w.v.Host] = now
			o := &crawl.Outcome{Host: w.v.Host, Delay: hosts[w.v.Host], Requests: w.sent, Private: true, Partial: true}
			ev := crawl.Event{Visit: w.v.ID, Outcome: o}
			if w.robots {
				w.robots = false
				fact := robotsOK(w.v.URLs[0].URL)
				fact.State, fact.Status, fact.HasCrawlDelay, fact.CrawlDelay = crawl.RobotsParsed, 200, true, hosts[w.v.Host]
				fact.Body, fact.Digest = []byte("User-agent: *\n"), make([]byte, 32)
				ev.Robots = append(ev.Robots, fact)
			} else if w.data {
				w.data = false
				ev.Probes = append(ev.Probes, crawl.Probe{Origin: w.v.URLs[0].URL.Origin(), State: crawl.ProbeAbsent, Fresh: 24 * time.Hour})
			} else {
				o.Results = []crawl.Result{{URL: w.v.URLs[w.done].URL, Class: crawl.Stored, Status: 200, Took: response, FetchedAt: now}}
				w.done++
			}
			o.Partial = w.done < len(w.v.URLs)
			b.event(ev)
			b.log = nil
			if w.next = now.Add(hosts[w.v.Host] + response); o.Partial {
				keep = append(keep, w)
			}
		}
		walks = keep
		b.s.Ledger.Mu.Lock()
		b.s.Visits.Renew(visitIDs(b.s), now)
		b.s.Ledger.Mu.Unlock()
		if now.Before(lookAt) {
			continue
		}
		lookAt = lookAt.Add(time.Second)
		a := answers{shards: func() []*Shard { return []*Shard{b.s} }, spec: func() crawl.Spec { return b.spec }, mend: func([]crawl.Status) {}}
		st, err := asker.Stopped(b.spec, nil, a.handlers()).Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if st.Queued+st.InFlight == 0 {
			end = now
			break
		}
		l := looked{at: now, unknown: st.ETA == nil, queueRate: -1}
		if st.ETA != nil {
			l.ours = *st.ETA
		}
		if st.Rate > 0 {
			l.queueRate = float64(st.Queued+st.InFlight) / st.Rate
		}
		seen = append(seen, l)
	}
	worst, ours, rival := 0., 0., 0.
	n := 0
	for _, l := range seen {
		if l.at.Sub(began) < 10*time.Second {
			continue
		}
		truth := end.Sub(l.at).Seconds()
		off := func(v float64) float64 { return max(v-truth, truth-v) / truth }
		if l.unknown {
			t.Fatalf("unknown after %v", l.at.Sub(began))
		}
		if truth > 15 {
			worst = max(worst, off(l.ours))
		} else if d := l.ours - truth; d > 5 || d < -5 {
			t.Errorf("%v before the end: %.1f s left", truth, l.ours)
		}
		ours, rival, n = ours+min(off(l.ours), 2), rival+min(off(l.queueRate), 2), n+1
	}
	t.Logf("%d pages took %v: off by %.1f %% at worst, %.1f %% in the mean; queue/rate by %.1f %%", pages, end.Sub(began), 100*worst, 100*ours/float64(n), 100*rival/float64(n))
	if worst > 0.2 {
		t.Errorf("off by %.0f %%", 100*worst)
	}
	if ours > rival {
		t.Errorf("farther from the truth than the queue by its rate: %v, %v", ours, rival)
	}
}

func visitIDs(s *Shard) (ids []crawl.VisitID) {
	for id := range s.Visits.Outstanding {
		ids = append(ids, id)
	}
	return ids
}

// The estimate for a host that was not visited yet uses the delay that its visit will get: --delay
// applies to private addresses, even if it is less than a second.
func TestTimeLeftBeforeTheFirstVisit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for private, want := range map[bool]float64{true: 0.1, false: 1} {
			spec := testSpec("http://seed.example/")
			spec.Delay, spec.AllowPrivate = 100*time.Millisecond, private
			b := newBench(t, spec)
			var l []string
			for i := range 50 {
				l = append(l, fmt.Sprintf("http://h1.example/%d", i))
			}
			b.links(0, "", l...)
			last := b.s.Account.Status(time.Now()).Outlook.Last
			if last == nil || last.Host != "h1.example" || last.DelayS != want {
				t.Fatalf("private %v: %+v, want %g s", private, last, want)
			}
			v, _ := b.granted(time.Minute)
			if v.Host != "h1.example" || v.Delay.Seconds() != want {
				t.Errorf("private %v: granted %s at %v, foretold were %g s", private, v.Host, v.Delay, want)
			}
		}
	})
}
