package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/control"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/internal/simweb"
)

// The log of the web has no request outside of the hours, over several of their windows and kills
// in and between them, although visits are running when a window ends. The crawl waits in between,
// is not done, and says until when it waits. In the end it has every page, and it requested none
// twice because a window ended.
func TestHours(t *testing.T) { simnet.Test(t, testHours) }

func testHours(t *testing.T) {
	const delay = time.Second
	web := serve(t, simweb.Config{Seed: 4, Hosts: 2, PagesPerHost: 130, CrossLinks: 1, Mix: func(int) simweb.Behavior {
		return simweb.Behavior{Robots: simweb.RobotsAllowAll, Latency: 30 * time.Millisecond}
	}})
	spec := specFor(web)
	spec.Delay, spec.Scope, spec.Hours, spec.Seeds = delay, "host", everySecondMinute(), nil
	for _, h := range web.Hosts() {
		spec.Seeds = append(spec.Seeds, "http://"+h+"/")
	}
	r := newRig(t, web.net, spec, fetcher.Options{})
	r.seed()
	r.until("the crawl waits for its hours", func() bool {
		st, err := r.engine.Crawl().Status(t.Context())
		return err == nil && st.OpensAt != nil && st.Bottleneck != nil && st.Bottleneck.Kind == crawl.WaitsHours && strings.Contains(st.Bottleneck.Sentence, spec.Hours)
	})
	waited := len(web.Log())
	time.Sleep(30 * time.Second)
	if n := len(web.Log()); n != waited {
		t.Errorf("%d requests while the crawl waited", n-waited)
	}
	if _, over := r.done(); over {
		t.Error("a crawl that waits for its hours is done")
	}
	// In the closed minute, in the middle of the next window, and close to its end.
	r.kill(web)
	for _, second := range []int{30, 59} {
		at := func() bool { return time.Now().Minute()%2 == 0 && time.Now().Second() >= second }
		if r.killWhen(web, fmt.Sprintf("second %d", second), at) {
			t.Fatal("the crawl was over too early")
		}
	}
	r.start(r.dir, fetcher.Options{})
	r.seed()
	st := r.wait(time.Hour)
	r.stop()
	if want := int64(web.Pages()); st.Stored != want {
		t.Errorf("%d pages are stored, want %d", st.Stored, want)
	}
	windows := map[int]bool{}
	seen := map[string]int{}
	for _, q := range web.Log() {
		if q.Start.UTC().Minute()%2 != 0 {
			t.Errorf("%s%s was requested at %v", q.Host, q.Path, q.Start.UTC())
		}
		windows[q.Start.UTC().Minute()] = true
		seen[q.Host+q.Path]++
	}
	if len(windows) < 3 {
		t.Errorf("the crawl used %d windows: too few to show anything", len(windows))
	}
	again := 0
	for page, n := range seen {
		if n > 1 && !strings.HasSuffix(page, ".txt") && !strings.HasSuffix(page, ".xml") {
			again += n - 1
		}
	}
	if most := 3 * 2 * 2; again > most { // kills, hosts, and requests of each
		t.Errorf("%d requests were repeated, want %d at most", again, most)
	}
	polite(t, web, delay)
}

// everySecondMinute is the even minutes of the hour in which a bubble begins.
func everySecondMinute() string {
	var windows []string
	hour := time.Now().UTC().Hour()
	for minute := 0; minute < 60; minute += 2 {
		windows = append(windows, fmt.Sprintf("%02d:%02d-%02d:%02d", hour, minute, hour, minute+1))
	}
	return strings.Join(slices.Clip(windows), ", ")
}

// A change of the hours ends running visits before their next request.
func TestHoursChange(t *testing.T) { simnet.Test(t, testHoursChange) }

func testHoursChange(t *testing.T) {
	s := newControlled(t, 40, 40*time.Millisecond)
	s.more(s.a, 5)
	hour := time.Now().UTC().Hour()
	to := func(text string) {
		t.Helper()
		text, err := control.Set(t.Context(), s.engine.Crawl(), ada, func(spec crawl.Spec) (crawl.Spec, error) {
			spec.Hours = text
			return spec, nil
		})
		s.do(text, err)
	}
	to(fmt.Sprintf("%02d:00-%02d:00", (hour+2)%24, (hour+3)%24))
	s.quiet(s.appliesFrom(), func() { time.Sleep(5 * time.Second) }, s.a, s.b)
	to("")
	if st := s.wait(time.Minute); st.Stored != int64(s.web.Pages()) {
		t.Errorf("%+v", st)
	}
	s.stop()
}
