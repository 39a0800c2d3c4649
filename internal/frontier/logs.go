package frontier

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/store"
)

// CrawlLog states how much of a crawl log is kept.
type CrawlLog struct {
	Max  int64 // bytes of a file before the next one begins; 0: there is only one file
	Keep int   // full files that are kept beside the current one
}

// Open opens or creates the crawl log in dir, for Options.CrawlLog of the frontier there. The
// caller has the directory locked, and closes the log after the frontier.
func (c CrawlLog) Open(dir string) (io.WriteCloser, error) {
	w, err := store.OpenCrawlLogWriter(dir, c.Max, c.Keep)
	if err != nil {
		return nil, err // not w: an interface that contains a nil pointer is not nil
	}
	return w, nil
}

// LogAudit adds a line about an operator's action to the crawl log in dir. The caller has the
// directory locked, and no frontier runs in it.
func LogAudit(dir string, a crawl.Audit) (err error) {
	log, err := CrawlLog{}.Open(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	_, err = log.Write(store.AuditLine(a))
	return err
}

// log sends lines of the crawl log. The log of a frontier is about the shards that the frontier
// held when the lines were written, and not about those that it holds now. So the whole file
// answers.
func (a answers) log(_ context.Context, q crawl.LogRequest, send func(crawl.LogPart) error) error {
	if q.Limit < 1 || q.Limit > crawl.MaxLogLimit {
		return fmt.Errorf("log: limit %d is not possible: use 1 to %d", q.Limit, crawl.MaxLogLimit)
	}
	if q.Class != "" && !slices.Contains(crawl.LogClasses, q.Class) {
		return fmt.Errorf("log: class %q is unknown: use %s", q.Class, strings.Join(crawl.LogClasses, ", "))
	}
	log, err := store.OpenCrawlLog(a.logDir)
	if err != nil {
		return err
	}
	defer log.Close()
	file := log.ID
	if file == "" {
		// A log without lines has no name yet. The empty name lets the asker follow it from its
		// first line.
		return send(crawl.LogPart{Span: &crawl.LogSpan{}})
	}
	want := store.LogFilter{Host: strings.ToLower(q.Host), URL: q.URL, Class: q.Class, Reason: q.Reason}
	if gone := crawl.NewForgotten(a.spec().Forgotten); len(a.spec().Forgotten) > 0 {
		want.Hidden = gone.HasText
	}
	var lines []crawl.LogEntry
	var span crawl.LogSpan
	from, known := q.After[file]
	if _, ok := q.After[""]; (known || ok) && from <= log.Size { // otherwise the file was replaced
		lines, span, err = log.After(max(from, 0), q.Limit, want)
	} else {
		before := log.Size
		if q.Before != nil {
			before = max(q.Before[file], 0)
		}
		lines, span, err = log.Last(before, q.Limit, want)
	}
	if err != nil {
		return fmt.Errorf("read the crawl log in %s: %w", a.logDir, err)
	}
	for some := range slices.Chunk(lines, 50) {
		if err := send(crawl.LogPart{File: file, Lines: some}); err != nil {
			return err
		}
	}
	return send(crawl.LogPart{File: file, Span: &span})
}
