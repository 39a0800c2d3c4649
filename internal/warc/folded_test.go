package warc

import (
	"runtime"
	"strings"
	"testing"
)

// A header of 21,000 continuation lines, which gzip packs into 200 bytes, takes as much memory as a
// few headers, and not 465 MB for a copy of the value by each line.
func TestFoldedValues(t *testing.T) {
	head := func(value string) string {
		return "WARC/1.1\r\nContent-Length: 0\r\nX:" + value + "\r\nY: z\r\n\r\n\r\n\r\n"
	}
	rec, err := NewReader(strings.NewReader(head(" a\r\n b \r\n \r\n\tc"))).Next()
	if err != nil || rec.Get("X") != "a b c" || rec.Get("Y") != "z" {
		t.Errorf("%+v, %v", rec, err)
	}
	rec, err = NewReader(strings.NewReader(head("\r\n b"))).Next()
	if err != nil || rec.Get("X") != "b" {
		t.Errorf("%+v, %v", rec, err)
	}
	const n = 21_000
	text := head(strings.Repeat("\n a", n))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	rec, err = NewReader(strings.NewReader(text)).Next()
	runtime.ReadMemStats(&after)
	if err != nil || len(rec.Get("X")) != 2*n-1 {
		t.Fatalf("%v", err)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 4<<20 {
		t.Errorf("%d KiB for a header of %d", used>>10, len(text)>>10)
	}
}
