package usage_test

import (
	"net/http"
	"testing"

	"github.com/curtsy/curtsy/pkg/usage"
)

// statement returns a Set of a robots.txt, headers, and a page's markup with a reservation and a
// tag.
func statement(robots string, header http.Header, meta, tag string) *usage.Set {
	var s usage.Set
	if robots != "" {
		s.ContentSignal(usage.Position{From: "robots.txt", Line: 3}, robots)
	}
	s.Headers(header)
	if meta != "" {
		s.Meta(1, "tdm-reservation", meta)
	}
	if tag != "" {
		s.Tag(usage.Position{From: tag, Line: 1}, "noai", false)
	}
	return &s
}

// Formats §8.14: after a 304, robots.txt counts as it is now, a header if the 304 has it, and
// everything else as before.
func TestUsage_8_14_Renew(t *testing.T) {
	head := func(lines ...string) http.Header {
		h := http.Header{}
		for i := 0; i < len(lines); i += 2 {
			h.Add(lines[i], lines[i+1])
		}
		return h
	}
	usageN := head("Content-Usage", "train-ai=n")
	rows := []struct {
		name     string
		old, now *usage.Set
		carried  http.Header
		tagged   bool
		want     pref
	}{
		{"nothing new", statement("ai-input=no", usageN, "", ""), statement("ai-input=no", nil, "", ""), nil, false, pref{u, d, d, u}},
		{"the header again", statement("", usageN, "", ""), statement("", head("Content-Usage", "train-ai=y"), "", ""), head("Content-Usage", "train-ai=y"), false, pref{u, u, a, u}},
		{"the header, saying nothing", statement("", usageN, "", ""), statement("", nil, "", ""), head("Content-Usage", "bots=n"), false, pref{}},
		{"another header", statement("", usageN, "", ""), statement("", head("Content-Signal", "search=yes"), "", ""), head("Content-Signal", "search=yes"), false, pref{a, u, d, u}},
		{"markup stays", statement("", nil, "1", "meta robots"), statement("", nil, "", ""), nil, true, pref{u, d, d, d}},
		{"markup is nearer than the new header", statement("", nil, "0", ""), statement("", head("Tdm-Reservation", "1"), "", ""), head("Tdm-Reservation", "1"), false, pref{u, u, u, a}},
		{"a tag of the header stays without tags", statement("", nil, "", "header X-Robots-Tag"), statement("", nil, "", ""), nil, false, pref{u, d, d, u}},
		{"and goes with them", statement("", nil, "", "header X-Robots-Tag"), statement("", nil, "", ""), nil, true, pref{}},
	}
	for _, r := range rows {
		now := append(r.now.Statements(), usage.Carried(r.carried)...)
		got := r.old.Statements().Renew(now, r.tagged)
		if got.Preferences() != r.want {
			t.Errorf("%s: %v, want %v (%+v)", r.name, got.Preferences(), r.want, got)
		}
		for _, s := range got {
			if s.Preferences == (usage.Preferences{}) {
				t.Errorf("%s: %+v has no effect and is kept", r.name, s)
			}
		}
	}
	var inferred usage.Set
	inferred.Inferred(here, "Disallow: /")
	if l := inferred.Statements(); l.Concluded() != (pref{u, u, d, u}) || l.Preferences() != (pref{}) || len(l.Renew(nil, false)) != 0 {
		t.Errorf("inferred: %+v", l)
	}
}

// The kept part of very many statements has the same result as all of them, also after Renew.
func TestRenewIsBounded(t *testing.T) {
	many := func(from string, n int) usage.Statements {
		var s usage.Set
		for i := range n {
			s.ContentSignal(usage.Position{From: from, Line: i + 1}, "search=yes")
		}
		s.ContentSignal(usage.Position{From: from, Line: n + 1}, "ai-train=no")
		s.Headers(http.Header{"Tdm-Reservation": {"1"}})
		return s.Statements()
	}
	old, now := many("meta robots", 100), many("robots.txt", 100)
	if len(old) != 66 {
		t.Errorf("%d statements of 102", len(old))
	}
	got := old.Renew(now, false)
	if want := old.Preferences().Merge(now.Preferences()); got.Preferences() != want || len(got) > 83 {
		t.Errorf("%d statements give %v, want %v", len(got), got.Preferences(), want)
	}
}

// Formats §8.15: the current statements of robots.txt and of rights files replace those of the time
// when the page was sent, also if the page is unchanged (304).
func TestUsage_8_15_ChangedFiles(t *testing.T) {
	file := func(reserved string) *usage.Set {
		f, err := usage.ParseTDMRep([]byte(`[{"location":"/","tdm-reservation":` + reserved + `}]`))
		if err != nil {
			t.Fatal(err)
		}
		var s usage.Set
		s.TDMRep(f, "/x")
		return &s
	}
	header := http.Header{"Content-Usage": {"train-ai=n"}}
	for _, r := range []struct {
		name     string
		old, now *usage.Set
		want     pref
	}{
		{"a line changed", statement("ai-input=no", header, "", ""), statement("ai-input=yes", nil, "", ""), pref{u, a, d, u}},
		{"a line went", statement("ai-input=no", nil, "", ""), statement("", nil, "", ""), pref{}},
		{"a line came", statement("", nil, "", ""), statement("search=no", nil, "", ""), pref{d, u, u, u}},
		{"the reservation was lifted", file("1"), file("0"), pref{u, u, u, a}},
		{"the reservation went", file("1"), statement("", nil, "", ""), pref{}},
		{"the reservation came", statement("", nil, "", ""), file("1"), pref{u, d, d, d}},
	} {
		if got := r.old.Statements().Renew(r.now.Statements(), false).Preferences(); got != r.want {
			t.Errorf("%s: %v, want %v", r.name, got, r.want)
		}
	}
}
