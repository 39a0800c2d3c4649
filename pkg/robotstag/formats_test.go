package robotstag

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

const bot = "ExampleBot"

// askedBy lists the rules of all sources: everybody's and our own.
func askedBy(s *Set) (everybody, own string) {
	var all, ours []string
	for _, src := range s.Sources() {
		for _, r := range src.Rules {
			text := r.Name
			if r.Name == "unavailable_after" {
				text += "=" + r.Until.Format("2006-01-02T15:04:05Z07:00")
			}
			if r.Name == "max-snippet" {
				text += "=" + strconv.Itoa(r.Limit)
			}
			if r.Own {
				ours = append(ours, text)
			} else {
				all = append(all, text)
			}
		}
	}
	return strings.Join(all, " "), strings.Join(ours, " ")
}

func fromHeader(values ...string) *Set {
	s := New(bot)
	for _, v := range values {
		s.AddHeader("Robots-Tag", v)
	}
	return s
}

func fromMeta(contents ...string) *Set {
	s := New(bot)
	for _, c := range contents {
		s.AddMeta("robots", c)
	}
	return s
}

// row is one header value and what it must mean.
type row struct{ value, everybody, own string }

func checkHeaders(t *testing.T, rows []row) {
	t.Helper()
	for _, r := range rows {
		all, own := askedBy(fromHeader(r.value))
		if all != r.everybody || own != r.own {
			t.Errorf("%q: everybody %q, own %q; want %q, %q", r.value, all, own, r.everybody, r.own)
		}
	}
}

// The table at the end of formats §4.1, complete.
func TestFormats_4_1_HeaderTable(t *testing.T) {
	checkHeaders(t, []row{
		{"*=noindex, nosnippet; ExampleBot=;", "noindex nosnippet", ""},
		{"noindex, nosnippet; ExampleBot=;", "noindex nosnippet", ""},
		{"ExampleBot=noindex; nosnippet", "nosnippet", "noindex"},
		{"ExampleBot: noindex, nofollow", "", "noindex nofollow"},
		{"*;nosnippet, ExampleBot;noindex", "nosnippet", "noindex"}, // draft -03: see formats §8.27
		{"unavailable_after: Wed, 03 Dec 2025 13:09:53 GMT, nosnippet", "unavailable_after=2025-12-03T13:09:53Z nosnippet", ""},
	})
}

// The two examples of the draft's section 2.1.1 have the same meaning.
func TestDraft_2_1_1_Examples(t *testing.T) {
	want := Directives{NoIndex: true, NoSnippet: true}
	for _, value := range []string{"*=noindex, nosnippet; ExampleBot=;", "noindex, nosnippet; ExampleBot=;"} {
		if got := fromHeader(value).Directives(); got != want {
			t.Errorf("%q = %+v, want %+v", value, got, want)
		}
	}
}

// The rules of the two elements in the draft's section 2.1.2 add up for examplebot.
func TestDraft_2_1_2_Examples(t *testing.T) {
	s := New(bot)
	s.AddMeta("robots", "noindex")
	s.AddMeta("examplebot", "nosnippet")
	if all, own := askedBy(s); all != "noindex" || own != "nosnippet" {
		t.Errorf("everybody %q, own %q", all, own)
	}
}

func TestFormats_4_1_FieldNames(t *testing.T) {
	for name, read := range map[string]bool{
		"Robots-Tag": true, "robots-tag": true, "X-Robots-Tag": true, "x-ROBOTS-tag": true,
		"XX-Robots-Tag": false, "Robots": false, "Robots-Tags": false, "": false,
	} {
		s := New(bot)
		s.AddHeader(name, "noindex")
		if s.Directives().NoIndex != read {
			t.Errorf("field %q read = %v, want %v", name, !read, read)
		}
	}
}

// Formats §0: names fold ASCII letters only: U+017F would otherwise be an "s", U+212A a "k".
func TestFormats_0_NamesFoldASCIIOnly(t *testing.T) {
	checkHeaders(t, []row{{"no\u017fnippet", "", ""}})
	s := New(bot)
	s.AddMeta("robot\u017f", "noindex")
	if !s.Directives().IsZero() {
		t.Error("robot\u017f is read as robots")
	}
}

// Lines are not joined: a scope at the end of one does not apply to the next.
func TestFormats_4_1_EachLineOnItsOwn(t *testing.T) {
	h := http.Header{}
	h.Add("Robots-Tag", "OtherBot=noindex")
	h.Add("Robots-Tag", "nosnippet")
	h.Add("X-Robots-Tag", "ExampleBot: noarchive")
	h.Add("X-Robots-Tag", "nofollow")
	s := New(bot)
	s.AddHeaders(h)
	if all, own := askedBy(s); all != "nosnippet nofollow" || own != "noarchive" {
		t.Errorf("everybody %q, own %q", all, own)
	}
	if !Carries(h) || Carries(http.Header{"Server": {"x"}}) {
		t.Error("Carries is wrong")
	}
}

func TestFormats_4_1_1_ScopesWithinParts(t *testing.T) {
	checkHeaders(t, []row{
		{"noindex, ExampleBot=nosnippet", "noindex", "nosnippet"},
		{"noindex, ABot=nosnippet", "noindex", ""},
		{"ABot=nosnippet, noindex", "", ""}, // still for ABot
		{"ABot=nosnippet; noindex", "noindex", ""},
		{"ABot=noindex, ExampleBot=nosnippet, *=nofollow", "nofollow", "nosnippet"},
		{"ExampleBot = noindex , nosnippet", "", "noindex nosnippet"},
		{"  ExampleBot\t:\tnoindex  ", "", "noindex"},
		{" * = noindex ", "noindex", ""},
		{";;noindex;;", "noindex", ""},
		{",,noindex,,", "noindex", ""},
		{"", "", ""},
		{";", "", ""},
	})
}

func TestFormats_4_1_2_Everybody(t *testing.T) {
	checkHeaders(t, []row{
		{"*noindex", "noindex", ""},
		{"*:noindex", "noindex", ""},
		{"=noindex", "noindex", ""},
		{" = noindex", "noindex", ""},
		{"robots=noindex", "noindex", ""},
		{"ROBOTS: noindex", "noindex", ""},
		{"ABot=nofollow, *=noindex", "noindex", ""},
		{"ABot=nofollow, robots=noindex", "noindex", ""},
		{"ABot=nofollow, =noindex", "noindex", ""},
	})
}

// Formats §1.3: the longest leading run of token characters decides, in any case.
func TestFormats_4_1_2_TokenComparison(t *testing.T) {
	for value, ours := range map[string]bool{
		"ExampleBot=noindex": true, "examplebot=noindex": true, "EXAMPLEBOT/2.1=noindex": true, "ExampleBot/=noindex": true,
		"Example=noindex": false, "ExampleBot-News=noindex": false, "ExampleBot_=noindex": false, "MyExampleBot=noindex": false,
		"2ExampleBot=noindex": false, "Mozilla/5.0(ExampleBot)=noindex": false,
	} {
		if all, own := askedBy(fromHeader(value)); all != "" || (own == "noindex") != ours {
			t.Errorf("%q: everybody %q, own %q; ours = %v", value, all, own, ours)
		}
	}
	// Our own token, too, is only its leading run. An empty token names nobody.
	s := New("ExampleBot/3.0")
	s.AddHeader("Robots-Tag", "examplebot=noindex")
	if !s.Directives().NoIndex {
		t.Error("a version in our own token must not matter")
	}
	var nobody Set
	nobody.AddHeader("Robots-Tag", "ExampleBot=noindex, 7=nofollow, *=nosnippet")
	if got := nobody.Directives(); got != (Directives{NoSnippet: true}) {
		t.Errorf("the zero Set has %+v, want the rules for everybody", got)
	}
}

func TestFormats_4_1_3_RuleNamesAreNoTokens(t *testing.T) {
	checkHeaders(t, []row{
		{"noindex:", "noindex", ""},
		{"noindex=1", "noindex", ""},
		{"noindex = true, nofollow", "noindex nofollow", ""},
		{"ExampleBot: noindex=1, nosnippet", "", "noindex nosnippet"},
		{"max-snippet: 20, noindex", "max-snippet=20 noindex", ""},
		{"max-image-preview:large, noindex", "noindex", ""},
		{"max-video-preview=-1, noindex", "noindex", ""},
		{"unavailable_after=2025-12-03, noindex", "unavailable_after=2025-12-03T00:00:00Z noindex", ""},
		{"all:1, noindex", "noindex", ""},
		{"ExampleBot: max-snippet:20, unavailable_after: 2025-12-03, nosnippet", "", "max-snippet=20 unavailable_after=2025-12-03T00:00:00Z nosnippet"},
	})
}

func TestFormats_4_1_4_UnavailableAfter(t *testing.T) {
	checkHeaders(t, []row{
		{"unavailable_after: Wed, 03 Dec 2025 13:09:53 GMT", "unavailable_after=2025-12-03T13:09:53Z", ""},
		{"unavailable_after: 03 Dec 2025 13:09:53 GMT, noindex", "unavailable_after=2025-12-03T13:09:53Z noindex", ""},
		{"Unavailable_After : wednesday , 03-Dec-25 13:09:53 GMT , noindex", "unavailable_after=2025-12-03T13:09:53Z noindex", ""},
		{"unavailable_after: Wed, noindex", "", ""}, // the next item belongs to it
		{"unavailable_after: someday, noindex", "noindex", ""},
		{"unavailable_after:, noindex", "noindex", ""},
		{"unavailable_after, noindex", "noindex", ""},
		{"unavailable_after: 2026-01-01, unavailable_after: 2025-01-01", "unavailable_after=2025-01-01T00:00:00Z", ""},
		{"OtherBot: unavailable_after: Wed, 03 Dec 2025 13:09:53 GMT, noindex", "", ""},
	})
}

// From that time on it acts as noindex; of several the earliest counts.
func TestFormats_4_1_4_ActsAsNoindex(t *testing.T) {
	d := fromHeader("unavailable_after: 2025-12-03T13:09:53Z", "unavailable_after: 2026-12-03T13:09:53Z").Directives()
	then := time.Date(2025, 12, 3, 13, 9, 53, 0, time.UTC)
	if d.NoIndex || !d.UnavailableAfter.Equal(then) {
		t.Fatalf("Directives = %+v", d)
	}
	for _, c := range []struct {
		now  time.Time
		want bool
	}{{then.Add(-time.Nanosecond), false}, {then, true}, {then.Add(time.Hour), true}} {
		if got := d.At(c.now).NoIndex; got != c.want {
			t.Errorf("At(%v).NoIndex = %v, want %v", c.now, got, c.want)
		}
	}
	if (Directives{}).At(then).NoIndex {
		t.Error("no date acts as noindex")
	}
	// A date that equals Go's zero time was given nevertheless.
	if !fromHeader("unavailable_after: 0001-01-01").Directives().At(then).NoIndex {
		t.Error("the first day of the year 1 is taken for no date")
	}
}

func TestFormats_4_1_5_BlanksSplitItems(t *testing.T) {
	checkHeaders(t, []row{
		{"noindex nofollow", "noindex nofollow", ""},
		{"noindex\tnofollow  nosnippet", "noindex nofollow nosnippet", ""},
		{"ExampleBot=noindex nosnippet", "", "noindex nosnippet"},
		{"FooBot noindex", "noindex", ""}, // a token contains no blanks: an unknown word
	})
}

func TestFormats_4_1_6_Rules(t *testing.T) {
	checkHeaders(t, []row{
		{"NOINDEX, NoSnippet, nofollow, noArchive", "noindex nosnippet nofollow noarchive", ""},
		{"none", "noindex nofollow", ""},
		{"all, index, follow", "", ""},
		{"noindex, all, index, follow", "noindex", ""},
		{"all, none", "noindex nofollow", ""},
		{"max-snippet:0", "nosnippet", ""},
		{"max-snippet = 0", "nosnippet", ""},
		{"max-snippet : 0, noindex", "nosnippet noindex", ""},
		{"max-snippet:-1", "", ""},
		{"max-snippet:50", "max-snippet=50", ""},
		{"max-snippet=050, noindex", "max-snippet=50 noindex", ""},
		{"max-snippet:50, MAX-SNIPPET : 20, max-snippet:30", "max-snippet=20", ""},
		{"max-snippet:50, ExampleBot: max-snippet:20", "max-snippet=50", "max-snippet=20"},
		{"OtherBot: max-snippet:20", "", ""},
		{"max-snippet:50, nosnippet, max-snippet:0", "max-snippet=50 nosnippet", ""},
		{"max-snippet:100000000", "max-snippet=100000000", ""},
		{"max-snippet:100000001", "max-snippet=100000000", ""},
		{"max-snippet:99999999999999999999999999", "max-snippet=100000000", ""},
		{"max-snippet:+5, max-snippet:-2, max-snippet:5x, max-snippet:٥", "", ""},
		{"max-snippet:0.5", "", ""},
		{"max-snippet:", "", ""},
		{"max-image-preview:none", "", ""},
		{"max-image-preview:0, max-video-preview:0", "", ""},
		{"noimageindex, notranslate, whatever, no-index", "", ""},
	})
}

func TestFormats_4_1_7_Duplicates(t *testing.T) {
	s := fromHeader("ExampleBot=noindex; ExampleBot=nosnippet, noindex", "noindex, noindex")
	s.AddHeader("X-Robots-Tag", "examplebot: noarchive")
	all, own := askedBy(s)
	if all != "noindex" || own != "noindex nosnippet noarchive" {
		t.Errorf("everybody %q, own %q", all, own)
	}
	if got := s.Directives(); got != (Directives{NoIndex: true, NoSnippet: true, NoArchive: true}) {
		t.Errorf("Directives = %+v", got)
	}
}

// Everybody's and our own rules of both kinds of source add up. Our own token cannot cancel rules.
func TestFormats_4_2_WhatBindsUs(t *testing.T) {
	s := New(bot)
	s.AddHeader("Robots-Tag", "noindex; ExampleBot=")
	s.AddHeader("X-Robots-Tag", "ExampleBot: all, index, follow")
	s.AddMeta("ExampleBot", "nosnippet")
	s.AddMeta("robots", "noarchive")
	s.AddMeta("otherbot", "nofollow")
	if got, want := s.Directives(), (Directives{NoIndex: true, NoSnippet: true, NoArchive: true}); got != want {
		t.Errorf("Directives = %+v, want %+v", got, want)
	}
	if got := s.HeaderDirectives(); got != (Directives{NoIndex: true}) {
		t.Errorf("HeaderDirectives = %+v", got)
	}
	if got := s.MetaDirectives(); got != (Directives{NoSnippet: true, NoArchive: true}) {
		t.Errorf("MetaDirectives = %+v", got)
	}
	s.Reset(bot)
	if !s.Directives().IsZero() || len(s.Sources()) != 0 || len(s.Diagnostics()) != 0 {
		t.Error("Reset leaves something behind")
	}
}

// Of all limits for an excerpt the smallest applies to us, in whatever scope and source it is. A
// value that is not a number has no effect, and is reported.
func TestFormats_4_1_6_MaxSnippet(t *testing.T) {
	s := New(bot)
	s.AddHeader("X-Robots-Tag", "max-snippet:80; ExampleBot: max-snippet:40")
	s.AddMeta("robots", "max-snippet:60")
	s.AddMeta("ExampleBot", "max-snippet:-1")
	if h, m, d := s.HeaderDirectives(), s.MetaDirectives(), s.Directives(); h.MaxSnippet != 40 || m.MaxSnippet != 60 || d.MaxSnippet != 40 {
		t.Errorf("%+v, %+v, %+v", h, m, d)
	}
	if n := len(s.Diagnostics()); n != 0 {
		t.Errorf("%d diagnostics, want none", n)
	}
	s.AddMeta("ExampleBot", "max-snippet:ten, max-snippet:30")
	if d := s.Directives(); d.MaxSnippet != 30 || len(s.Diagnostics()) != 1 {
		t.Errorf("%+v, %+v", d, s.Diagnostics())
	}
}

func TestFormats_4_2_Merge(t *testing.T) {
	early, late := time.Unix(1, 0), time.Unix(2, 0)
	a := Directives{NoIndex: true, UnavailableAfter: late, MaxSnippet: 20}
	b := Directives{NoFollow: true, NoArchive: true, UnavailableAfter: early, MaxSnippet: 50}
	want := Directives{NoIndex: true, NoFollow: true, NoArchive: true, UnavailableAfter: early, MaxSnippet: 20}
	if a.Merge(b) != want || b.Merge(a) != want {
		t.Errorf("Merge = %+v, %+v", a.Merge(b), b.Merge(a))
	}
	if got := a.Merge(Directives{}); got != a {
		t.Errorf("Merge with nothing = %+v", got)
	}
	if got := (Directives{}).Merge(a); got != a {
		t.Errorf("nothing merged with it = %+v", got)
	}
}
