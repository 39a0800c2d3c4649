package crawl

import "time"

// LogQuery asks for lines of the crawl log: for the last of them; with After for the first after a
// cursor, so that nobody who follows the log misses one; with Before for the last before a cursor.
type LogQuery struct {
	After  string `json:"after,omitempty"`  // LogPage.After
	Before string `json:"before,omitempty"` // LogPage.Before
	Host   string `json:"host,omitempty"`   // only lines about it
	URL    string `json:"url,omitempty"`    // only lines about it, spelled canonically
	// Only lines of it: stored, redirected, refused, failed, retry, audit.
	Class  string `json:"class,omitempty"`
	Reason string `json:"reason,omitempty"` // only lines of it: robots, http-4xx, …
	Limit  int    `json:"limit,omitempty"`  // 0: DefaultLimit; at most MaxLogLimit
}

// MaxLogLimit is how many lines of the crawl log may be asked for at a time.
const MaxLogLimit = 1000

// LogClasses are the words of LogQuery.Class.
var LogClasses = []string{"stored", "redirected", "refused", "failed", "retry", "audit"}

// LogLine is a line of the crawl log: what came of a URL that was fetched, refused or given up, or
// what somebody did who steers the crawl.
type LogLine struct {
	Time   time.Time `json:"time"`
	URL    string    `json:"url,omitempty"`
	State  string    `json:"state,omitempty"` // one of LogClasses, but for audit
	Reason string    `json:"reason,omitempty"`
	Detail string    `json:"detail,omitempty"`
	Line   int       `json:"line,omitempty"` // of robots.txt
	Depth  *int      `json:"depth,omitempty"`
	Status int       `json:"status,omitempty"`
	Bytes  *int64    `json:"bytes,omitempty"` // nil: no visit was needed to decide
	TookS  float64   `json:"took_s,omitempty"`
	Visit  string    `json:"visit,omitempty"`

	// Of an act: which, on what, by whom and from what address, and why it failed.
	Audit string `json:"audit,omitempty"`
	What  string `json:"what,omitempty"`
	Who   string `json:"who,omitempty"`
	From  string `json:"from,omitempty"`
	Error string `json:"error,omitempty"`
	// By which an act is known that stands here twice, and when it was done.
	ID string     `json:"id,omitempty"`
	At *time.Time `json:"at,omitempty"`
}

// Class is one of LogClasses.
func (l *LogLine) Class() string {
	if l.Audit != "" {
		return "audit"
	}
	return l.State
}

// LogPage is a part of the crawl log, of all frontiers that answer, in the order of time.
type LogPage struct {
	Lines  []LogLine `json:"lines"`
	After  string    `json:"after"`            // LogQuery.After of what follows, now or later
	Before string    `json:"before,omitempty"` // LogQuery.Before of earlier lines, if any
}

// LogPart is an object of the answer to the question "log": some lines of one frontier's file. They
// are sent in several parts; the last says how far the file was looked at.
type LogPart struct {
	File  string     `json:"file"` // tells one file from the next
	Lines []LogEntry `json:"lines,omitempty"`
	Span  *LogSpan   `json:"span,omitempty"`
}

// LogEntry is a line with its place in its file.
type LogEntry struct {
	Start int64   `json:"start"`
	End   int64   `json:"end"`
	Line  LogLine `json:"line"`
}

// LogSpan says which part of a file was looked at: lines that begin in [From, To).
type LogSpan struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

// LogRequest is the question "log" as frontiers are asked it: a LogQuery whose cursor is read.
type LogRequest struct {
	Host   string           `json:"host,omitempty"`
	URL    string           `json:"url,omitempty"`
	Class  string           `json:"class,omitempty"`
	Reason string           `json:"reason,omitempty"`
	Limit  int              `json:"limit"`
	After  map[string]int64 `json:"after,omitempty"`  // by file
	Before map[string]int64 `json:"before,omitempty"` // by file; others have nothing to say
}
