package usage_test

import (
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/pkg/usage"
)

// sane checks the properties of every Set: sources and preferences agree, and no more is stored
// than the limits allow.
func sane(t *testing.T, s *usage.Set) {
	t.Helper()
	var again usage.Set
	again.Add(s.Statements())
	if !reflect.DeepEqual(again.Statements(), s.Statements()) {
		t.Errorf("%+v, added again %+v", s.Statements(), again.Statements())
	}
	var p usage.Preferences
	for _, src := range s.Sources() {
		if src.Value == usage.Unknown || src.From == "" || src.Line < 1 || len(src.Text) > 200 {
			t.Errorf("source %+v", src)
		}
		p[src.Purpose] = max(p[src.Purpose], src.Value)
	}
	if p != s.Concluded() || p != s.Statements().Concluded() || s.Preferences() != s.Statements().Preferences() {
		t.Errorf("sources state %v, the set %v", p, s.Concluded())
	}
	for _, d := range s.Diagnostics() {
		if d.Reason == "" || d.From == "" || len(d.Text) > 200 {
			t.Errorf("diagnostic %+v", d)
		}
	}
	if len(s.Statements()) > 83 || len(s.Diagnostics()) > 64 || len(s.Terms()) > 64 {
		t.Error("more than is kept")
	}
}

// A statement that is not a dictionary has no effect, and one more unknown key changes nothing.
func FuzzContentUsage(f *testing.F) {
	f.Add("train-ai=n, search=y")
	f.Add(`a=(1 2);b;c="x", train-ai=y;q=0.1`)
	f.Fuzz(func(t *testing.T, statement string) {
		p, err := usage.ParseContentUsage(statement)
		if err != nil && p != (usage.Preferences{}) {
			t.Errorf("%q: %v and %v", statement, p, err)
		}
		if p[usage.TDM] != usage.Unknown {
			t.Errorf("%q speaks of tdm", statement)
		}
		if err == nil && len(statement) < usage.MaxStatement-9 {
			if more, err := usage.ParseContentUsage("zz9=y, " + statement); err == nil && more != p {
				t.Errorf("%q: %v, with another key %v", statement, p, more)
			}
		}
		var s usage.Set
		s.ContentUsage(here, statement)
		sane(t, &s)
	})
}

// A repeated statement changes nothing, and a further statement never allows more.
func FuzzContentSignal(f *testing.F) {
	f.Add("search=yes, ai-train=no", "use=immediate")
	f.Add("ai-input = Y;;x", ",=")
	f.Fuzz(func(t *testing.T, one, two string) {
		p, _ := usage.ParseContentSignal(one)
		q, _ := usage.ParseContentSignal(two)
		if both, _ := usage.ParseContentSignal(one + "," + two); len(one)+len(two) < usage.MaxStatement && both != p.Merge(q) {
			// the joint may connect a key with a value: "a=" and "no"
			if !strings.HasSuffix(strings.TrimRight(one, " \t"), "=") && !strings.HasPrefix(strings.TrimLeft(two, " \t,;"), "=") {
				t.Errorf("%q and %q: %v, apart %v", one, two, both, p.Merge(q))
			}
		}
		var s usage.Set
		s.ContentSignal(here, one)
		s.ContentSignal(here, two)
		sane(t, &s)
		if len(one) <= usage.MaxStatement && len(two) <= usage.MaxStatement && s.Preferences() != p.Merge(q) {
			t.Errorf("%v, want %v", s.Preferences(), p.Merge(q))
		}
	})
}

// A file is parsed completely or not at all, and the result does not depend on the spelling of the
// URL.
func FuzzTDMRep(f *testing.F) {
	f.Add([]byte(`[{"location":"/a*b$","tdm-reservation":1},{"location":"/","tdm-reservation":0}]`), "/axb")
	f.Add([]byte(`[{"location":"/%7E","tdm-policy":"x"}]`), "/~")
	f.Fuzz(func(t *testing.T, body []byte, url string) {
		doc, err := usage.ParseTDMRep(body)
		if (doc == nil) != (err != nil) {
			t.Fatal(doc, err)
		}
		if doc == nil {
			return
		}
		var s, again usage.Set
		s.TDMRep(doc, url)
		sane(t, &s)
		again.TDMRep(doc, url+"#fragment")
		if s.Preferences() != again.Preferences() && !strings.Contains(url, "#") {
			t.Errorf("%q: %v, with a fragment %v", url, s.Preferences(), again.Preferences())
		}
	})
}

// The same for licence documents; none has an effect on tdm.
func FuzzRSL(f *testing.F) {
	f.Add([]byte(rsl(`<content url="/a*"><license><permits type="usage">ai-train</permits><payment type="free"/></license></content>`)), "/ab")
	f.Add([]byte(rsl(`<content url="https://d.example/" server="x"/>`)), "https://d.example/")
	f.Fuzz(func(t *testing.T, body []byte, url string) {
		doc, err := usage.ParseRSL(body)
		if (doc == nil) != (err != nil) {
			t.Fatal(doc, err)
		}
		if doc == nil {
			return
		}
		var s usage.Set
		s.RSL(doc, usage.Position{From: "rsl", Line: 1}, url)
		sane(t, &s)
		if s.Preferences()[usage.TDM] != usage.Unknown {
			t.Error("it speaks of tdm")
		}
	})
}

// Any headers.
func FuzzHeaders(f *testing.F) {
	f.Add("train-ai=n", "search=yes", "1", `<https://l.example/>; rel=license; type="application/rsl+xml"`)
	f.Add("?", "use=x", "0,1", `<<>;;=,"`)
	f.Fuzz(func(t *testing.T, use, signal, reserved, link string) {
		var s usage.Set
		s.Headers(http.Header{"Content-Usage": {use, use}, "Content-Signal": {signal}, "Tdm-Reservation": {reserved}, "Tdm-Policy": {link}, "Link": {link}})
		s.Meta(1, " "+use, signal)
		s.Meta(1, "tdm-reservation", reserved)
		sane(t, &s)
		// an additional stricter statement never allows more
		before := s.Preferences()
		s.Tag(here, "noai", false)
		for p, v := range s.Preferences() {
			if v < before[p] {
				t.Errorf("%v, then %v", before, s.Preferences())
			}
		}
	})
}
