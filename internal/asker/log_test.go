package asker

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/crawl"
)

// logFiles answer the question "log" as frontiers do, each from a file of its own, which is a list
// of lines that are ten bytes long.
func logFiles(files map[string][]crawl.LogLine) ask.Handlers {
	return ask.Handlers{"log": func(_ context.Context, data []byte, send func(any) error) error {
		var q crawl.LogRequest
		if err := json.Unmarshal(data, &q); err != nil {
			return err
		}
		for name, lines := range files {
			from, to := max(0, len(lines)-q.Limit), len(lines)
			if at, ok := q.After[name]; ok {
				from, to = int(at/10), min(len(lines), int(at/10)+q.Limit)
			} else if q.Before != nil {
				to = int(q.Before[name] / 10)
				from = max(0, to-q.Limit)
			}
			for i := from; i < to; i++ {
				e := crawl.LogEntry{Start: int64(10 * i), End: int64(10*i + 10), Line: lines[i]}
				if err := send(crawl.LogPart{File: name, Lines: []crawl.LogEntry{e}}); err != nil {
					return err
				}
			}
			if err := send(crawl.LogPart{File: name, Span: &crawl.LogSpan{From: int64(10 * from), To: int64(10 * to)}}); err != nil {
				return err
			}
		}
		return nil
	}}
}

// TestTheLogsOfManyFrontiersAreOne follows logs that grow, and pages back through them: no line is
// missing, none comes twice, and those of one file stay in order.
func TestTheLogsOfManyFrontiersAreOne(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		files := map[string][]crawl.LogLine{"a": {}, "b": {}, "c": {}}
		n, at := 0, time.Now()
		grow := func() {
			for range rnd.IntN(30) {
				file := string(rune('a' + rnd.IntN(3)))
				n++
				// Shards commit one after the other, so times are not quite in order.
				late := at.Add(time.Duration(n)*time.Second - time.Duration(rnd.IntN(3))*time.Second)
				files[file] = append(files[file], crawl.LogLine{URL: fmt.Sprint(n), Time: late})
			}
		}
		grow()
		c := Stopped(crawl.Spec{}, func() error { return nil }, logFiles(files))
		get := func(q crawl.LogQuery) crawl.LogPage {
			p, err := c.Log(t.Context(), q)
			if err != nil || len(p.Lines) > q.Limit {
				t.Fatalf("%d lines (%v)", len(p.Lines), err)
			}
			return p
		}
		limit := 1 + rnd.IntN(9)
		page := get(crawl.LogQuery{Limit: limit})
		got, after := page.Lines, page.After
		for page.Before != "" {
			page = get(crawl.LogQuery{Before: page.Before, Limit: limit})
			got = append(slices.Clone(page.Lines), got...)
		}
		for quiet := 0; quiet < 2; {
			page = get(crawl.LogQuery{After: after, Limit: limit})
			got, after = append(got, page.Lines...), page.After
			if len(page.Lines) == 0 {
				grow()
				quiet++
			}
		}
		for page = get(crawl.LogQuery{After: after, Limit: limit}); len(page.Lines) > 0; page = get(crawl.LogQuery{After: page.After, Limit: limit}) {
			got = append(got, page.Lines...)
		}
		seen := map[string]int{}
		for i, l := range got {
			if _, twice := seen[l.URL]; twice {
				t.Fatalf("line %s came twice", l.URL)
			}
			seen[l.URL] = i
		}
		if len(got) != n {
			t.Fatalf("%d lines, want %d", len(got), n)
		}
		for _, lines := range files {
			if !slices.IsSortedFunc(lines, func(a, b crawl.LogLine) int { return cmp.Compare(seen[a.URL], seen[b.URL]) }) {
				t.Fatal("lines of a file have changed their order")
			}
		}
	}
}

func TestCursorsOfALogAreChecked(t *testing.T) {
	c := Stopped(crawl.Spec{}, func() error { return nil }, logFiles(nil))
	for _, bad := range []crawl.LogQuery{{After: "!"}, {Before: "bm9uc2Vuc2U"}, {After: "bnVsbA"}} {
		if _, err := c.Log(t.Context(), bad); err == nil {
			t.Errorf("%+v was answered", bad)
		}
	}
}
