package store

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// FuzzAuditLine: an operator action is one line of JSON, and is read as it was written.
func FuzzAuditLine(f *testing.F) {
	f.Add("pause", "http://a.example/\"\\", "x\ny", "é\u2028\x7f", int64(1e18))
	f.Fuzz(func(t *testing.T, action, what, detail, who string, at int64) {
		a := crawl.Audit{Action: action, What: what, Detail: detail, Who: who, At: time.Unix(0, at)}
		line := AuditLine(a)
		if strings.Count(string(line), "\n") != 1 {
			t.Fatalf("%q is no line", line)
		}
		var l crawl.LogLine
		if err := json.Unmarshal(line, &l); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		valid := func(s string) string { return strings.ToValidUTF8(s, "\ufffd") }
		same := func(got, want string) bool { return valid(got) == got && len([]rune(got)) == len([]rune(want)) }
		if !same(l.Audit, action) || !same(l.What, what) || !same(l.Detail, detail) || !l.Time.Equal(a.At) {
			t.Errorf("%q is read as %+v", line, l)
		}
	})
}
