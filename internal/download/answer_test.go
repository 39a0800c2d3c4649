package download

import (
	"net/http"
	"strings"
	"testing"
)

func TestContentRange(t *testing.T) {
	for _, c := range []struct {
		header             string
		first, last, total int64
		ok                 bool
	}{
		{"bytes 0-99/1000", 0, 99, 1000, true}, {"bytes 0-99/*", 0, 99, -1, true}, {"Bytes 5-5/6", 5, 5, 6, true}, {"bytes */1000", -1, -1, 1000, true},
		{" bytes  0-99/1000", 0, 99, 1000, true},
		{"", 0, 0, 0, false}, {"bytes */*", 0, 0, 0, false}, {"bytes 9-5/10", 0, 0, 0, false}, {"bytes 0-10/10", 0, 0, 0, false}, {"bytes 0-9", 0, 0, 0, false},
		{"lines 0-9/10", 0, 0, 0, false}, {"bytes -5-9/10", 0, 0, 0, false}, {"bytes +0-9/10", 0, 0, 0, false}, {"bytes 0-9/1e1", 0, 0, 0, false},
		{"bytes 0-9/-1", 0, 0, 0, false}, {"bytes 0-9999999999999999999/*", 0, 0, 0, false}, {"bytes 0-9/10, 20-29/30", 0, 0, 0, false},
	} {
		first, last, total, ok := contentRange(http.Header{"Content-Range": {c.header}})
		if ok != c.ok || ok && (first != c.first || last != c.last || total != c.total) {
			t.Errorf("%q: %d-%d/%d %v", c.header, first, last, total, ok)
		}
	}
}

func FuzzContentRange(f *testing.F) {
	f.Add("bytes 0-99/1000")
	f.Add("bytes */7")
	f.Fuzz(func(t *testing.T, s string) {
		first, last, total, ok := contentRange(http.Header{"Content-Range": {s}})
		switch {
		case !ok:
		case first == -1 && last == -1 && total >= 0:
		case first < 0 || last < first || total < -1 || total >= 0 && last >= total:
			t.Fatalf("%q: %d-%d/%d", s, first, last, total)
		}
	})
}

// RFC 9110 §8.8.1, §8.8.2.2, §13.1.5: the validators that may be compared octet by octet.
func TestRFC9110_8_8_StrongValidator(t *testing.T) {
	const noon, date = "Fri, 20 Nov 2026 12:00:00 GMT", "Fri, 20 Nov 2026 12:01:00 GMT"
	for _, c := range []struct{ tag, modified, date, want string }{
		{`"x"`, "", "", `"x"`}, {`"x"`, noon, date, `"x"`}, {`""`, "", "", `""`},
		{`W/"x"`, "", "", ""}, {`W/"x"`, noon, date, ""}, {`x`, noon, date, ""}, {`"a"b"`, "", "", ""}, {"\"a b\"", "", "", ""},
		{`"` + strings.Repeat("x", maxTag-2) + `"`, "", "", `"` + strings.Repeat("x", maxTag-2) + `"`}, {`"` + strings.Repeat("x", maxTag-1) + `"`, "", "", ""},
		{"", noon, date, noon}, {"", noon, "Fri, 20 Nov 2026 12:00:59 GMT", ""}, {"", noon, "", ""}, {"", "yesterday", date, ""}, {"", date, noon, ""}, {"", "", "", ""},
	} {
		h := http.Header{}
		for k, v := range map[string]string{"ETag": c.tag, "Last-Modified": c.modified, "Date": c.date} {
			if v != "" {
				h.Set(k, v)
			}
		}
		if got := validator(h); got != c.want {
			t.Errorf("%v: %q, want %q", h, got, c.want)
		}
	}
}
