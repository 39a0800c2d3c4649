package scope

import (
	"strings"
	"testing"

	"github.com/curtsy/curtsy/pkg/canon"
)

// Addresses like those of real manuals, mirrors, repositories and catalogues are no traps.
var ordinary = []string{
	"https://example.org/",
	"https://docs.example.org/en/java/javase/21/docs/api/java.base/java/util/concurrent/atomic/package-summary.html",
	"https://repo.example.org/maven2/org/example/example/example-core/1.0.0/example-core-1.0.0-javadoc.jar",
	"https://git.example.org/group/subgroup/project/-/blob/main/src/main/java/org/example/project/main/src/Main.java",
	"https://git.example.org/p/tree/master/test/test/test/fixtures",
	"https://mirror.example.org/debian/pool/main/a/a2ps/a2ps_4.14-2_amd64.deb",
	"https://tiles.example.org/map/0/0/0.png",
	"https://tiles.example.org/map/7/7/7/7.png",
	"https://archive.example.org/2001/01/01/01/index.html",
	"https://archive.example.org/web/20200101000000/https://example.com/a/b/c/",
	"https://example.org//double///triple/x",
	"https://example.org/docs/docs/docs/readme",
	"https://example.org/en/en-us/en/help/en/articles/en",
	"https://example.org/a/b/a/b/a/b/c",
	"https://cpan.example.org/authors/id/A/AB/ABC/Some-Module-0.01/lib/Some/Module/Some/Module.pm",
	"https://doc.example.org/html/d0/d1/d2/d3/d4/classns_1_1detail_1_1basic__string__view.html",
	"https://cgit.example.org/linux.git/tree/drivers/gpu/drm/amd/display/dc/dml/dcn30/display_mode_vba_30.c?h=v6.6&id=ffc253263a1375a65fa6c9f62a893e9767fbebfa",
	"https://gitweb.example.org/?p=project.git;a=commitdiff;h=0123456789abcdef0123456789abcdef01234567;hp=89abcdef;js=1",
	"https://shop.example.org/search?f%5B0%5D=a&f%5B1%5D=b&f%5B2%5D=c&sort=price&order=asc&page=3&per_page=48&view=grid",
	"https://stats.example.org/table?year=2001&year=2002&year=2003&year=2004&year=2005&year=2006&year=2007&year=2008&unit=EUR",
	"https://geo.example.org/wfs?SERVICE=WFS&VERSION=2.0.0&REQUEST=GetFeature&TYPENAMES=a:b&OUTPUTFORMAT=application/json&SRSNAME=EPSG:4326&COUNT=1000&STARTINDEX=0",
	"https://news.example.org/a?utm_source=x&utm_medium=y&utm_campaign=z&utm_term=u&utm_content=v&gclid=" + strings.Repeat("w", 600),
	"https://example.org/" + strings.Repeat("long-title-", 100),
	"https://example.org/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/18/19/20/21/22/23/24/25/26/27/28/29/30/31/32/33/34/35/36/37/38/39/40/",
}

func TestTrapLeavesOrdinaryURLs(t *testing.T) {
	for _, raw := range ordinary {
		u := mustParse(t, raw)
		if reason, trapped := Trap(u); trapped || reason != "" {
			t.Errorf("%s: %s", u, reason)
		}
		if n := testing.AllocsPerRun(10, func() { Trap(u) }); n != 0 {
			t.Errorf("%s: %v allocations", u, n)
		}
	}
	if reason, trapped := Trap(""); trapped {
		t.Errorf("the zero URL: %s", reason)
	}
}

func TestTrap(t *testing.T) {
	for raw, want := range map[string]string{
		"/a/a/a/a":                  `trap: path repeats "a" 4 times`,
		"/x/a/a/a/a/y?z":            `trap: path repeats "a" 4 times`,
		"/x/a/b/a/b/a/b/a/b":        `trap: path repeats "a/b" 4 times`,
		"/a/b/c/a/b/c/a/b/c/a/b/c/": `trap: path repeats "a/b/c" 4 times`,
		"/x/////y":                  `trap: path repeats "" 4 times`,
		"/a/1/2/3/a/4/a/5/a/6/a/7/a/8/a/9/a/10/a":          `trap: more than 8 path parts "a"`,
		"/1" + strings.Repeat("/a/b/c/d", 10):              "trap: more than 40 path parts",
		strings.Repeat("/x", 200):                          "trap: more than 40 path parts",
		"/?" + strings.Repeat("x", 1025):                   "trap: more than 1024 query bytes",
		"/?" + strings.Repeat("a=b&c=d&e=f&g=h&", 8) + "z": "trap: more than 32 query parameters",
		"/?" + strings.Repeat("a=1&b=2&", 8) + "a=9":       `trap: more than 8 query parameters "a"`,
		"/?" + strings.Repeat("a;", 9):                     `trap: more than 8 query parameters "a"`,
	} {
		u := mustParse(t, "http://example.org"+raw)
		if reason, trapped := Trap(u); !trapped || reason != want {
			t.Errorf("%s: %v, %q, want %q", u, trapped, reason, want)
		}
	}
}

// Each limit is exact: it does not apply at its value, and applies one above it.
func TestTrapLimits(t *testing.T) {
	parts := func(n int) string {
		var b strings.Builder
		for i := range n {
			b.WriteString("/p" + strings.Repeat("x", i))
		}
		return b.String()
	}
	params := func(n int) string {
		var b strings.Builder
		for i := range n {
			b.WriteString("&p" + strings.Repeat("x", i%27) + strings.Repeat("y", i/27) + "=")
		}
		return "/?" + b.String()[1:]
	}
	for name, tt := range map[string]struct {
		limit int
		url   func(n int) string
	}{
		"parts":                 {defaults.Parts, parts},
		"parts and a slash":     {defaults.Parts, func(n int) string { return parts(n) + "/" }},
		"in a row":              {defaults.InARow, func(n int) string { return strings.Repeat("/a", n) + "/b" }},
		"two in a row":          {defaults.InARow, func(n int) string { return strings.Repeat("/a/b", n) + "/c" }},
		"three in a row":        {defaults.InARow, func(n int) string { return "/c" + strings.Repeat("/a/b/c", n) }},
		"same part":             {defaults.SamePart, func(n int) string { return strings.ReplaceAll(parts(n), "/", "/a/") }},
		"query":                 {defaults.QueryBytes, func(n int) string { return "/?" + strings.Repeat("q", n) }},
		"parameters":            {defaults.Params, params},
		"parameters, same name": {defaults.SameParam, func(n int) string { return "/?x" + strings.Repeat("&a=1", n) }},
	} {
		at, past := mustParse(t, "http://h"+tt.url(tt.limit)), mustParse(t, "http://h"+tt.url(tt.limit+1))
		if reason, trapped := Trap(at); trapped {
			t.Errorf("%s: at the limit: %s (%s)", name, reason, at)
		}
		if _, trapped := Trap(past); !trapped {
			t.Errorf("%s: past the limit: nothing (%s)", name, past)
		}
	}
}

func TestLimitsOfTheSpec(t *testing.T) {
	s := mustNew(t, Spec{Limits: Limits{URLBytes: 30, Parts: 2, SameParam: -1}})
	for u, want := range map[canon.URL]string{
		"http://h/a/b":                    "",
		"http://h/a/b/c":                  "trap: more than 2 path parts",
		"http://h/1234567890123456789012": "trap: more than 30 URL bytes",
		"http://h/?a&a&a&a&a&a&a&a&a&a":   "",
	} {
		if got, trapped := s.Trap(u); got != want || trapped != (want != "") {
			t.Errorf("%s: %q, want %q", u, got, want)
		}
	}
	free := mustNew(t, Spec{Limits: Limits{-1, -1, -1, -1, -1, -1, -1}})
	for _, raw := range []string{strings.Repeat("/a", 500), "/?" + strings.Repeat("a&", 500)} {
		if reason, trapped := free.Trap(mustParse(t, "http://h"+raw)); trapped {
			t.Errorf("without limits: %s", reason)
		}
	}
}

// A series of relative links that lead one level deeper on every page, as on broken sites, ends
// after a few steps.
func TestTrapStopsGrowingPaths(t *testing.T) {
	for _, ref := range []string{"a/", "./x/y/", "en/../en/", "a/b/c/", "a/b/c/d/", "?p=1&", "deeper/./"} {
		u := canon.URL("http://example.org/")
		steps := 0
		for ; steps < 50; steps++ {
			next := ref
			if strings.HasPrefix(ref, "?") {
				next = "?" + u.Query() + ref[1:]
			}
			var err error
			if u, err = canon.NewBase(u).Join(next); err != nil {
				t.Fatal(err)
			}
			if _, trapped := Trap(u); trapped {
				break
			}
		}
		if steps > defaults.SamePart {
			t.Errorf("%q: still going after %d steps: %s", ref, steps, u)
		}
	}
}

func FuzzTrap(f *testing.F) {
	for _, raw := range ordinary {
		f.Add(raw)
	}
	f.Add("http://h" + strings.Repeat("/a/b", 30))
	f.Add("http://h/?" + strings.Repeat("a&;b=", 30))
	f.Fuzz(func(t *testing.T, raw string) {
		u, err := canon.Parse(raw)
		if err != nil {
			t.Skip()
		}
		reason, trapped := Trap(u)
		if trapped != strings.HasPrefix(reason, "trap: ") || trapped != (reason != "") {
			t.Errorf("Trap(%s) = %q, %v", u, reason, trapped)
		}
	})
}

func BenchmarkTrap(b *testing.B) {
	for name, raw := range map[string]string{"short": ordinary[0], "usual": "https://docs.example.org/manual/en/guide/config/options.html", "deep": ordinary[1], "query": ordinary[18]} {
		u := mustParse(b, raw)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Trap(u)
			}
		})
	}
}
