package frontier

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/store"
)

// A shard that is killed after it has written lines of the crawl log, and before it has committed
// their events, applies the same events again: none of the lines is written twice, and none is
// missing. Another owner that applies the events later writes the same lines, with the times of the
// events.
func TestEventsAppliedAgainWriteNoLineTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spec := testSpec("http://a.example/")
		spec.MaxDepth = 1
		b := newBench(t, spec)
		logDir := t.TempDir()
		open := func(dir string) *store.CrawlLogWriter {
			w, err := store.OpenCrawlLogWriter(dir, 2000, 100)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { w.Close() })
			return w
		}
		written := func(dir string) string {
			t.Helper()
			full, err := filepath.Glob(filepath.Join(dir, "crawl-*.jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			var all bytes.Buffer
			for _, name := range append(full, filepath.Join(dir, store.CrawlLogName)) {
				text, err := os.ReadFile(name)
				if err != nil {
					t.Fatal(err)
				}
				all.Write(text)
			}
			return all.String()
		}
		page := 0
		work := func(visits int) {
			for range visits {
				page++
				b.links(page%3, "http://a.example/", fmt.Sprintf("http://a.example/%d", page), fmt.Sprintf("http://b.example/%d", page))
				time.Sleep(2 * time.Second)
				for _, v := range b.grant(2) {
					b.finish(v, []crawl.Class{crawl.Stored, crawl.Failed, crawl.Retry}[page%3], crawl.ReasonHTTP5xx)
				}
				b.event(crawl.Event{Audits: []crawl.Audit{{Action: "pause-host", What: "c.example", ID: fmt.Sprint(page), At: time.Now()}}})
			}
		}
		b.lines = open(logDir)
		b.s.Ledger.CrawlLog = b.lines
		work(10)
		b.commit()
		path := filepath.Join(b.dir, store.FileName(0))
		committed, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		work(10)
		b.commit() // the log is written, but the file will lose the commit
		want := written(logDir)
		if n := strings.Count(want, "\n"); n < 40 {
			t.Fatalf("%d lines:\n%s", n, want)
		}
		b.crash()
		if err := os.WriteFile(path, committed, 0o600); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		b.lines = open(logDir)
		b.open()
		b.commit()
		if got := written(logDir); got != want {
			t.Errorf("after the events were applied again the log has %d lines instead of %d:\n%s", strings.Count(got, "\n"), strings.Count(want, "\n"), strings.TrimPrefix(got, want))
		}
		work(1)
		b.commit()
		want2 := written(logDir)
		if !strings.HasPrefix(want2, want) || len(want2) == len(want) {
			t.Error("new lines are missing")
		}

		b.crash()
		time.Sleep(time.Hour)
		elsewhere := t.TempDir()
		b.dir, b.lines = t.TempDir(), open(elsewhere)
		b.open()
		b.commit()
		if got := written(elsewhere); got != want2 {
			t.Errorf("elsewhere the same events make other lines:\n%s\nwant\n%s", got, want2)
		}
	})
}
