package usage_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/pkg/usage"
)

func headers(pairs ...string) usage.Set {
	h := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h.Add(pairs[i], pairs[i+1])
	}
	var s usage.Set
	s.Headers(h)
	return s
}

// Formats §8.12: the Content-Signal header is parsed like the line, and applies to its response.
func TestUsage_8_12_ContentSignalHeader(t *testing.T) {
	s := headers("content-signal", "ai-train=disallow, search=allow", "Content-Signal", "ai-train=yes")
	if got := s.Preferences(); got != (pref{a, u, d, u}) {
		t.Errorf("%v", got)
	}
	if src := s.Sources(); len(src) != 3 || src[2].From != "header Content-Signal" || src[2].Line != 2 {
		t.Errorf("%+v", src)
	}
}

// Formats §8.13: the lines of Content-Usage are one dictionary of at most 8 KiB.
func TestUsage_8_13_ContentUsageHeader(t *testing.T) {
	if s := headers("Content-Usage", "train-ai=n, search=y", "Content-Usage", "train-ai=y"); s.Preferences() != (pref{a, u, a, u}) {
		t.Errorf("the last key counts: %v", s.Preferences())
	}
	if s := headers("Content-Usage", "train-ai=n", "Content-Usage", "?"); s.Preferences() != (pref{}) || len(s.Diagnostics()) != 1 {
		t.Errorf("a broken line spoils the dictionary: %v, %v", s.Preferences(), s.Diagnostics())
	}
	if s := headers("Content-Usage", "train-ai=n", "Content-Usage", " "); s.Preferences() != (pref{u, u, d, u}) {
		t.Errorf("an empty line has an effect: %v", s.Preferences())
	}
	at := "train-ai=n, x=" + strings.Repeat("a", usage.MaxStatement-len("train-ai=n, x="))
	if s := headers("Content-Usage", at); s.Preferences() != (pref{u, u, d, u}) {
		t.Errorf("8 KiB: %v", s.Preferences())
	}
	if s := headers("Content-Usage", at+"a"); s.Preferences() != (pref{}) || len(s.Diagnostics()) != 1 {
		t.Errorf("over 8 KiB: %v", s.Preferences())
	}
	half := "x=" + strings.Repeat("a", usage.MaxStatement/2)
	if s := headers("Content-Usage", "train-ai=n", "Content-Usage", half, "Content-Usage", half); s.Preferences() != (pref{}) {
		t.Errorf("over 8 KiB together: %v", s.Preferences())
	}
	if got, _ := usage.ParseContentSignal("search=no" + strings.Repeat(" ", usage.MaxStatement)); got != (pref{}) {
		t.Errorf("a signal over 8 KiB: %v", got)
	}
}

// Formats §8.14: which headers an answer has, and so replaces, even if they state nothing.
func TestUsage_8_14_Carries(t *testing.T) {
	for name, want := range map[string]string{"Content-Usage": "header Content-Usage", "content-signal": "header Content-Signal",
		"tdm-reservation": "header tdm-reservation", "TDM-Policy": "", "X-Robots-Tag": "", "Link": ""} {
		h := http.Header{}
		h.Set(name, "x")
		got := usage.Carried(h)
		if want == "" && len(got) > 0 || want != "" && (len(got) != 1 || got[0].From != want || got[0].Preferences != (pref{})) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// Formats §8.16: only 0 and 1 count; of file, header and meta, the one nearest to the page replaces
// the others.
func TestUsage_8_16_TDMLayers(t *testing.T) {
	file, err := usage.ParseTDMRep([]byte(`[{"location":"/","tdm-reservation":1,"tdm-policy":"https://p.example/policy.json"}]`))
	if err != nil {
		t.Fatal(err)
	}
	reserved, open := pref{u, d, d, d}, pref{u, u, u, a}
	for _, c := range []struct {
		name         string
		file         bool
		header, meta string
		want         pref
		from         string
	}{
		{"nothing", false, "", "", pref{}, ""},
		{"file", true, "", "", reserved, "tdmrep.json"},
		{"header", false, "1", "", reserved, "header tdm-reservation"},
		{"header over file", true, "0", "", open, "header tdm-reservation"},
		{"meta over header", true, "1", " 0 ", open, "meta tdm-reservation"},
		{"meta over both", true, "0", "1", reserved, "meta tdm-reservation"},
		{"absence never resets", true, "", "maybe", reserved, "tdmrep.json"},
		{"other values", false, "yes", "2", pref{}, ""},
		{"joined lines", false, "0, 1", "", reserved, "header tdm-reservation"},
	} {
		var s usage.Set
		if c.file {
			s.TDMRep(file, "https://d.example/x")
		}
		if c.header != "" {
			s.Headers(http.Header{"Tdm-Reservation": {c.header}})
		}
		if c.meta != "" {
			s.Meta(1, "TDM-Reservation", c.meta)
		}
		if got := s.Preferences(); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
		from := ""
		if src := s.Sources(); len(src) > 0 {
			from = src[len(src)-1].From
		}
		if from != c.from {
			t.Errorf("%s: from %q, want %q", c.name, from, c.from)
		}
	}
	// and then the strictest of all signals counts
	var s usage.Set
	s.Meta(1, "tdm-reservation", "0")
	s.Tag(here, "noai", false)
	if got := s.Preferences(); got != (pref{u, d, d, a}) {
		t.Errorf("%v", got)
	}
	s.TDMRep(file, "/x")
	if got := s.Terms(); len(got) != 1 || got[0].URL != "https://p.example/policy.json" || got[0].Kind != "tdm-policy" {
		t.Errorf("%+v", got)
	}
}

// Formats §8.18: a reservation has no effect on search.
func TestUsage_8_18_TDMAndSearch(t *testing.T) {
	if s := headers("tdm-reservation", "1"); s.Preferences()[usage.Search] != u || s.Preferences().Forbid(usage.PurposesOf(usage.Search)) {
		t.Errorf("%v", s.Preferences())
	}
}

// Formats §8.20: noai, and noimageai for images.
func TestUsage_8_20_NoAI(t *testing.T) {
	for _, c := range []struct {
		word  string
		image bool
		want  pref
	}{
		{"noai", false, pref{u, d, d, u}},
		{"noai", true, pref{u, d, d, u}},
		{"noimageai", true, pref{u, u, d, u}},
		{"noimageai", false, pref{}},
		{"noindex", false, pref{}},
	} {
		var s usage.Set
		if s.Tag(here, c.word, c.image); s.Preferences() != c.want {
			t.Errorf("%+v: %v", c, s.Preferences())
		}
	}
}

// Formats §8.21: an inferred preference counts when pages are exported, not when they are fetched.
func TestUsage_8_21_Inferred(t *testing.T) {
	var s usage.Set
	s.ContentSignal(here, "ai-train=yes")
	s.Inferred(usage.Position{From: "robots.txt", Line: 9}, "Disallow: /")
	if s.Preferences() != (pref{u, u, a, u}) || s.Concluded() != (pref{u, u, d, u}) {
		t.Errorf("%v, concluded %v", s.Preferences(), s.Concluded())
	}
	if src := s.Sources(); len(src) != 2 || !src[1].Inferred || src[1].Value != d {
		t.Errorf("%+v", src)
	}
	for _, token := range []string{"GPTBot", "CCBot", "Google-Extended"} {
		if !slices.Contains(usage.TrainingTokens, token) {
			t.Errorf("%s trains", token)
		}
	}
}

// Links to licence documents, and links that only look similar.
func TestLinkHeader(t *testing.T) {
	for line, want := range map[string]string{
		`<https://l.example/a.xml>; rel="license"; type="application/rsl+xml"`:                     "https://l.example/a.xml",
		`<https://x.example/,;>; rel=next, </b.xml>;type=application/rsl+xml;rel="author License"`: "/b.xml",
		`<https://l.example/a.xml>; rel="license"`:                                                 "",
		`<https://l.example/a.xml>; rel="license"; type="text/html"`:                               "",
		`<https://l.example/a.xml>; rel="license`:                                                  "",
		`<https://l.example/a.xml; rel=license; type=application/rsl+xml`:                          "",
		`<a>; title="x, <b>; rel=license; type=application/rsl+xml"; rel=next`:                     "",
		`<a>; ===; rel = license ; type = "application/rsl+xml;v=1"`:                               "a",
		`<a>; rel=license; type=application/rsl+xml` + strings.Repeat(" ", usage.MaxStatement):     "",
	} {
		s := headers("Link", line)
		got := ""
		for _, l := range s.Terms() {
			got += l.URL
		}
		if got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

func TestBounds(t *testing.T) {
	var s usage.Set
	for i := range 200 {
		at := usage.Position{From: "robots.txt", Line: i}
		s.ContentSignal(at, "search=yes")
		s.ContentUsage(at, "?")
		s.License(at, "https://l.example/")
		s.License(at, "l.example/relative")
	}
	s.License(here, "https://l.example/"+strings.Repeat("a", 2048))
	s.ContentSignal(here, "ai-train=no"+strings.Repeat(" ", 1000))
	if src := s.Sources(); len(src) != 65 || src[64].Value != usage.Disallow || len(s.Diagnostics()) != 64 || len(s.Terms()) != 64 {
		t.Errorf("%d sources, %d diagnostics, %d terms", len(s.Sources()), len(s.Diagnostics()), len(s.Terms()))
	}
	if s.Preferences() != (pref{a, u, d, u}) {
		t.Errorf("the last one changes %v", s.Preferences())
	}
	var one usage.Set
	one.ContentSignal(here, "ai-train=no, "+strings.Repeat("é", 1000))
	if n := len(one.Sources()[0].Text); n > 200 {
		t.Errorf("%d bytes of text are kept", n)
	}
}
