package store

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"
)

// Of the lines to write, those are left out that the log has since a given time, in whichever file;
// and no others. Lines that are further back than the search reads count as new.
func TestKnownLinesAreLeftOut(t *testing.T) {
	smaller(t, MaxScan, 300, 400)
	begin := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	line := func(n int) []byte {
		return fmt.Appendf(nil, `{"time":"%s","url":"http://h.example/%s"}`+"\n", begin.Add(time.Duration(n)*time.Second).Format(time.RFC3339Nano), strings.Repeat("x", n%90))
	}
	upTo := func(from, to int) (b []byte) {
		for n := from; n < to; n++ {
			b = append(b, line(n)...)
		}
		return b
	}
	const lines = 400
	defer func(was int64) { maxKnown = was }(maxKnown)
	for _, tt := range []struct {
		since    int // seconds after the beginning
		most     int64
		from     int // the first line that is written again
		excepted int
	}{
		{0, 1 << 20, 0, 0},
		{350, 1 << 20, 200, 0},    // known are those from 290 on, and a logBlock before
		{350, 1 << 20, 300, 0},    // all of these
		{0, 2000, lines - 100, 1}, // only some of these
		{lines + 1000, 1 << 20, 0, 2},
	} {
		dir := t.TempDir()
		w, err := OpenCrawlLogWriter(dir, 5000, 100)
		if err != nil {
			t.Fatal(err)
		}
		for n := range lines {
			more := line(n)
			if n%50 == 7 { // a foreign line that is too long
				more = append(more, strings.Repeat("y", 700)+"\n"...)
			}
			if _, err := w.Write(more); err != nil {
				t.Fatal(err)
			}
		}
		maxKnown = tt.most
		without, err := w.Known(begin.Add(time.Duration(tt.since) * time.Second))
		if err != nil {
			t.Fatal(err)
		}
		got := string(without(upTo(tt.from, lines+3)))
		news := string(upTo(lines, lines+3))
		if !strings.HasSuffix(got, news) {
			t.Errorf("%+v: new lines are left out: %q", tt, got)
		}
		again := bytes.Count([]byte(strings.TrimSuffix(got, news)), []byte("\n"))
		before := max(tt.since-60-tt.from, 0) // lines that are too old to be searched for
		switch {
		case tt.excepted == 0 && again > before, tt.excepted == 1 && (again < 10 || again > 90), tt.excepted == 2 && again < lines-10:
			t.Errorf("%+v: %d lines are written again", tt, again)
		}
		w.Close()
	}
	w, err := OpenCrawlLogWriter(t.TempDir(), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	without, err := w.Known(begin)
	if err != nil || !bytes.Equal(without(line(1)), line(1)) {
		t.Errorf("a log without a line knows one (%v)", err)
	}
}
