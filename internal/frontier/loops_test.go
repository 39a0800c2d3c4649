package frontier

import (
	"cmp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// Of redirects in a circle, the URL that closes the circle is refused. The other URLs stay
// redirected.
func TestRedirectsInACircle(t *testing.T) {
	for name, tt := range map[string]struct {
		leads map[string]string
		want  map[string]crawl.Class
	}{
		"two": {map[string]string{"/1": "/2", "/2": "/1"}, map[string]crawl.Class{"/1": crawl.Redirected, "/2": crawl.Refused}},
		"three": {map[string]string{"/1": "/2", "/2": "/3", "/3": "/1"},
			map[string]crawl.Class{"/1": crawl.Redirected, "/2": crawl.Redirected, "/3": crawl.Refused}},
		"a way into it": {map[string]string{"/1": "/2", "/2": "/3", "/3": "/2"},
			map[string]crawl.Class{"/1": crawl.Redirected, "/2": crawl.Redirected, "/3": crawl.Refused}},
		"none": {map[string]string{"/1": "/2", "/2": "/3"}, map[string]crawl.Class{"/1": crawl.Redirected, "/2": crawl.Redirected, "/3": crawl.Stored}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, testSpec("http://a.example/1"))
				b.links(0, "", "http://a.example/1")
				for range len(tt.want) {
					v, _ := b.nextVisit()
					// The fetcher publishes these links.
					b.links(0, "", "http://a.example"+cmp.Or(tt.leads[v.URLs[0].URL.PathQuery()], "/1"))
					b.answer(v, func(u crawl.VisitURL) crawl.Result {
						if to := tt.leads[u.URL.PathQuery()]; to != "" {
							return crawl.Result{Class: crawl.Redirected, Status: 302, Reason: crawl.ReasonRedirect, Location: "http://a.example" + to}
						}
						return crawl.Result{Class: crawl.Stored, Status: 200}
					})
				}
				for path, class := range tt.want {
					r := b.record("http://a.example" + path)
					if r.Class != class {
						t.Errorf("%s is %v (%s), want %v", path, r.Class, r.Detail, class)
					}
					if class == crawl.Refused && (r.Reason != crawl.ReasonRedirects || !strings.Contains(r.Detail, "cookie")) {
						t.Errorf("%s: %s, %q", path, r.Reason, r.Detail)
					}
				}
				b.verify()
				if vs := b.grant(1); len(vs) > 0 {
					t.Errorf("%v is to be asked for", vs[0].URLs)
				}
			})
		})
	}
}

// A redirect that was fetched long ago may have been reversed since.
func TestRedirectsThatWereReversed(t *testing.T) {
	for age, want := range map[time.Duration]crawl.Class{time.Hour: crawl.Refused, 25 * time.Hour: crawl.Redirected} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, testSpec("http://a.example/1"))
			b.links(0, "", "http://a.example/1")
			for _, to := range []string{"/2", "/1"} {
				v, _ := b.nextVisit()
				b.links(0, "", "http://a.example"+to)
				b.answer(v, func(crawl.VisitURL) crawl.Result {
					return crawl.Result{Class: crawl.Redirected, Status: 302, Reason: crawl.ReasonRedirect, Location: "http://a.example" + to}
				})
				time.Sleep(age)
			}
			if r := b.record("http://a.example/2"); r.Class != want {
				t.Errorf("after %v it is %v (%s), want %v", age, r.Class, r.Detail, want)
			}
		})
	}
}

// A visit includes how the last attempt at a URL failed.
func TestHowTheLastAttemptFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testSpec("http://a.example/1"))
		b.links(0, "", "http://a.example/1")
		for i, want := range []string{"", "cut after 1", "cut after 2"} {
			v, _ := b.nextVisit()
			if u := v.URLs[0]; u.Attempts != i || u.Failed != want {
				t.Errorf("attempt %d: %d attempts failed, the last with %q", i, u.Attempts, u.Failed)
			}
			b.answer(v, func(crawl.VisitURL) crawl.Result {
				return crawl.Result{Class: crawl.Retry, Status: 200, Reason: crawl.ReasonNetwork, Rule: "cut after " + string(rune('1'+i))}
			})
		}
		if r := b.record("http://a.example/1"); r.Class != crawl.Failed {
			t.Errorf("after three attempts it is %v", r.Class)
		}
	})
}
