package robotstag

import (
	"strings"
	"testing"
	"time"
)

// pad returns n bytes of unknown rules, ending in a comma.
func pad(n int) string {
	return strings.Repeat("x", n-1) + ","
}

// At least 8 192 bytes of each value are read; a rule that the limit cuts is ignored.
func TestFormats_4_1_8_ValueLimit(t *testing.T) {
	for _, c := range []struct {
		name, value string
		want        Directives
	}{
		{"ends at the limit", pad(MaxValue-7) + "noindex", Directives{NoIndex: true}},
		{"whole, then a comma", pad(MaxValue-7) + "noindex,nofollow", Directives{NoIndex: true}},
		{"whole, then a blank", pad(MaxValue-7) + "noindex nofollow", Directives{NoIndex: true}},
		{"one byte too far", pad(MaxValue-6) + "noindex", Directives{}},
		{"halved", pad(MaxValue-4) + "noindex", Directives{}},
		{"prefix of another word", pad(MaxValue-7) + "noindexer", Directives{}},
		{"halved behind a blank", pad(MaxValue-16) + "nofollow noindex,", Directives{NoFollow: true, NoIndex: true}},
		{"halved after a blank", pad(MaxValue-12) + "nofollow noindex", Directives{NoFollow: true}},
		{"beyond", pad(MaxValue) + "noindex", Directives{}},
		{"one long word", strings.Repeat("x", 3*MaxValue), Directives{}},
		{"date halved into another date", pad(MaxValue-30) + "unavailable_after: 03 Dec 2025 13:09:53 GMT", Directives{}},
		{"date cut between words", pad(MaxValue-len("unavailable_after: 03 Dec 2025")) + "unavailable_after: 03 Dec 2025 13:09:53 GMT", Directives{}},
		{"date whole, then a comma", pad(MaxValue-len("unavailable_after: 03 Dec 2025")) + "unavailable_after: 03 Dec 2025, x",
			Directives{UnavailableAfter: time.Date(2025, 12, 3, 0, 0, 0, 0, time.UTC)}},
		{"max-snippet's number halved", pad(MaxValue-len("max-snippet: 1")) + "max-snippet: 100", Directives{}},
		{"max-snippet whole", pad(MaxValue-len("max-snippet:10")) + "max-snippet:10, x", Directives{MaxSnippet: 10}},
		{"max-snippet halved", pad(MaxValue-len("max-snippet:0")) + "max-snippet:00", Directives{}},
	} {
		if got := fromHeader(c.value).Directives(); got != c.want {
			t.Errorf("header, %s: %+v, want %+v", c.name, got, c.want)
		}
		if got := fromMeta(c.value).Directives(); got != c.want {
			t.Errorf("meta, %s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

// Exactly 64 KiB of a response's header lines are read, and again as much of its meta elements, so
// that junk in one place does not hide the other.
func TestFormats_0_ResponseLimit(t *testing.T) {
	s := New(bot)
	for range MaxResponse/MaxValue - 1 {
		s.AddHeader("Robots-Tag", pad(MaxValue))
	}
	s.AddHeader("Robots-Tag", pad(MaxValue-len("noindex"))+"noindex")
	if got := s.Directives(); got != (Directives{NoIndex: true}) {
		t.Errorf("at the limit: %+v", got)
	}
	s.AddHeader("Robots-Tag", "nofollow")
	if got := s.Directives(); got != (Directives{NoIndex: true}) {
		t.Errorf("past the limit: %+v", got)
	}
	s.AddMeta("robots", "nosnippet")
	if got := s.Directives(); got != (Directives{NoIndex: true, NoSnippet: true}) {
		t.Errorf("meta after a full header: %+v", got)
	}
	if len(s.Diagnostics()) == 0 {
		t.Error("a cut is not reported")
	}
}

// The stored explanations of a decision are limited; the decision is not.
func TestSourcesAndDiagnosticsAreBounded(t *testing.T) {
	s := New(bot)
	for range 1000 {
		s.AddHeader("Robots-Tag", "what")
	}
	s.AddHeader("Robots-Tag", "noindex")
	if len(s.Sources()) != maxSources || len(s.Diagnostics()) != maxDiagnostics {
		t.Errorf("%d sources, %d diagnostics", len(s.Sources()), len(s.Diagnostics()))
	}
	if !s.Directives().NoIndex {
		t.Error("a rule past the kept sources is lost")
	}
}

func TestDiagnosticsNameTheirLine(t *testing.T) {
	s := fromHeader("noindex", "nosnippet, nonsense")
	s.AddMeta("robots", "unavailable_after: soon")
	want := []Diagnostic{
		{Header, 2, "nonsense", "unknown rule"},
		{Meta, 1, "soon", "the date cannot be read"},
	}
	got := s.Diagnostics()
	if len(got) != len(want) || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("Diagnostics = %+v, want %+v", got, want)
	}
}
