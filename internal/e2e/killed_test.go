package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/simweb"
)

// TestKilledRepeatsLittle kills a crawl of 40 hosts with delays of 20 to 100 ms ten times, as a
// power cut would. What was told of is not fetched again: of each host at most two requests are
// repeated for each kill. None is early, and at the end all is as without kills.
func TestKilledRepeatsLittle(t *testing.T) {
	t.Parallel()
	const hosts, kills, most = 40, 10, 2
	p := newProgram(t, simweb.Config{Seed: 13, Hosts: hosts, PagesPerHost: 70, PageBytes: 2 << 10, Mix: func(i int) simweb.Behavior {
		return simweb.Behavior{Robots: simweb.RobotsSubtree, CrawlDelay: time.Duration(i%5+1) * 20 * time.Millisecond, Latency: 2 * time.Millisecond}
	}})
	web := p.web
	dir, seeds := t.TempDir(), make([]string, hosts)
	for i := range seeds {
		seeds[i] = fmt.Sprintf("http://h%04d.sim.test/", i)
	}
	const each = hosts * 70 / (kills + 2)
	var ends []time.Time // of the processes
	for i := range kills {
		before := len(web.Log())
		if p.killWhen(p.crawl(dir, seeds...), fmt.Sprintf("kill %d", i+1), func() bool { return len(web.Log()) >= before+each }) {
			t.Fatalf("the crawl was over before kill %d", i+1)
		}
		ends = append(ends, time.Now())
	}
	p.run(p.crawl(dir, seeds...))
	life := func(r simweb.Request) (n int) {
		for n < len(ends) && r.Start.After(ends[n]) {
			n++
		}
		return n
	}
	type at struct {
		host string
		kill int
	}
	repeats, last, sum, log := map[at]int{}, map[string]int{}, 0, web.Log()
	for _, r := range log {
		u, n := r.Host+r.Path, life(r)
		if before, again := last[u]; again {
			if sum++; before == n {
				t.Errorf("%s was asked for twice by one process", u)
			}
			if repeats[at{r.Host, before}]++; repeats[at{r.Host, before}] == most+1 {
				t.Errorf("of %s more than %d requests were repeated for kill %d", r.Host, most, before+1)
			}
		}
		last[u] = n
	}
	for i, v := range simweb.Check(log, simweb.CheckOptions{Token: token, Delay: simweb.Every(20 * time.Millisecond)}) {
		if i < 10 {
			t.Error(v)
		}
	}
	stored := 0
	for _, e := range web.Expect(token) {
		if e.Class == simweb.Stored {
			stored++
		}
	}
	if got := p.result(dir); len(got.pages) != stored {
		t.Errorf("%d pages of %d: %s", len(got.pages), stored, got.classes)
	}
	t.Logf("%d requests for %d URLs under %d kills: %d repeated", len(log), len(last), kills, sum)
}

// TestStatusMovesWithEachPage asks for the status of a crawl of one host with a delay of a second:
// all pages but the last two asked for are counted, where a visit is of ten.
func TestStatusMovesWithEachPage(t *testing.T) {
	t.Parallel()
	p := crawler(t, simweb.Behavior{Pages: 10}, simweb.Behavior{})
	dir := t.TempDir()
	cmd := p.crawl(dir, "--delay", "1s", "http://h0000.sim.test/")
	seen := map[int64]bool{}
	p.killWhen(cmd, "a visit's worth of pages was told of", func() bool {
		asked := int64(p.asked("h0000.sim.test", false))
		if asked < 3 {
			return false
		}
		var st crawl.Status
		p.decode(p.run(p.command("status", "--json", "--dir", dir)), &st)
		if done := st.Stored + st.Failed; done < asked-3 { // data.txt is no page
			t.Errorf("%d requests were sent, and %d pages are counted", asked, done)
		}
		seen[st.Stored] = true
		return asked > 9
	})
	if len(seen) < 5 {
		t.Errorf("the number of pages took only %d values", len(seen))
	}
}
