package rup

import (
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func mustURL(t testing.TB, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func parseInfo(t testing.TB, text string) (*Info, error) {
	t.Helper()
	return ParseInfo([]byte(text), mustURL(t, "http://www.site.example/rupinfo.txt"))
}

// The draft's own syntax of the file, with all fields.
func TestRUP_6_1_AllFields(t *testing.T) {
	t.Parallel()
	i, err := parseInfo(t, "RUP-CGI: http://www.site.example/cgi-bin/rup?site=1\nAuthentifier: none\nLatency: day, week, month\n"+
		"Exclude: .*\\.gif$, /tmp/\nIncludeOnly: /~di/.*, .*\nMaxQuerySpan: 4-week\n")
	if err != nil {
		t.Fatal(err)
	}
	want := &Info{
		CGI: "http://www.site.example/cgi-bin/rup?site=1", Authentifier: "none", Latency: []Unit{Day, Week, Month},
		Exclude: []string{`.*\.gif$`, "/tmp/"}, IncludeOnly: []string{"/~di/.*", ".*"}, MaxQuerySpan: Span{4, Week},
	}
	if !reflect.DeepEqual(i, want) {
		t.Errorf("got  %+v\nwant %+v", i, want)
	}
	if err := i.CanRegister(); err != nil {
		t.Error(err)
	}
}

func TestRUP_6_1_Name(t *testing.T) {
	t.Parallel()
	if InfoPath != "/rupinfo.txt" {
		t.Error(InfoPath)
	}
}

func TestRUP_6_1_CGI(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"http://www.site.example/rup": "http://www.site.example/rup",
		"/cgi-bin/rup":                "http://www.site.example/cgi-bin/rup", // relative
		"rup?x=1&y=2":                 "http://www.site.example/rup?x=1&y=2",
		// port and scheme may differ
		"https://WWW.Site.Example:8443/rup":    "https://WWW.Site.Example:8443/rup",
		"//www.site.example/rup":               "http://www.site.example/rup",
		"http://www.site.example/rup#fragment": "http://www.site.example/rup",
	} {
		if i, err := parseInfo(t, "RUP-CGI: "+value+"\n"); err != nil || i.CGI != want {
			t.Errorf("%s: %q, %v; want %q", value, i.CGI, err, want)
		}
	}
	for _, value := range []string{
		"", "http://other.example/rup", "http://site.example/rup", "//other.example/rup", "ftp://www.site.example/rup", "mailto:rup@www.site.example",
		"http:///rup", "http://user:secret@www.site.example/rup", "http://www.site.example/a b", "http://[::1/", "javascript:alert(1)",
		"http://other.example\nRUP-CGI: /rup", // the first counts, even if it is unusable
	} {
		i, err := parseInfo(t, "RUP-CGI: "+value+"\nLatency: day\n")
		if !errors.Is(err, ErrNoRUP) || i.CGI != "" || len(i.Latency) != 1 || !errors.Is(i.CanRegister(), ErrNoRUP) {
			t.Errorf("%s: %+v, %v; want no RUP here", value, i, err)
		}
	}
	if i, err := parseInfo(t, "Latency: day\n"); !errors.Is(err, ErrNoRUP) {
		t.Errorf("without: %+v, %v", i, err)
	}
	if i, err := parseInfo(t, "RUP-CGI:\nRUP-CGI: http://[\nrup-cgi : /a\nRUP-CGI: /b\n"); err != nil || i.CGI != "http://www.site.example/a" || i.Skipped != 3 {
		t.Errorf("malformed lines are as if absent, the first other counts: %+v, %v", i, err)
	}
}

func TestRUP_6_1_Authentifier(t *testing.T) {
	t.Parallel()
	for text, ok := range map[string]bool{
		"": true, "Authentifier: none\n": true, "Authentifier:\n": true, "Authentifier: pgp\n": false, "Authentifier: None\n": false,
		"Authentifier: none\nAuthentifier: pgp\n": true, "Authentifier: pgp\nAuthentifier: none\n": false,
	} {
		i, err := parseInfo(t, "RUP-CGI: /rup\nMaxQuerySpan: 1-day\n"+text)
		if err != nil || i.CGI == "" || i.MaxQuerySpan == (Span{}) { // GetIndex is still possible
			t.Errorf("%q: %+v, %v", text, i, err)
		}
		if err := i.CanRegister(); (err == nil) != ok || !ok && !errors.Is(err, ErrAuthentifier) {
			t.Errorf("%q: %v, want registration %v", text, err, ok)
		}
	}
}

func TestRUP_6_1_LatencyLine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text    string
		units   []Unit
		deflt   Latency
		oddness int
	}{
		{"", nil, Latency{1, Week}, 0},
		{"Latency: day\n", []Unit{Day}, Latency{1, Day}, 0},
		{"Latency: month,day\n", []Unit{Month, Day}, Latency{1, Month}, 0}, // comma, blank optional
		{"Latency:week ,\tday,\n", []Unit{Week, Day}, Latency{1, Week}, 0},
		{"Latency: hour, day\n", []Unit{"hour", Day}, Latency{1, Day}, 1}, // kept, but not chosen
		{"Latency: Day\n", []Unit{"Day"}, Latency{1, Week}, 1},
		// a repeated list is extended
		{"Latency: day\nlatency: week, day\n", []Unit{Day, Week}, Latency{1, Day}, 0},
	} {
		i, err := parseInfo(t, "RUP-CGI: /rup\n"+c.text)
		if err != nil || !slices.Equal(i.Latency, c.units) || i.DefaultLatency() != c.deflt || i.Skipped != c.oddness {
			t.Errorf("%q: %+v, %v", c.text, i, err)
		}
	}
}

func TestRUP_6_1_Lists(t *testing.T) {
	t.Parallel()
	i, err := parseInfo(t, "RUP-CGI: /rup\nExclude: a{1,2}, b,c,\t d,\nExclude: e, , f\nIncludeOnly: x: y\n")
	if err != nil || !slices.Equal(i.Exclude, []string{"a{1,2}", "b,c", "d,", "e", "f"}) {
		t.Errorf("%q, %v", i.Exclude, err)
	}
	if len(i.IncludeOnly) != 1 || i.Skipped != 1 { // a pattern with a blank can never be sent
		t.Errorf("%q, %+v", i.IncludeOnly, i.Diagnostics)
	}
	i, _ = parseInfo(t, "RUP-CGI: /rup\nExclude: (, (?=x), "+strings.Repeat("a", MaxPattern)+", "+strings.Repeat("b", MaxPattern+1)+"\n")
	if len(i.Exclude) != 4 || i.Skipped != 3 {
		t.Errorf("%d patterns, %+v", len(i.Exclude), i.Diagnostics)
	}
}

func TestRUP_6_1_MaxQuerySpan(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Span{
		"": {}, "MaxQuerySpan: 30-day\n": {30, Day}, "MaxQuerySpan: week\n": {}, "MaxQuerySpan: 0-day\n": {},
		"MaxQuerySpan: bad\nMaxQuerySpan: 2-week\nMaxQuerySpan: 3-week\n": {2, Week},
	} {
		if i, err := parseInfo(t, "RUP-CGI: /rup\n"+text); err != nil || i.MaxQuerySpan != want {
			t.Errorf("%q: %v, %v; want %v", text, i.MaxQuerySpan, err, want)
		}
	}
}

// Any order, any line ends, names in any case; a bad line affects only itself.
func TestRUP_6_1_Lines(t *testing.T) {
	t.Parallel()
	i, err := parseInfo(t, "\uFEFFmaxqueryspan:1-day\r\r\nnonsense\r\nX-More: 1\n# comment\nLATENCY\t:\tday\n\xff\xfe: \x00\nRup-Cgi : /rup")
	if err != nil || i.CGI != "http://www.site.example/rup" || i.MaxQuerySpan != (Span{1, Day}) || len(i.Latency) != 1 {
		t.Errorf("%+v, %v", i, err)
	}
	want := []int{3, 4, 5, 7}
	if i.Skipped != len(want) {
		t.Fatalf("%+v", i.Diagnostics)
	}
	for k, d := range i.Diagnostics {
		if d.Line != want[k] || d.Reason == "" {
			t.Errorf("%+v, want line %d", d, want[k])
		}
	}
	utf16 := []byte{0xFF, 0xFE}
	for _, c := range "RUP-CGI: /rup\n" {
		utf16 = append(utf16, byte(c), 0)
	}
	if i, err := ParseInfo(utf16, mustURL(t, "http://www.site.example/")); err != nil || i.CGI != "http://www.site.example/rup" {
		t.Errorf("UTF-16: %+v, %v", i, err)
	}
}

func TestRUP_6_1_Limit(t *testing.T) {
	t.Parallel()
	const end = "Latency: day\n"
	pad := "RUP-CGI: /rup\n" + strings.Repeat("#\n", MaxInfo)
	pad = pad[:MaxInfo-len(end)-1] + "\n"
	if i, err := parseInfo(t, pad+end); err != nil || len(i.Latency) != 1 {
		t.Errorf("at the limit: %+v, %v", i.Latency, err)
	}
	i, err := parseInfo(t, pad+"Latency: days\n")
	if err != nil || len(i.Latency) != 0 {
		t.Errorf("the line across the limit was used: %+v, %v", i.Latency, err)
	}
	if len(i.Diagnostics) != maxDiagnostics || i.Skipped < 30_000 {
		t.Errorf("%d diagnostics of %d", len(i.Diagnostics), i.Skipped)
	}
}

func TestRUP_6_1_Written(t *testing.T) {
	t.Parallel()
	i := &Info{
		CGI: "http://www.site.example/rup", Authentifier: "none", Latency: []Unit{Day, Month}, Exclude: []string{"a,", "b{1,2}"},
		IncludeOnly: []string{".*"}, MaxQuerySpan: Span{4, Week},
	}
	text, err := i.Text()
	if err != nil {
		t.Fatal(err)
	}
	if back, err := parseInfo(t, string(text)); err != nil || !reflect.DeepEqual(back, i) {
		t.Errorf("%s\nis read as %+v, %v", text, back, err)
	}
	for _, bad := range []*Info{
		{}, {CGI: "/rup\nLatency: day"}, {CGI: "/rup", Authentifier: "pgp"}, {CGI: "/rup", Latency: []Unit{"hour"}},
		{CGI: "/rup", Exclude: []string{"a b"}}, {CGI: "/rup", IncludeOnly: []string{"("}}, {CGI: "/rup", Exclude: []string{"a\nLatency: day"}},
		{CGI: "/rup", Exclude: slices.Repeat([]string{strings.Repeat("x", 1000)}, 66)},
	} {
		if text, err := bad.Text(); err == nil {
			t.Errorf("%+v is written as %s", bad, text)
		}
	}
}

func FuzzInfo(f *testing.F) {
	for _, s := range []string{
		"RUP-CGI: /rup\nLatency: day, week\nExclude: a, b,c\nMaxQuerySpan: 1-day\n", "\xff\xfe:\r\r\n", "RUP-CGI: http://www.site.example:80/x?y#z\nAuthentifier: x",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		base := mustURL(t, "http://www.site.example/rupinfo.txt")
		i, err := ParseInfo(body, base)
		if (err == nil) != (i.CGI != "") || err != nil && !errors.Is(err, ErrNoRUP) || len(i.Diagnostics) > maxDiagnostics || i.Skipped < len(i.Diagnostics) {
			t.Fatalf("%+v, %v", i, err)
		}
		if err != nil {
			return
		}
		if u, err := url.Parse(i.CGI); err != nil || lower(u.Hostname()) != "www.site.example" || u.Scheme != "http" && u.Scheme != "https" {
			t.Fatalf("CGI %q", i.CGI)
		}
		text, err := i.Text()
		if err != nil {
			return // an unusual unit or pattern
		}
		back, err := ParseInfo(text, base)
		if err != nil || fmt.Sprint(back.CGI, back.Latency, back.Exclude, back.IncludeOnly, back.MaxQuerySpan) !=
			fmt.Sprint(i.CGI, i.Latency, i.Exclude, i.IncludeOnly, i.MaxQuerySpan) {
			t.Fatalf("%q is read back as %+v, was %+v", text, back, i)
		}
	})
}
