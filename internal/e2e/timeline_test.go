package e2e

import (
	"fmt"
	"os/exec"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/simweb"
)

// TestTimelineUnderKills kills a crawl five times. Afterwards the timelines of
// its hosts have all that the web's own log has, in the same order and at the same times, and no
// pause in them is shorter than the bound that it names.
func TestTimelineUnderKills(t *testing.T) {
	t.Parallel()
	const hosts, kills, pages = 6, 5, 60
	delay := func(i int) time.Duration { return time.Duration(i%3) * 25 * time.Millisecond }
	p := newProgram(t, simweb.Config{Seed: 17, Hosts: hosts, PagesPerHost: pages, PageBytes: 2 << 10, Mix: func(i int) simweb.Behavior {
		return simweb.Behavior{Robots: simweb.RobotsSubtree, CrawlDelay: delay(i), Latency: 3 * time.Millisecond}
	}})
	web := p.web
	dir, seeds := t.TempDir(), make([]string, hosts)
	for i := range seeds {
		seeds[i] = fmt.Sprintf("http://h%04d.sim.test/", i)
	}
	crawlOn := func() *exec.Cmd { return p.crawl(dir, append([]string{"--delay", "10ms"}, seeds...)...) }
	for i := range kills {
		before := len(web.Log())
		if p.killWhen(crawlOn(), fmt.Sprintf("kill %d", i+1), func() bool { return len(web.Log()) >= before+hosts*pages/(kills+2) }) {
			t.Fatalf("the crawl was over before kill %d", i+1)
		}
	}
	p.run(crawlOn())
	log := web.Log()
	requests, cut := 0, 0
	for i := range hosts {
		name := fmt.Sprintf("h%04d.sim.test", i)
		var tl crawl.Timeline
		p.decode(p.run(p.command("timeline", name, "--json", "--dir", dir)), &tl)
		if tl.Host != name || tl.More || len(tl.Unknown) > 0 {
			t.Errorf("%s: more %v, unknown %v", tl.Host, tl.More, tl.Unknown)
		}
		cut += p.sameAsLog(tl, log)
		requests += len(tl.Requests)
		least := max(delay(i), 10*time.Millisecond).Seconds()
		for j, r := range tl.Requests {
			if r.Kind != "robots" && j > 0 && r.BoundS < least {
				t.Errorf("%s: a bound of %gs by %s", r.URL, r.BoundS, r.BoundSource)
			}
			if j == 0 || tl.Requests[j-1].Cut {
				continue
			}
			if pause := r.Start.Sub(tl.Requests[j-1].End); pause.Seconds() < r.BoundS {
				t.Errorf("%s: %v after the end before, %gs by %s are owed", r.URL, pause, r.BoundS, r.BoundSource)
			}
		}
	}
	t.Logf("%d requests in %d timelines, %d in the web's log; %d cut by %d kills", requests, hosts, len(log), cut, kills)
}

// sameAsLog holds a timeline against the web's own log, and returns how many of its requests were
// cut. One that was cut may have died before its first byte was out.
func (p *program) sameAsLog(tl crawl.Timeline, log []simweb.Request) (cut int) {
	p.t.Helper()
	// However late a busy machine lets either of them look at its clock, one request is over before
	// the next one comes.
	const ahead = 2 * time.Millisecond
	var came []time.Time // at this host
	for _, was := range log {
		if was.Host == tl.Host {
			came = append(came, was.Start)
		}
	}
	before, after := time.Time{}, append(came, time.Now())
	i := 0
	next := func() (r crawl.Request, ok bool) {
		if i == len(tl.Requests) {
			return r, false
		}
		r = tl.Requests[i]
		if i++; r.Cut {
			cut++
		}
		return r, true
	}
	for _, was := range log {
		if was.Host != tl.Host {
			continue
		}
		after = after[1:]
		url := "http://" + was.Origin + was.Path
		r, ok := next()
		for ok && r.URL != url && (r.Cut || r.Unsent) {
			r, ok = next()
		}
		// One that never reached the web was mostly sent again: that one is meant if it had begun.
		for ok && r.Cut && i < len(tl.Requests) && tl.Requests[i].URL == url && !tl.Requests[i].Start.After(was.Start.Add(ahead)) {
			r, ok = next()
		}
		switch {
		case !ok || r.URL != url:
			p.t.Fatalf("%s: the web's log has %s where the timeline has %q", tl.Host, url, r.URL)
		case r.Start.After(was.Start.Add(ahead)) || r.Start.Before(before):
			p.t.Errorf("%s: it came at %v, and was sent at %v", url, was.Start, r.Start)
		case !r.Cut && (r.Status != was.Status || r.End.Before(was.Start) || r.End.After(after[0].Add(ahead))):
			p.t.Errorf("%s: it came at %v, the next one at %v, and was answered %d; told of as %d at %v", url, was.Start, after[0], was.Status, r.Status, r.End)
		}
		before = was.Start
	}
	for r, ok := next(); ok; r, ok = next() {
		if !r.Cut && !r.Unsent {
			p.t.Errorf("%s: the web's log has no %s at %v", tl.Host, r.URL, r.Start)
		}
	}
	return cut
}
