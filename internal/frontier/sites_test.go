package frontier

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// Changed site rules decide about known URLs again: what they refuse is refused with their line,
// and what they permit is queued. A stored page stays stored, and is not fetched again.
func TestChangedSiteRules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spec := testSpec("http://a.example/")
		spec.Sites = "sites:\n  a.example:\n    exclude: [/x/**]\n    max-depth: 1\n"
		b := newBench(t, spec)
		b.links(1, "", "http://a.example/1", "http://b.example/1")
		b.links(2, "", "http://a.example/2")
		detail := func(url, want string) {
			t.Helper()
			u := mustParse(t, url)
			x, err := b.s.Account.Explain(url, u, time.Now())
			if err != nil || !strings.Contains(x.ScopeRule+" "+x.Detail, want) {
				t.Errorf("%s: %+v, %v; want %q", url, x, err, want)
			}
		}
		detail("http://a.example/x/1", "site rules:3: exclude /x/**")
		detail("http://a.example/2", "site rules:2: a.example: max-depth 1")
		for _, v := range b.grant(2) {
			if v.Host == "a.example" {
				b.finish(v, crawl.Stored, "")
			} else {
				b.finish(v, crawl.Returned, "")
			}
		}
		if st := b.status(); st.Stored != 1 || st.Queued != 1 || st.Refused != 1 {
			t.Fatalf("%+v", st)
		}
		b.respec(func(s *crawl.Spec) { s.Sites = "sites:\n  b.example:\n    exclude: [/**]\n" })
		b.refillAll()
		if st := b.status(); st.Stored != 1 || st.Queued != 1 || st.ByReason["scope"] != 1 {
			t.Errorf("after a change of the rules: %+v, want a.example/2 queued, and b.example/1 refused", st)
		}
		detail("http://b.example/1", "site rules:3: exclude /**")
		time.Sleep(time.Minute)
		v := b.grant(2)
		if len(v) != 1 || len(v[0].URLs) != 1 || v[0].URLs[0].URL != "http://a.example/2" {
			t.Fatalf("granted %+v, want the URL that the rules permit now, and no other", v)
		}
		b.finish(v[0], crawl.Stored, "")
		// After a crash, with the rules gone.
		b.commit()
		b.crash()
		b.spec.Sites = ""
		b.open()
		b.refillAll()
		if st := b.status(); st.Stored != 2 || st.Queued != 1 || st.Refused != 0 {
			t.Errorf("without rules: %+v", st)
		}
		b.verify()
	})
}

// A host has the largest of all delays, as many pages as its entry says, and a longer delay applies
// to the next request.
func TestDelayAndPagesOfSiteRules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spec := testSpec("http://a.example/")
		spec.Sites = "sites:\n  a.example: {delay: 5s, max-pages: 2}\n"
		b := newBench(t, spec)
		b.links(0, "", "http://a.example/1", "http://a.example/2", "http://a.example/3", "http://b.example/1")
		for _, v := range b.grant(2) {
			want := spec.Delay
			if v.Host == "a.example" {
				if want = 5 * time.Second; len(v.URLs) != 2 || v.DelaySource != "site-rules" {
					t.Errorf("%d URLs granted with the delay of %s; want the 2 that the entry permits", len(v.URLs), v.DelaySource)
				}
			}
			if v.Delay != want {
				t.Errorf("%s: delay %v, want %v", v.Host, v.Delay, want)
			}
			b.finish(v, crawl.Stored, "")
		}
		b.refillAll()
		if st := b.status(); st.Stored != 3 || st.ByReason["host-limit"] != 1 {
			t.Errorf("%+v", st)
		}
		b.links(0, "", "http://b.example/2")
		time.Sleep(time.Minute)
		b.respec(func(s *crawl.Spec) { s.Sites = "sites:\n  b.example: {delay: 20s}\n" })
		b.refillAll()
		if _, waited := b.granted(time.Minute); waited > time.Second {
			t.Errorf("a.example/3, which has no limit any more, waited %v", waited)
		}
		if v, waited := b.granted(time.Minute); v.Host != "b.example" || waited < 18*time.Second {
			t.Errorf("%s was granted after %v, want b.example after its longer delay", v.Host, waited)
		}
	})
}
