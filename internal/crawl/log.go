package crawl

import (
	"strings"
	"time"
)

// LogQuery asks for lines of the crawl log. By default these are the last lines. With After they
// are the first lines after a cursor, so that a follower of the log misses none. With Before they
// are the last lines before a cursor.
type LogQuery struct {
	After  string `json:"after,omitempty"`  // LogPage.After
	Before string `json:"before,omitempty"` // LogPage.Before
	Host   string `json:"host,omitempty"`   // only lines about this host
	URL    string `json:"url,omitempty"`    // only lines about this canonical URL
	// Class is the class of the wanted lines, one of LogClasses.
	Class  string `json:"class,omitempty"`
	Reason string `json:"reason,omitempty"` // only lines with this Reason
	Limit  int    `json:"limit,omitempty"`  // 0: DefaultLimit; at most MaxLogLimit
}

// MaxLogLimit is the maximum of LogQuery.Limit.
const MaxLogLimit = 1000

// LogClasses are the values of LogQuery.Class.
var LogClasses = []string{"stored", "redirected", "refused", "failed", "retry", "audit"}

// LogLine is a line of the crawl log: the result for a URL that was fetched, refused or given up,
// or an action of an operator.
type LogLine struct {
	Time   time.Time `json:"time"`
	URL    string    `json:"url,omitempty"`
	State  string    `json:"state,omitempty"` // one of LogClasses, except audit
	Reason string    `json:"reason,omitempty"`
	Detail string    `json:"detail,omitempty"`
	Line   int       `json:"line,omitempty"` // of robots.txt
	Depth  *int      `json:"depth,omitempty"`
	Status int       `json:"status,omitempty"`
	Bytes  *int64    `json:"bytes,omitempty"` // nil: decided without a visit
	TookS  float64   `json:"took_s,omitempty"`
	Visit  string    `json:"visit,omitempty"`

	// These are set for an action: its name, its object, the operator, the operator's address, and
	// why it failed.
	Audit string `json:"audit,omitempty"`
	What  string `json:"what,omitempty"`
	Who   string `json:"who,omitempty"`
	From  string `json:"from,omitempty"`
	Error string `json:"error,omitempty"`
	// ID is the same if a line about an action stands here twice. At is when the action was done.
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
	After  string    `json:"after"`            // LogQuery.After for later lines
	Before string    `json:"before,omitempty"` // for earlier lines, if there are any
}

// LogPart is a row of the answer to questions.Log: some lines of the file of one frontier. There
// are several rows for a file. The last one says which part of the file was searched.
type LogPart struct {
	File  string     `json:"file"` // identifies the file
	Lines []LogEntry `json:"lines,omitempty"`
	Span  *LogSpan   `json:"span,omitempty"`
}

// LogEntry is a line with its position in its file.
type LogEntry struct {
	Start int64   `json:"start"`
	End   int64   `json:"end"`
	Line  LogLine `json:"line"`
}

// LogSpan is the part of a file that was searched: the lines that begin in [From, To).
type LogSpan struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

// LogRequest is the request of questions.Log: a LogQuery with a decoded cursor.
type LogRequest struct {
	Host   string           `json:"host,omitempty"`
	URL    string           `json:"url,omitempty"`
	Class  string           `json:"class,omitempty"`
	Reason string           `json:"reason,omitempty"`
	Limit  int              `json:"limit"`
	After  map[string]int64 `json:"after,omitempty"`  // by file
	Before map[string]int64 `json:"before,omitempty"` // by file; other files have no earlier lines
}

// Audit is one action of an operator. The frontier writes it to the crawl log.
type Audit struct {
	ID     string    // of the action; its line may stand in the log twice
	At     time.Time // by the clock of the operator's machine
	Who    string    // a user, or a program that acts for one
	From   string    // the address it came from; empty: this machine
	Action string    // pause, resume, pause-host, …: see internal/control
	What   string    // a host, a URL, or settings; empty: the whole crawl
	Detail string
	Error  string // why it failed; empty: it was done
}

// MaxAuditText limits each text of an Audit, in bytes.
const MaxAuditText = 2048

// Bounded returns the audit with its texts cut to MaxAuditText.
func (a Audit) Bounded() Audit {
	for _, s := range []*string{&a.ID, &a.Who, &a.From, &a.Action, &a.What, &a.Detail, &a.Error} {
		if len(*s) > MaxAuditText {
			*s = strings.ToValidUTF8((*s)[:MaxAuditText-3], "") + "…"
		}
	}
	return a
}
