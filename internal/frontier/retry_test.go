package frontier

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// unreachable ends a visit that could not fetch robots.txt.
func (b *bench) unreachable(v crawl.Visit, status int, retryAfter time.Duration) {
	b.t.Helper()
	ev := crawl.Event{Visit: v.ID, Robots: []crawl.Robots{{
		Origin: v.URLs[0].URL.Origin(), State: crawl.RobotsUnreachable, Status: status, RetryAfter: retryAfter, Reason: "connect: refused",
	}}, Outcome: &crawl.Outcome{Host: v.Host, Requests: 1, Delay: v.Delay, RetryAfter: retryAfter}}
	for _, u := range v.URLs {
		ev.Outcome.Results = append(ev.Outcome.Results, crawl.Result{URL: u.URL, Class: crawl.Returned})
	}
	b.event(ev)
}

// A host, or a seed, that could not be reached is requested again as soon as politeness allows
// after an operator requests it.
func TestRetry(t *testing.T) {
	for _, what := range []string{"a.example", "http://a.example/1"} {
		for _, tt := range []struct {
			status     int
			retryAfter time.Duration
			want       time.Duration // until it is requested again
		}{
			{0, 0, time.Second},
			{503, 0, time.Second},
			{503, time.Hour, time.Hour},
			{429, 2 * time.Minute, 2 * time.Minute},
		} {
			t.Run(fmt.Sprint(what, tt.status, tt.retryAfter), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b := newBench(t, testSpec("http://a.example/1"))
					b.links(0, "", "http://a.example/1")
					began := time.Now()
					b.unreachable(b.grant(1)[0], tt.status, tt.retryAfter)
					b.event(crawl.Event{Retry: []string{what}})
					b.refillAll()
					if x := b.explain("http://a.example/1"); x.Robots.State == "unreachable" {
						t.Errorf("%+v: nobody has asked since", x.Robots)
					}
					for len(b.grant(1)) == 0 && time.Since(began) < 10*time.Hour {
						time.Sleep(100 * time.Millisecond)
					}
					if got := time.Since(began).Round(time.Second); got != tt.want {
						t.Errorf("asked again after %v, want %v", got, tt.want)
					}
					b.verify()
				})
			})
		}
	}
}

// URLs of the host that failed for a temporary reason are queued again, in steps and also after a
// crash; those that the site refused stay so. A URL that is named is tried again whatever it failed
// for.
func TestRetryOfWhatFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spec := testSpec("http://a.example/")
		spec.Delay = 0
		b := newBench(t, spec)
		want := map[string]crawl.Class{}
		for i, why := range []crawl.Reason{crawl.ReasonDNS, crawl.ReasonConnect, crawl.ReasonTLS, crawl.ReasonTimeout, crawl.ReasonNetwork,
			crawl.ReasonTooSlow, crawl.ReasonHTTP5xx, crawl.ReasonOverload, crawl.ReasonProtocol, crawl.ReasonHTTP4xx, crawl.ReasonEncoding, crawl.ReasonLocation} {
			u := fmt.Sprintf("http://a.example/%d", i)
			want[u] = crawl.Queued
			if i > 8 {
				want[u] = crawl.Failed
			}
			b.links(0, "", u)
			b.finish(b.grant(1)[0], crawl.Failed, why)
			time.Sleep(time.Minute)
		}
		b.links(0, "", "http://a.example/waits")
		b.finish(b.grant(1)[0], crawl.Retry, crawl.ReasonHTTP5xx)
		want["http://a.example/waits"] = crawl.Queued
		if b.record("http://a.example/waits").Due.IsZero() {
			t.Fatal("it does not wait")
		}
		b.links(0, "", "http://b.example/")
		b.finish(b.grant(1)[0], crawl.Failed, crawl.ReasonConnect)
		want["http://b.example/"] = crawl.Failed
		b.event(crawl.Event{Retry: []string{"a.example", "nobody.example", "http://nobody.example/"}})
		b.commit()
		b.crash()
		b.open()
		if st := b.status(); st.Shards[0].DueSoon == 0 {
			t.Error("done, with a host to be retried")
		}
		b.refillAll()
		b.verify()
		for u, class := range want {
			if r := b.record(u); r.Class != class || !r.Due.IsZero() {
				t.Errorf("%s: %v, due %v; want %v at once", u, r.Class, r.Due, class)
			}
		}
		b.event(crawl.Event{Retry: []string{"http://a.example/9"}})
		if r := b.record("http://a.example/9"); r.Class != crawl.Queued {
			t.Errorf("named, it is %v; want queued", r.Class)
		}
		b.verify()
	})
}
