package frontier

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/disk"
	"github.com/curtsy/curtsy/internal/frontier/crawllog"
)

// CrawlLogFile is the name of the crawl log, in the directory of the frontier that writes it.
const CrawlLogFile = crawllog.FileName

// log sends lines of the crawl log. A frontier's file tells of the shards it had when they were
// written, so it is asked for by file, and the shards of now do not matter.
func (a answers) log(_ context.Context, req []byte, send func(any) error) error {
	var q crawl.LogRequest
	if err := json.Unmarshal(req, &q); err != nil {
		return fmt.Errorf("log: %w", err)
	}
	if q.Limit < 1 || q.Limit > crawl.MaxLogLimit {
		return fmt.Errorf("log: limit %d: use 1 to %d", q.Limit, crawl.MaxLogLimit)
	}
	if q.Class != "" && !slices.Contains(crawl.LogClasses, q.Class) {
		return fmt.Errorf("log: class %q: use %s", q.Class, strings.Join(crawl.LogClasses, ", "))
	}
	// A file without a line has no name. Who has heard of it is told of its first lines later.
	nothing := crawl.LogPart{Span: &crawl.LogSpan{}}
	f, err := disk.OpenRegular(a.logFile, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return send(nothing)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	file, err := crawllog.ID(f)
	if err != nil {
		return err
	}
	if file == "" {
		return send(nothing)
	}
	want := crawllog.Filter{Host: strings.ToLower(q.Host), URL: q.URL, Class: q.Class}
	if gone := crawl.NewForgotten(a.spec().Forgotten); len(a.spec().Forgotten) > 0 {
		want.Hidden = gone.HasText
	}
	var lines []crawl.LogEntry
	var span crawl.LogSpan
	from, known := q.After[file]
	if _, ok := q.After[""]; known || ok {
		lines, span, err = crawllog.After(f, info.Size(), max(from, 0), q.Limit, want)
	} else {
		before := info.Size()
		if q.Before != nil {
			before = max(q.Before[file], 0)
		}
		lines, span, err = crawllog.Last(f, info.Size(), before, q.Limit, want)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", a.logFile, err)
	}
	for some := range slices.Chunk(lines, 50) {
		if err := send(crawl.LogPart{File: file, Lines: some}); err != nil {
			return err
		}
	}
	return send(crawl.LogPart{File: file, Span: &span})
}
