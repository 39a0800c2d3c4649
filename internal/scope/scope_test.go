package scope

import (
	"strings"
	"sync"
	"testing"

	"github.com/curtsy/curtsy/pkg/canon"
)

func mustParse(t testing.TB, raw string) canon.URL {
	t.Helper()
	u, err := canon.Parse(raw)
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return u
}

func mustNew(t testing.TB, spec Spec) *Scope {
	t.Helper()
	s, err := New(spec)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestKinds(t *testing.T) {
	seed := canon.URL("https://docs.example.org/manual/en/index.html?v=1")
	urls := []canon.URL{
		seed,
		"https://docs.example.org/manual/en/index.html",
		"https://docs.example.org/manual/en/",
		"https://docs.example.org/manual/en/a/b?c",
		"https://docs.example.org/manual/english",
		"https://docs.example.org/manual/",
		"http://docs.example.org/manual/en/",
		"https://docs.example.org:8443/manual/en/",
		"https://docs.example.org/",
		"https://example.org/manual/en/",
		"https://a.b.docs.example.org/",
		"https://notexample.org/",
		"https://docs.example.org.evil.example/manual/en/",
		"https://example.net/",
	}
	for kind, want := range map[string]string{ // + inside, . outside, in the order of urls
		"page":   "+.............",
		"prefix": "++++..........",
		"host":   "+++++++++.....",
		"domain": "+++++++++++...",
		"":       "+++++++++++...",
		"any":    "++++++++++++++",
	} {
		s := mustNew(t, Spec{Kind: kind, Seeds: []canon.URL{seed}})
		for round := range 2 { // the second is answered from memory
			var got strings.Builder
			for _, u := range urls {
				d := s.Decide(u)
				if d.Rule == "" {
					t.Errorf("%s: no rule for %s", kind, u)
				}
				if d.In {
					got.WriteByte('+')
				} else {
					got.WriteByte('.')
				}
			}
			if got.String() != want {
				t.Errorf("%s, round %d: %s, want %s", kind, round, got.String(), want)
			}
		}
	}
}

func TestDomainOfOddHosts(t *testing.T) {
	for _, tt := range []struct {
		seed, url canon.URL
		in        bool
	}{
		{"http://www.example.co.uk/", "http://shop.example.co.uk/", true},
		{"http://www.example.co.uk/", "http://other.co.uk/", false},
		{"http://me.github.io/", "http://you.github.io/", false},
		{"http://github.io/", "http://you.github.io/", false},
		{"http://localhost:8080/", "http://localhost:9090/", true},
		{"http://localhost/", "http://a.localhost/", false}, // a name in an unlisted suffix
		{"http://127.0.0.1/", "http://127.0.0.1:81/", true},
		{"http://127.0.0.1/", "http://126.0.0.1/", false},
		{"http://[::1]/", "http://[::1]:81/", true},
		{"http://[::1]/", "http://[::2]/", false},
	} {
		s := mustNew(t, Spec{Seeds: []canon.URL{tt.seed}})
		if d := s.Decide(tt.url); d.In != tt.in {
			t.Errorf("seed %s: %s is %+v", tt.seed, tt.url, d)
		}
	}
}

func TestRules(t *testing.T) {
	seed := canon.URL("https://example.org/start")
	s := mustNew(t, Spec{
		Seeds:   []canon.URL{seed, "https://example.org/start.pdf"},
		Include: []string{`/docs/`, `\?q=`},
		Exclude: []string{`\.pdf$`, `^https://old\.`},
	})
	for u, want := range map[canon.URL]Decision{
		seed:                                {true, "seed"},
		"https://example.org/docs/a":        {true, "include: /docs/"},
		"https://www.example.org/x?q=1":     {true, `include: \?q=`},
		"https://example.org/x":             {false, "matches no include rule"},
		"https://example.org/docs/a.pdf":    {false, `exclude: \.pdf$`},
		"https://example.org/docs/a.pdf?x":  {true, "include: /docs/"},
		"https://old.example.org/docs/a":    {false, `exclude: ^https://old\.`},
		"https://example.org/start.pdf":     {false, `exclude: \.pdf$`}, // exclude beats seeds too
		"https://example.net/docs/a":        {false, "outside domain example.org"},
		"https://example.org.invalid/docs/": {false, "outside domain example.org"},
	} {
		if got := s.Decide(u); got != want {
			t.Errorf("Decide(%s) = %+v, want %+v", u, got, want)
		}
	}
}

func TestDecisionsSayWhy(t *testing.T) {
	one := []canon.URL{"https://example.org/a/b"}
	two := []canon.URL{"https://example.org/a/b", "https://example.net/"}
	for _, tt := range []struct {
		kind  string
		seeds []canon.URL
		url   canon.URL
		want  Decision
	}{
		{"page", one, "https://example.org/a/b", Decision{true, "seed"}},
		{"page", one, "https://example.org/", Decision{false, "outside page https://example.org/a/b"}},
		{"prefix", one, "https://example.org/a/c", Decision{true, "prefix https://example.org/a/"}},
		{"prefix", one, "https://example.org/", Decision{false, "outside prefix https://example.org/a/"}},
		{"host", one, "http://example.org:81/", Decision{true, "host example.org"}},
		{"host", one, "https://www.example.org/", Decision{false, "outside host example.org"}},
		{"domain", two, "https://www.example.net/", Decision{true, "domain example.net"}},
		{"domain", two, "https://example.com/", Decision{false, "outside the 2 domains of the seeds"}},
		{"page", two, "https://example.com/", Decision{false, "outside the 2 pages of the seeds"}},
		{"domain", nil, "https://example.com/", Decision{false, "outside the scope: there is no seed yet"}},
		{"any", nil, "https://example.com/", Decision{true, "any"}},
		{"any", nil, "", Decision{false, "no URL"}},
		{"domain", one, "", Decision{false, "outside domain example.org"}},
	} {
		s := mustNew(t, Spec{Kind: tt.kind, Seeds: tt.seeds})
		if got := s.Decide(tt.url); got != tt.want {
			t.Errorf("%s %v: Decide(%s) = %+v, want %+v", tt.kind, tt.seeds, tt.url, got, tt.want)
		}
	}
}

func TestPrefixOfPrefix(t *testing.T) {
	s := mustNew(t, Spec{Kind: "prefix", Seeds: []canon.URL{"http://h/a/b/c", "http://h/a/", "http://h/x/y"}})
	for u, want := range map[canon.URL]string{
		"http://h/a/b/d": "prefix http://h/a/",
		"http://h/a/":    "prefix http://h/a/",
		"http://h/x/":    "prefix http://h/x/",
		"http://h/":      "outside the 3 prefixes of the seeds",
	} {
		if got := s.Decide(u); got.Rule != want {
			t.Errorf("Decide(%s) = %+v, want %s", u, got, want)
		}
	}
}

func TestAddLeavesTheOldScope(t *testing.T) {
	for kind, u := range map[string]canon.URL{
		"page": "http://b.example/x/", "prefix": "http://b.example/x/y", "host": "http://b.example/", "domain": "http://www.b.example/",
	} {
		old := mustNew(t, Spec{Kind: kind, Seeds: []canon.URL{"http://a.example/"}})
		old.Decide(u) // remembered as outside
		added := old.Add("http://b.example/x/", "")
		more := old.Add("http://c.example/")
		if old.Decide(u).In || !added.Decide(u).In || more.Decide(u).In {
			t.Errorf("%s: before %+v, after %+v, beside %+v", kind, old.Decide(u), added.Decide(u), more.Decide(u))
		}
		if d := added.Decide("http://a.example/"); !d.In {
			t.Errorf("%s: the old seed is %+v", kind, d)
		}
	}
	s := mustNew(t, Spec{Include: []string{"/docs/"}}).Add("http://h/start")
	if d := s.Decide("http://h/start"); d != (Decision{true, "seed"}) {
		t.Errorf("an added seed under include rules is %+v", d)
	}
}

func TestNewErrorsNameKeyValueAndAWayOut(t *testing.T) {
	for _, tt := range []struct {
		spec Spec
		want []string
	}{
		{Spec{Kind: "site"}, []string{`scope "site"`, "domain", "prefix"}},
		{Spec{Include: []string{"ok", "(docs"}}, []string{`include "(docs"`, "missing closing )", "/docs/"}},
		{Spec{Exclude: []string{`a(?=b)`}}, []string{`exclude "a(?=b)"`, `\.pdf$`}},
		{Spec{Exclude: []string{""}}, []string{`exclude ""`, "every URL"}},
		{Spec{Seeds: []canon.URL{""}}, []string{`seed ""`, "https://example.org/"}},
	} {
		s, err := New(tt.spec)
		if err == nil {
			t.Errorf("%+v: no error, %v", tt.spec, s)
			continue
		}
		for _, part := range tt.want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%+v: %q lacks %q", tt.spec, err, part)
			}
		}
	}
}

func TestDecideDoesNotAllocate(t *testing.T) {
	seed := canon.URL("https://docs.example.org/manual/")
	for _, kind := range []string{"page", "prefix", "host", "domain", "any"} {
		s := mustNew(t, Spec{Kind: kind, Seeds: []canon.URL{seed}})
		for _, u := range []canon.URL{"https://docs.example.org/manual/a.html", "https://elsewhere.example.net/page"} {
			if n := testing.AllocsPerRun(100, func() { s.Decide(u) }); n != 0 {
				t.Errorf("%s: %v allocations for %s", kind, n, u)
			}
		}
	}
}

// With more hosts than the cache has slots, and many goroutines, the answers stay right.
func TestDecideConcurrently(t *testing.T) {
	s := mustNew(t, Spec{Seeds: []canon.URL{"http://in.example/"}})
	var urls []canon.URL
	for a := 'a'; a <= 'z'; a++ {
		for b := 'a'; b <= 'z'; b++ {
			name := string([]rune{a, b})
			urls = append(urls, mustParse(t, "http://"+name+".in.example/"), mustParse(t, "http://"+name+".out.example/"))
		}
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 3 {
				for i, u := range urls {
					if d := s.Decide(u); d.In != (i%2 == 0) {
						t.Errorf("%s: %+v", u, d)
						return
					}
				}
			}
		})
	}
	wg.Wait()
}

// FuzzDecide: every seed is inside its own scope, whatever the kind, and a prefix is
// inside its host, a host inside its domain.
func FuzzDecide(f *testing.F) {
	for _, seed := range []string{"http://h/", "https://a.b.co.uk:81/x/y?z", "http://[::1]/..", "http://127.0.0.1/a//b", "http://github.io", "http://xn--55qx5d.cn/"} {
		f.Add(seed, "http://h/x")
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, rawSeed, raw string) {
		seed, err := canon.Parse(rawSeed)
		if err != nil {
			t.Skip()
		}
		u, err := canon.Parse(raw)
		if err != nil {
			t.Skip()
		}
		in := false
		for _, kind := range []string{"page", "prefix", "host", "domain", "any"} {
			s := mustNew(t, Spec{Kind: kind, Seeds: []canon.URL{seed}})
			if d := s.Decide(seed); !d.In {
				t.Errorf("seed %s is %+v", seed, d)
			}
			d := s.Decide(u)
			if in && !d.In {
				t.Errorf("seed %s: %s was inside before, and is %+v", seed, u, d)
			}
			in = d.In
		}
	})
}

func BenchmarkDecide(b *testing.B) {
	const seed, in, out = "https://docs.example.org/manual/", "https://docs.example.org/manual/en/guide/install.html?x=1", "https://www.example.net/some/page.html"
	for _, kind := range []string{"page", "prefix", "host", "domain", "any"} {
		s := mustNew(b, Spec{Kind: kind, Seeds: []canon.URL{seed}})
		for name, u := range map[string]canon.URL{"in": in, "out": out} {
			b.Run(kind+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					s.Decide(u)
				}
			})
		}
	}
	b.Run("exclude", func(b *testing.B) {
		s := mustNew(b, Spec{Seeds: []canon.URL{seed}, Exclude: []string{`\.pdf$`, `/private/`}})
		b.ReportAllocs()
		for b.Loop() {
			s.Decide(in)
		}
	})
}
