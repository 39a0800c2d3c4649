package store

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// brokenLog is a crawl log that writes nothing while err is set.
type brokenLog struct {
	strings.Builder
	err error
}

func (l *brokenLog) Write(b []byte) (int, error) {
	if l.err != nil {
		return 0, l.err
	}
	return l.Builder.Write(b)
}

// TestLinesWaitForTheLog: lines that cannot be written are written with a later commit, and the
// shard goes on.
func TestLinesWaitForTheLog(t *testing.T) {
	t.Parallel()
	f := testFile(t, testPath(t), Hooks{})
	log := &brokenLog{err: errors.New("disk full")}
	f.Share(log, testMetrics)
	f.LogAudit(crawl.Audit{Action: "pause", What: "a.example", Error: "a \"quoted\" one"})
	commit(t, f)
	if !f.Unsaved() || log.Len() > 0 {
		t.Errorf("the log has %q", log)
	}
	log.err = nil
	commit(t, f)
	if f.Unsaved() || strings.Count(log.String(), "\n") != 1 || !strings.Contains(log.String(), `"audit":"pause"`) {
		t.Errorf("the log has %q", log)
	}
	log.err = errors.New("disk full")
	for size, want := range map[int]int{maxLines: maxLines, maxLines + 1: 0} {
		f.Unwritten = make([]byte, size)
		commit(t, f)
		if got := len(f.Unwritten); got != want {
			t.Errorf("of %d bytes %d wait, want %d", size, got, want)
		}
	}
}

// TestLinesOnce: events that are applied again after a crash make the same lines, which the log
// then has once.
func TestLinesOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	log, err := OpenCrawlLogWriter(dir, 1<<20, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	f := testFile(t, testPath(t), Hooks{})
	apply := func(f *File, seconds ...int64) {
		f.Share(log, testMetrics)
		for _, s := range seconds {
			f.Applying(time.Unix(s, 0))
			f.LogAudit(crawl.Audit{Action: "pause", At: time.Unix(s, 0)})
			f.Applying(time.Time{})
		}
	}
	apply(f, 100, 101)
	f.Lines.write() // and no commit
	f = reopened(t, f)
	apply(f, 100, 101, 102)
	f.Phase.CaughtUp(StartClean, time.Now())
	commit(t, f)
	apply(f, 102) // later events are not looked up
	commit(t, f)
	b, err := os.ReadFile(filepath.Join(dir, CrawlLogName))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(b), "\n"); n != 4 {
		t.Errorf("%d lines:\n%s", n, b)
	}
}
