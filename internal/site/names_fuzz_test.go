package site

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/pkg/rup"
)

// FuzzReportedNames: whatever an announced file is called, a robot reads its URL in the report
// unchanged.
func FuzzReportedNames(f *testing.F) {
	for _, s := range []string{"a b", "http:x", "a/index.html", "index.html", "New[2026]: x", "a,b", "%41", "a\nb", "a/..b/c", "?x", "#x", "\xff", "./x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, rel string) {
		if rel == "" || strings.Contains(rel, "\x00") || filepath.ToSlash(filepath.Clean(rel)) != rel || rel[0] == '/' {
			return // no name of a file
		}
		n, err := newNames("index.html", DefaultIgnore())
		if err != nil || !n.announced(rel) {
			return
		}
		const base = "http://www.example.org/docs/"
		want := base + n.url(rel)
		text, left := (&rup.Report{Sequence: 1, Base: base, Entries: []rup.Entry{{URL: want, Kind: rup.New, Date: time.Unix(1e9, 0)}}}).Text()
		if len(left) > 0 {
			t.Fatalf("%q is left out: %+v", rel, left)
		}
		r, err := rup.ParseReport(text)
		if err != nil || len(r.Entries) != 1 || r.Entries[0].URL != want || len(r.Refused) > 0 {
			t.Errorf("%q is reported as %q, and read as %+v, %v", rel, text, r, err)
		}
		if string(key(unkey(key(rel)))) != string(key(rel)) || unkey(key(rel)) != rel {
			t.Errorf("%q has the key %q", rel, key(rel))
		}
	})
}
