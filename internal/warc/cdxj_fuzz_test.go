package warc

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// FuzzEntry: a line of an index is one line, is read as it was written, and is sorted by its key.
func FuzzEntry(f *testing.F) {
	f.Add("http://a.example/x y", "text/html", "200", "sha256:a", int64(5), int64(7), "a.warc.gz", int64(1e9))
	f.Add("urn:x\u2028\x00\"\\", "warc/revisit", "", "", int64(0), int64(1<<62), "", int64(-1))
	f.Fuzz(func(t *testing.T, url, mime, status, digest string, length, offset int64, name string, at int64) {
		if length < 0 || offset < 0 {
			return
		}
		stamp := Stamp(time.Unix(at%250_000_000_000, 0))
		if len(stamp) != 14 {
			return // a year that no WARC-Date can have
		}
		for _, s := range []string{url, mime, status, digest, name} {
			if !utf8.ValidString(s) {
				return // JSON has nothing else
			}
		}
		e := Entry{Key: Key(url), Time: stamp, URL: url, Mime: mime, Status: status, Digest: digest, Length: length, Offset: offset, Filename: name}
		line := e.Append(nil)
		if strings.Count(string(line), "\n") != 1 {
			t.Fatalf("%q is no line", line)
		}
		if got, err := ParseEntry(line); err != nil || got != e {
			t.Errorf("%q is read as %+v, %v", line, got, err)
		}
	})
}
