package control

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/service"
	"github.com/curtsy/curtsy/internal/settings"
	"github.com/curtsy/curtsy/internal/simnet"
)

// Only settings that may change while a crawl runs are changed. All changes are described, and
// values that cannot be used are refused.
func TestSettings(t *testing.T) {
	was := crawl.Spec{Name: "t", Scope: "host", MaxDepth: -1, Delay: time.Second, Agent: "curtsy"}
	for name, test := range map[string]struct {
		request func(*crawl.Spec)
		text    string
		bad     string
	}{
		"nothing":          {request: func(*crawl.Spec) {}},
		"scope":            {request: func(s *crawl.Spec) { s.Scope = "any" }, text: "scope host → any"},
		"links":            {request: func(s *crawl.Spec) { s.NoLinks, s.Sitemaps = true, true }, text: "links followed → not followed, sitemaps false → true"},
		"sitemaps":         {request: func(s *crawl.Spec) { s.Sitemaps = true }},
		"limits":           {request: func(s *crawl.Spec) { s.MaxPages, s.MaxDepth = 5000, 0 }, text: "max-pages no limit → 5,000, max-depth no limit → 0"},
		"include":          {request: func(s *crawl.Spec) { s.Include = []string{"/a", "/b"} }, text: "include nothing → /a /b"},
		"an empty rule":    {request: func(s *crawl.Spec) { s.Exclude = []string{"", "/a"} }, text: "exclude nothing → /a"},
		"others":           {request: func(s *crawl.Spec) { s.Agent, s.AllowPrivate, s.Hurry = "other", true, []string{"a.example"} }},
		"the longest":      {request: func(s *crawl.Spec) { s.Delay = MaxDelay }, text: "delay 1s → 10m0s"},
		"longer":           {request: func(s *crawl.Spec) { s.Delay = MaxDelay + 1 }, bad: "use 0s to 10m0s"},
		"a negative delay": {request: func(s *crawl.Spec) { s.Delay = -1 }, bad: "use 0s"},
		"a negative limit": {request: func(s *crawl.Spec) { s.MaxPages = -1 }, bad: "negative"},
		"no scope":         {request: func(s *crawl.Spec) { s.Scope = "" }, bad: "page, prefix, host"},
		"no expression":    {request: func(s *crawl.Spec) { s.Include = []string{"("} }, bad: "include"},
	} {
		to := Settings(func(s crawl.Spec) (crawl.Spec, error) { test.request(&s); return s, nil })
		next, what, err := to.set(was)
		if text := strings.Join(what, ", "); text != test.text || next.Agent != "curtsy" || next.AllowPrivate || len(next.Hurry) > 0 {
			t.Errorf("%s: text %q, want %q; %+v", name, text, test.text, next)
		}
		if (err != nil) != (test.bad != "") || err != nil && !strings.Contains(err.Error(), test.bad) {
			t.Errorf("%s: %v, want %q", name, err, test.bad)
		}
	}
}

func TestForeseenInWords(t *testing.T) {
	now, next := crawl.Spec{}, crawl.Spec{MaxPages: 500}
	got := foreseen(crawl.Preview{Adds: 1200, Refuses: 300, About: true}, crawl.Status{Stored: 233}, now, next)
	if want := "adds about 1,200 queued URLs, refuses about 300 that are queued now; ends at 500 pages (233 are stored)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	got = foreseen(crawl.Preview{Adds: 1, Refuses: 1, LinksUncounted: true}, crawl.Status{}, now, now)
	if want := "adds 1 queued URL, refuses 1 that is queued now; links of stored pages are read again and add more"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Seeds that site rules name become seeds of the crawl, whether the rules are set or applied, and
// are submitted. Applying the same rules again submits them again, because the operator may have
// been interrupted in between. Wrong rules change nothing.
func TestSeedsOfSiteRules(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		c := newCluster(t)
		ada := By{Who: "ada"}
		const first, second = "sites:\n  a.example:\n    seeds: [https://a.example/new]\n", "sites:\n  b.example:\n    seeds: [https://b.example/new]\n"
		const wrong = "sites:\n  c.example:\n    feilds: {}\n"
		check := func(what string, seeds ...string) {
			t.Helper()
			spec, err := service.ReadSpec(t.Context(), c.Bucket)
			if err != nil {
				t.Fatal(err)
			}
			submitted := c.seeds()
			slices.Sort(submitted)
			if slices.Sort(seeds); !slices.Equal(submitted, seeds) {
				t.Errorf("%s: %q were submitted, want %q", what, submitted, seeds)
			}
			for _, u := range seeds {
				if !slices.Contains(spec.Seeds, u) {
					t.Errorf("%s: %s is no seed of the crawl, which has %q", what, u, spec.Seeds)
				}
			}
		}
		set := func(text string) error {
			_, err := Set(t.Context(), c.Crawl, ada, func(s crawl.Spec) (crawl.Spec, error) { s.Sites = text; return s, nil })
			return err
		}
		apply := func(text string, wantChanged bool) error {
			_, changed, err := ApplySites(t.Context(), c.Crawl, ada, settings.Sites(text))
			if changed != wantChanged {
				t.Errorf("changed: %v", changed)
			}
			return err
		}
		if err := set(first); err != nil {
			t.Fatal(err)
		}
		check("set", "https://a.example/new")
		if err := apply(second, true); err != nil {
			t.Fatal(err)
		}
		check("applied", "https://a.example/new", "https://b.example/new")
		if err := apply(second, false); err != nil {
			t.Fatal(err)
		}
		check("applied again", "https://a.example/new", "https://b.example/new", "https://b.example/new")
		for _, err := range []error{set(wrong), apply(wrong, false)} {
			if err == nil || !strings.Contains(err.Error(), "3:5") {
				t.Errorf("wrong rules: %v", err)
			}
		}
		check("wrong", "https://a.example/new", "https://b.example/new", "https://b.example/new")
	})
}
