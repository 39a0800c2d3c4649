package store

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
)

func smaller(t *testing.T, scan int64, blk, line int) {
	s, b, l := MaxScan, logBlock, maxLine
	MaxScan, logBlock, maxLine = scan, blk, line
	t.Cleanup(func() { MaxScan, logBlock, maxLine = s, b, l })
}

// logOf makes a log of n lines and returns what each is.
func logOf(rnd *rand.Rand, n int) (b []byte, lines []crawl.LogEntry) {
	for i := range n {
		host := fmt.Sprintf("h%d.example", rnd.IntN(3))
		class := []string{"stored", "failed", "refused"}[rnd.IntN(3)]
		start := int64(len(b))
		b = fmt.Appendf(b, `{"time":"2026-11-22T10:00:00.%06dZ","url":"http://%s/%d","state":"%s","detail":"%s"}`+"\n", i, host, i, class, strings.Repeat("x", rnd.IntN(60)))
		lines = append(lines, crawl.LogEntry{Start: start, End: int64(len(b)), Line: crawl.LogLine{URL: fmt.Sprintf("http://%s/%d", host, i), State: class}})
		switch rnd.IntN(12) {
		case 0: // what a crash has left
			b = append(b, "{\"time\":\"2026\n"...)
		case 1: // a foreign line that is too long
			b = append(b, strings.Repeat(`{"time":"2026-11-22T10:00:00Z"}`, 30)+"\n"...)
		case 2:
			b = append(b, '\n')
		}
	}
	return b, lines
}

// TestTheLogIsReadBothWays reads random logs in small steps, from both ends, with and without
// filters, and compares the result with the whole log.
func TestTheLogIsReadBothWays(t *testing.T) {
	smaller(t, 1500, 37, 300)
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		b, all := logOf(rnd, rnd.IntN(60))
		if rnd.IntN(2) == 0 {
			// A line that is being written.
			b = append(b, `{"time":"2026-11-22T10:00:01Z","url":"http://h0.example/ha`...)
		}
		want, f := all, LogFilter{}
		if rnd.IntN(2) == 0 {
			f = LogFilter{Host: "h1.example", Class: "failed"}
			want = slices.DeleteFunc(slices.Clone(all), func(e crawl.LogEntry) bool {
				return e.Line.State != "failed" || !strings.Contains(e.Line.URL, "//h1.")
			})
		}
		check := func(how string, got []crawl.LogEntry) {
			t.Helper()
			if len(got) != len(want) {
				t.Fatalf("%s: %d lines, want %d, of\n%s", how, len(got), len(want), b)
			}
			for i := range got {
				if got[i].Start != want[i].Start || got[i].End != want[i].End || got[i].Line.URL != want[i].Line.URL {
					t.Fatalf("%s: line %d is %+v, want %+v", how, i, got[i], want[i])
				}
			}
		}
		r, size := bytes.NewReader(b), int64(len(b))
		limit := 1 + rnd.IntN(9)
		var got []crawl.LogEntry
		end := int64(-1)
		for before := size; before > 0; {
			lines, span, err := LastLogLines(r, size, before, limit, f)
			if err != nil || len(lines) > limit || span.From >= before && span.From != 0 {
				t.Fatalf("before %d: %d lines, %+v, %v", before, len(lines), span, err)
			}
			if end < 0 {
				end = span.To
			}
			got = append(lines, got...)
			before = span.From
		}
		check("backwards", got)
		if whole := int64(bytes.LastIndexByte(b, '\n') + 1); end >= 0 && end != whole {
			t.Fatalf("who follows goes on from %d, want %d", end, whole)
		}
		got = nil
		for from, calls := int64(0), 0; ; calls++ {
			lines, span, err := LogAfter(r, size, from, limit, f)
			if err != nil || len(lines) > limit || calls > 10_000 {
				t.Fatalf("after %d: %d lines, %+v, %v", from, len(lines), span, err)
			}
			got = append(got, lines...)
			if span.To == from {
				break
			}
			from = span.To
		}
		check("forwards", got)
	}
}

// TestALineOverTheLimit: a line of the maximum length is read, a longer one is left out, and the
// lines before and after it are not.
func TestALineOverTheLimit(t *testing.T) {
	line := func(n int) string {
		s := `{"time":"2026-11-22T10:00:00Z","url":"http://h.example/","detail":"`
		return s + strings.Repeat("x", n-len(s)-3) + "\"}\n"
	}
	for _, tt := range []struct{ n, want int }{{maxLine, 3}, {maxLine + 1, 2}, {3 * logBlock, 2}} {
		b := []byte(line(100) + line(tt.n) + line(200))
		last, _, err := LastLogLines(bytes.NewReader(b), int64(len(b)), int64(len(b)), 10, LogFilter{})
		if err != nil || len(last) != tt.want {
			t.Errorf("backwards, %d bytes: %d lines, want %d (%v)", tt.n, len(last), tt.want, err)
		}
		after, span, err := LogAfter(bytes.NewReader(b), int64(len(b)), 0, 10, LogFilter{})
		if err != nil || len(after) != tt.want || span.To != int64(len(b)) {
			t.Errorf("forwards, %d bytes: %d lines, want %d, to %d of %d (%v)", tt.n, len(after), tt.want, span.To, len(b), err)
		}
	}
}

func TestForgottenLinesAreHidden(t *testing.T) {
	b, all := logOf(rand.New(rand.NewPCG(5, 6)), 20)
	f := LogFilter{Hidden: func(u string) bool { return u == all[3].Line.URL }}
	lines, _, err := LastLogLines(bytes.NewReader(b), int64(len(b)), int64(len(b)), 100, f)
	if err != nil || len(lines) != 19 {
		t.Errorf("%d lines, want 19 (%v)", len(lines), err)
	}
}

func TestTheLinesOfOneURL(t *testing.T) {
	b, all := logOf(rand.New(rand.NewPCG(9, 10)), 200)
	u := all[11].Line.URL // others begin with the same text
	lines, _, err := LastLogLines(bytes.NewReader(b), int64(len(b)), int64(len(b)), 100, LogFilter{URL: u})
	if err != nil || len(lines) != 1 || lines[0].Line.URL != u {
		t.Errorf("%+v, want the line of %s (%v)", lines, u, err)
	}
}

// BenchmarkLast searches for a line that does not exist, in as much of a log as one query may read.
func BenchmarkLast(b *testing.B) {
	log, _ := logOf(rand.New(rand.NewPCG(7, 8)), 200_000)
	for _, f := range []LogFilter{{Host: "nowhere.example"}, {Class: "retry"}, {Host: "h1.example", Class: "audit"}} {
		b.Run(f.Host+f.Class, func(b *testing.B) {
			for b.Loop() {
				if _, _, err := LastLogLines(bytes.NewReader(log), int64(len(log)), int64(len(log)), 50, f); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A word elsewhere in a line is not its reason.
func TestTheLinesOfOneReason(t *testing.T) {
	const start = `{"time":"2026-11-22T10:00:00Z","url":"http://h.example/robots",`
	b := []byte(start + `"state":"refused","reason":"robots"}` + "\n" + start + `"state":"refused","reason":"robots-x","detail":"robots"}` + "\n" + start + `"state":"stored"}` + "\n")
	lines, _, err := LastLogLines(bytes.NewReader(b), int64(len(b)), int64(len(b)), 100, LogFilter{Reason: "robots"})
	if err != nil || len(lines) != 1 || lines[0].Start != 0 {
		t.Errorf("%+v, want the first line (%v)", lines, err)
	}
}
