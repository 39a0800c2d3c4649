package store

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
)

// lineOf returns the nth line of a log.
func lineOf(n int) []byte {
	return fmt.Appendf(nil, `{"time":"2026-11-22T10:00:00.%06dZ","url":"http://h.example/%d","state":"stored"}`+"\n", n, n)
}

// numbers returns the numbers of the lines.
func numbers(t *testing.T, lines []crawl.LogEntry) (ns []int) {
	t.Helper()
	for _, l := range lines {
		n, err := strconv.Atoi(strings.TrimPrefix(l.Line.URL, "http://h.example/"))
		if err != nil {
			t.Fatal(err)
		}
		ns = append(ns, n)
	}
	return ns
}

// follow reads the new lines of the log in dir like a follower: from the position that it got
// before, a few lines at a time.
func follow(t *testing.T, dir, id string, from int64) (lines []int, newID string, to int64) {
	t.Helper()
	for {
		l, err := OpenCrawlLog(dir)
		if err != nil {
			t.Fatal(err)
		}
		if id != "" && l.ID != id || from > l.Size {
			t.Fatalf("the log is %q with %d bytes, was %q and read to %d", l.ID, l.Size, id, from)
		}
		some, span, err := l.After(from, 3, LogFilter{})
		if err := errors.Join(err, l.Close()); err != nil {
			t.Fatal(err)
		}
		lines, id = append(lines, numbers(t, some)...), l.ID
		if span.To == from || l.ID == "" {
			return lines, id, from
		}
		from = span.To
	}
}

// backwards reads the log in dir from its end to its beginning.
func backwards(t *testing.T, dir string) (lines []int) {
	t.Helper()
	l, err := OpenCrawlLog(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for before := l.Size; before > 0; {
		some, span, err := l.Last(before, 3, LogFilter{})
		if err != nil || span.From >= before && span.From != 0 {
			t.Fatalf("before %d: %+v, %v", before, span, err)
		}
		lines, before = append(numbers(t, some), lines...), span.From
	}
	return lines
}

func upTo(from, n int) (list []int) {
	for i := from; i < n; i++ {
		list = append(list, i)
	}
	return list
}

// errKilled stops where a kill would stop the process.
var errKilled = errors.New("killed")

// TestKilledAtEachStep writes a log in small files, and stops the writer, with the same files as a
// kill would leave, at each step of each rotation. The next writer continues; no line is lost, cut
// or in another place, for a reader of the whole log and for a follower that reads all the time.
func TestKilledAtEachStep(t *testing.T) {
	for _, at := range []string{"synced", "renamed", "begun", "removed"} {
		t.Run(at, func(t *testing.T) {
			dir, keep := t.TempDir(), 1000
			if at == "removed" {
				keep = 3
			}
			kills, armed := 0, true
			step = func(name string) error {
				if name == at && armed {
					kills++
					panic(errKilled)
				}
				return nil
			}
			t.Cleanup(func() { step = func(string) error { return nil } })
			w, err := OpenCrawlLogWriter(dir, 500, keep)
			if err != nil {
				t.Fatal(err)
			}
			var followed []int
			id, place := "", int64(0)
			for n := 0; n < 60; {
				armed = true
				if killed(t, w, lineOf(n)) {
					// The open file of a killed process is closed; nothing else happens.
					w.f.Close()
					if w, err = OpenCrawlLogWriter(dir, 500, keep); err != nil {
						t.Fatal(err)
					}
					armed = false // the same step succeeds this time
					if killed(t, w, lineOf(n)) {
						t.Fatal("killed twice")
					}
				}
				n++
				var news []int
				news, id, place = follow(t, dir, id, place)
				if followed = append(followed, news...); !slices.Equal(followed, upTo(0, n)) {
					t.Fatalf("after %d lines who followed has read %v", n, followed)
				}
			}
			all := backwards(t, dir)
			if len(all) == 0 || !slices.Equal(all, upTo(all[0], 60)) || keep == 1000 && all[0] != 0 || keep == 3 && all[0] == 0 {
				t.Errorf("read from its end: %v", all)
			}
			if kills < 5 {
				t.Errorf("killed %d times", kills)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			old, err := oldFiles(dir)
			if err != nil || keep == 3 && (len(old) < 3 || len(old) > 4) {
				t.Errorf("%d old files are kept, want 3, or one more after a kill (%v)", len(old), err)
			}
		})
	}
}

// killed writes a line and reports whether the process was killed at it.
func killed(t *testing.T, w *CrawlLogWriter, line []byte) (dead bool) {
	t.Helper()
	defer func() {
		if p := recover(); p == errKilled {
			dead = true
		} else if p != nil {
			panic(p)
		}
	}()
	if _, err := w.Write(line); err != nil {
		t.Fatal(err)
	}
	return false
}

// A line that was left half written is cut off, and so is one that did not fit on the disk; a
// foreign file is not changed.
func TestIncompleteLine(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, CrawlLogName)
	if err := os.WriteFile(name, append(slices.Concat(lineOf(0), lineOf(1)), `{"time":"2026-11`...), 0o600); err != nil {
		t.Fatal(err)
	}
	w, err := OpenCrawlLogWriter(dir, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, err := w.Write(lineOf(2)); err != nil {
		t.Fatal(err)
	}
	// Like a write of which only a part fitted on the disk.
	if _, err := w.f.Write([]byte(`{"time":`)); err != nil {
		t.Fatal(err)
	}
	w.torn = true
	if _, err := w.Write(lineOf(3)); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(name)
	if want := slices.Concat(lineOf(0), lineOf(1), lineOf(2), lineOf(3)); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
	if err := os.WriteFile(name, bytes.Repeat([]byte("x"), 3*logBlock), 0o600); err != nil {
		t.Fatal(err)
	}
	if w, err := OpenCrawlLogWriter(dir, 0, 0); err != nil || w.size != 0 {
		t.Errorf("a file without any line: %v", err)
	}
}

// A line that fills a file up to the limit still goes into it, the next line begins a new file; a
// line that is longer than a file has a file of its own. With 0 there is one file.
func TestFilesAreBounded(t *testing.T) {
	line := lineOf(0)
	for _, tt := range []struct {
		max  int64
		want int // files that are full after three writes
	}{{0, 0}, {3 * int64(len(line)), 0}, {3*int64(len(line)) - 1, 1}, {int64(len(line)), 2}, {1, 2}} {
		dir := t.TempDir()
		w, err := OpenCrawlLogWriter(dir, tt.max, 10)
		if err != nil {
			t.Fatal(err)
		}
		for n := range 3 {
			if _, err := w.Write(lineOf(n)); err != nil {
				t.Fatal(err)
			}
		}
		if old, err := oldFiles(dir); err != nil || len(old) != tt.want {
			t.Errorf("max %d: %d full files, want %d (%v)", tt.max, len(old), tt.want, err)
		}
		if got := backwards(t, dir); !slices.Equal(got, upTo(0, 3)) {
			t.Errorf("max %d: %v", tt.max, got)
		}
		w.Close()
	}
}

// TestFollowedWhileItIsWritten: a follower of a log that is rotated again and again reads each line
// once and in order.
func TestFollowedWhileItIsWritten(t *testing.T) {
	dir := t.TempDir()
	w, err := OpenCrawlLogWriter(dir, 1500, 1000)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	const lines = 400
	var writing sync.WaitGroup
	for k := range 2 {
		writing.Go(func() {
			for n := range lines {
				if _, err := w.Write(lineOf(k*lines + n)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { writing.Wait(); close(done) }()
	id, place := "", int64(0)
	var got []int
	for over := false; !over; {
		select {
		case <-done:
			over = true // and once more after that
		default:
		}
		var news []int
		news, id, place = follow(t, dir, id, place)
		got = append(got, news...)
	}
	next := []int{0, lines}
	for _, n := range got {
		if k := n / lines; n != next[k] {
			t.Fatalf("line %d, want %d", n, next[k])
		} else {
			next[k]++
		}
	}
	if next[0] != lines || next[1] != 2*lines {
		t.Errorf("read up to %v", next)
	}
}

// If files are missing in between, what is before the gap is not shown as if it directly preceded
// what is after it.
func TestAGap(t *testing.T) {
	dir := t.TempDir()
	w, err := OpenCrawlLogWriter(dir, 1, 10)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for n := range 6 {
		if _, err := w.Write(lineOf(n)); err != nil {
			t.Fatal(err)
		}
	}
	old, err := oldFiles(dir)
	if err != nil || len(old) != 5 {
		t.Fatalf("%d files, %v", len(old), err)
	}
	if err := os.Remove(filepath.Join(dir, old[2].name())); err != nil {
		t.Fatal(err)
	}
	if got := backwards(t, dir); !slices.Equal(got, []int{3, 4, 5}) {
		t.Errorf("read %v, want what is behind the gap", got)
	}
	got, _, _ := follow(t, dir, old[0].id, 0)
	if !slices.Equal(got, []int{3, 4, 5}) {
		t.Errorf("followed %v, want what is behind the gap", got)
	}
}
