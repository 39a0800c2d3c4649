package requestlog

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// logFile appends requests to a file as JSON lines, one for each request that ended.
type logFile struct {
	f     *os.File
	w     *bufio.Writer
	timer *time.Timer // flushes the buffer flushAfter after the first line in it
	dirty bool
	line  []byte
	base  time.Time // every time is written as base plus the monotonic time since base
}

// flushAfter is how long a line may stay in memory.
const flushAfter = 100 * time.Millisecond

// Open appends the requests to a file too, as JSON lines. It is called before the first request.
func (l *Log) Open(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	lf := &logFile{f: f, w: bufio.NewWriterSize(f, 64<<10), base: time.Now()}
	lf.timer = time.AfterFunc(time.Hour, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if lf.dirty {
			lf.w.Flush()
			lf.dirty = false
		}
	})
	lf.timer.Stop()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.file, l.toFile = lf, true
	return nil
}

// Close writes what is buffered and closes the file, if there is one. The requests in memory stay.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	lf := l.file
	l.file = nil
	lf.timer.Stop()
	lf.dirty = false
	if err := lf.w.Flush(); err != nil {
		lf.f.Close()
		return err
	}
	return lf.f.Close()
}

// Flush writes the buffered lines to the file. Without it, a line is in the file within 100 ms of
// its answer.
func (l *Log) Flush() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	return l.file.w.Flush()
}

// add writes one line. The caller has locked the mutex of the Log.
func (lf *logFile) add(r *Request) {
	lf.line = appendJSON(lf.line[:0], r, lf.base)
	lf.w.Write(lf.line) // the writer keeps an error, and Close returns it
	if !lf.dirty {
		lf.dirty = true
		lf.timer.Reset(flushAfter)
	}
}

// line is the JSON form of a Request: times are Unix nanoseconds, durations nanoseconds.
type line struct {
	Start      int64  `json:"start"`
	End        int64  `json:"end"`
	Host       string `json:"host"`
	Origin     string `json:"origin,omitempty"` // missing if it equals the host
	Method     string `json:"method"`
	Path       string `json:"path"`
	Range      string `json:"range,omitempty"`
	Status     int    `json:"status"`
	Bytes      int64  `json:"bytes"`
	Aborted    bool   `json:"aborted,omitempty"`
	UserAgent  string `json:"agent"`
	Peer       string `json:"peer,omitempty"`
	Signer     string `json:"signer,omitempty"`
	Forbidden  bool   `json:"forbidden,omitempty"`
	Hidden     bool   `json:"hidden,omitempty"`
	Robots     bool   `json:"robots,omitempty"`
	Mobile     bool   `json:"mobile,omitempty"`
	CrawlDelay int64  `json:"crawl_delay,omitempty"`
	RetryAfter int64  `json:"retry_after,omitempty"`
}

func (l *line) request() Request {
	r := Request{
		Start: time.Unix(0, l.Start), Host: l.Host, Origin: l.Origin, Method: l.Method, Path: l.Path, Range: l.Range, Status: l.Status,
		Bytes: l.Bytes, Aborted: l.Aborted, UserAgent: l.UserAgent, Peer: l.Peer, Signer: l.Signer,
		Forbidden: l.Forbidden, Hidden: l.Hidden, Robots: l.Robots, Agent: l.Mobile, CrawlDelay: time.Duration(l.CrawlDelay), RetryAfter: time.Duration(l.RetryAfter),
	}
	if r.Origin == "" {
		r.Origin = r.Host
	}
	if l.End != 0 {
		r.End = time.Unix(0, l.End)
	}
	return r
}

// appendJSON writes the same text as json.Marshal for a line, ten times as fast.
func appendJSON(b []byte, r *Request, base time.Time) []byte {
	nanos := func(t time.Time) int64 { return base.UnixNano() + int64(t.Sub(base)) }
	b = strconv.AppendInt(append(b, `{"start":`...), nanos(r.Start), 10)
	b = strconv.AppendInt(append(b, `,"end":`...), nanos(r.End), 10)
	b = appendString(append(b, `,"host":`...), r.Host)
	if r.Origin != r.Host {
		b = appendString(append(b, `,"origin":`...), r.Origin)
	}
	b = appendString(append(b, `,"method":`...), r.Method)
	b = appendString(append(b, `,"path":`...), r.Path)
	if r.Range != "" {
		b = appendString(append(b, `,"range":`...), r.Range)
	}
	b = strconv.AppendInt(append(b, `,"status":`...), int64(r.Status), 10)
	b = strconv.AppendInt(append(b, `,"bytes":`...), r.Bytes, 10)
	b = appendString(append(b, `,"agent":`...), r.UserAgent)
	if r.Peer != "" {
		b = appendString(append(b, `,"peer":`...), r.Peer)
	}
	if r.Signer != "" {
		b = appendString(append(b, `,"signer":`...), r.Signer)
	}
	for _, flag := range []struct {
		on   bool
		text string
	}{{r.Aborted, `,"aborted":true`}, {r.Forbidden, `,"forbidden":true`}, {r.Hidden, `,"hidden":true`}, {r.Robots, `,"robots":true`}, {r.Agent, `,"mobile":true`}} {
		if flag.on {
			b = append(b, flag.text...)
		}
	}
	if r.CrawlDelay > 0 {
		b = strconv.AppendInt(append(b, `,"crawl_delay":`...), int64(r.CrawlDelay), 10)
	}
	if r.RetryAfter > 0 {
		b = strconv.AppendInt(append(b, `,"retry_after":`...), int64(r.RetryAfter), 10)
	}
	return append(b, "}\n"...)
}

func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			enc, _ := json.Marshal(s) // a string always encodes
			return append(b, enc...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}

// Read reads a file of JSON lines that a web wrote. An incomplete last line, as after a crash,
// is left out.
func Read(path string) ([]Request, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []Request
	br := bufio.NewReaderSize(f, 64<<10)
	for n := 1; ; n++ {
		text, err := br.ReadString('\n')
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read request log %s: %w", path, err)
		}
		if strings.TrimSpace(text) == "" {
			continue
		}
		var l line
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			return nil, fmt.Errorf("read request log %s, line %d: %w", path, n, err)
		}
		out = append(out, l.request())
	}
}
