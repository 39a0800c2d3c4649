package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	xxhash "github.com/cespare/xxhash/v2"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// CrawlLogName is the name of the current file of the crawl log.
const CrawlLogName = "crawl.jsonl"

// The limits of reading. Tests reduce them.
var (
	MaxScan  int64 = 8 << 20 // bytes read for one question: about 30,000 lines
	logBlock       = 256 << 10
	maxLine        = 64 << 10 // a longer line is not ours
)

// LogFilter selects lines; empty fields select all.
type LogFilter struct {
	Host, URL, Class, Reason string
	// Hidden reports that lines about a URL must not be shown, because it was forgotten.
	Hidden func(url string) bool
}

// LogID identifies a log by its first line, so that a log that replaces it has another ID. It is
// empty while there is no line.
func LogID(f io.ReaderAt) (string, error) {
	b := make([]byte, maxLine)
	n, err := f.ReadAt(b, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	end := bytes.IndexByte(b[:n], '\n')
	if end < 0 && n < len(b) {
		return "", nil
	}
	return fmt.Sprintf("%016x", xxhash.Sum64(b[:n][:max(end, 0)])), nil
}

// LastLogLines returns the last selected lines before an offset in a file of that size, at most
// limit, in the order of the file. span is the part that was searched: earlier lines begin before
// span.From, later ones at span.To.
func LastLogLines(f io.ReaderAt, size, before int64, limit int, want LogFilter) (lines []crawl.LogEntry, span crawl.LogSpan, err error) {
	before = min(before, size)
	floor, pos := max(before-MaxScan, 0), before
	span = crawl.LogSpan{From: before, To: before}
	// The file's contents from pos to the end of a line whose beginning was not read yet
	var b []byte
	// B ends with a complete line; otherwise the last line is incomplete, and left for later
	whole := false
	long := false // the middle of that line was left out
	for pos > floor && len(lines) < limit {
		n := min(int64(logBlock), pos-floor)
		read := make([]byte, n, int(n)+len(b))
		if _, err := f.ReadAt(read, pos-n); err != nil {
			return nil, span, err // the file is shorter than its size
		}
		pos, b = pos-n, append(read, b...)
		if !whole {
			i := bytes.LastIndexByte(b, '\n')
			if b = b[:i+1]; i < 0 {
				continue
			}
			whole, span.From, span.To = true, pos+int64(len(b)), pos+int64(len(b))
		}
		for len(lines) < limit {
			i := bytes.LastIndexByte(b[:len(b)-1], '\n')
			if i < 0 {
				break
			}
			span.From = pos + int64(i) + 1
			if e, ok := want.entry(b[i+1:], span.From); ok && !long {
				lines = append(lines, e)
			}
			if b, long = b[:i+1], false; len(b) == 1 {
				break // everything was read except the newline before this line
			}
		}
		if len(b) > maxLine {
			b, long = []byte{'\n'}, true
		}
	}
	switch {
	case pos == 0 && len(lines) < limit:
		if span.From = 0; !whole {
			span.To = 0
		} else if e, ok := want.entry(b, 0); ok && !long {
			lines = append(lines, e)
		}
	case pos == floor && span.From == before:
		span.From = floor // within a line that is too long; the search continues before it
	}
	slices.Reverse(lines)
	return lines, span, nil
}

// LogAfter returns the first selected lines from an offset on, which must be the beginning of a
// line, at most limit.
func LogAfter(f io.ReaderAt, size, from int64, limit int, want LogFilter) (lines []crawl.LogEntry, span crawl.LogSpan, err error) {
	span = crawl.LogSpan{From: from, To: from}
	stop := min(size, from+MaxScan)
	var rest []byte
	skip := false // the beginning of a line that is too long was left out
	for pos := from; pos < stop && len(lines) < limit; {
		n := min(int64(logBlock), stop-pos)
		b := make([]byte, len(rest)+int(n))
		copy(b, rest)
		if _, err := f.ReadAt(b[len(rest):], pos); err != nil {
			return nil, span, err
		}
		pos += n
		for len(lines) < limit {
			i := bytes.IndexByte(b, '\n')
			if i < 0 {
				break
			}
			start := pos - int64(len(b))
			if e, ok := want.entry(b[:i+1], start); ok && !skip {
				lines = append(lines, e)
			}
			skip, b = false, b[i+1:]
			span.To = start + int64(i) + 1
		}
		if rest = b; len(rest) > maxLine && len(lines) < limit {
			rest, skip = nil, true
			span.To = pos // within the line; the remainder of the line is no JSON
		}
	}
	return lines, span, nil
}

// entry decodes a line, with its newline, if it is selected.
func (w *LogFilter) entry(b []byte, start int64) (e crawl.LogEntry, ok bool) {
	// Lines that cannot match are left out before they are decoded.
	switch {
	case len(b) > maxLine || len(b) < 2:
		return e, false
	case w.Class == "audit":
		ok = bytes.Contains(b, []byte(`"audit":`))
	case w.Class != "":
		ok = bytes.Contains(b, []byte(`"state":"`+w.Class+`"`))
	default:
		ok = true
	}
	if ok = ok && bytes.Contains(b, []byte(w.Host)) && bytes.Contains(b, []byte(w.URL)) && bytes.Contains(b, []byte(w.Reason)); !ok {
		return e, false
	}
	e = crawl.LogEntry{Start: start, End: start + int64(len(b))}
	if err := json.Unmarshal(b, &e.Line); err != nil || e.Line.Time.IsZero() {
		return e, false // a fragment left by a crash, or a line of another program
	}
	l := &e.Line
	switch {
	case w.Class != "" && l.Class() != w.Class, w.Reason != "" && l.Reason != w.Reason:
		return e, false
	case w.Host != "" && !about(l, w.Host), w.URL != "" && l.URL != w.URL && l.What != w.URL:
		return e, false
	}
	return e, l.URL == "" || w.Hidden == nil || !w.Hidden(l.URL)
}

// about reports whether a line concerns a host: a URL of the host, or an operator action on it.
func about(l *crawl.LogLine, host string) bool {
	for _, s := range []string{l.URL, l.What} {
		if s == host {
			return true
		}
		if u, err := canon.Parse(s); err == nil && strings.EqualFold(string(u.Host()), host) {
			return true
		}
	}
	return false
}
