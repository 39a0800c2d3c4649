package store

import (
	"cmp"
	"encoding/json"
	"io"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// maxLines is the number of bytes of lines that are kept while the crawl log cannot be written.
const maxLines = 1 << 20

// Lines are the lines of the crawl log of one transaction. They are written to the log just before
// the transaction is committed, so that no line is missing after a crash. Events that are applied
// again make the same lines again, and those are left out. Lines are part of a File, whose Mu
// guards them.
type Lines struct {
	file *File

	// CrawlLog is the crawl log, which all shards of a process share; nil: there is none.
	CrawlLog io.Writer
	// Unwritten has the lines that wait for the next commit.
	Unwritten []byte

	// Time of the oldest line that the crawl log may already contain; zero: none
	repeated time.Time
	// Removes the lines that the crawl log contains; nil: not read yet
	without func(lines []byte) []byte
}

// AddLine adds a line to the crawl log, behind those that wait. The line has the time of the event
// that is being applied, so that it is the same line if the event is applied again. rest appends
// what follows the time to the buffer it gets, with the end of the line.
func (l *Lines) AddLine(rest func(b []byte) []byte) { l.Unwritten = rest(l.begin()) }

func (l *Lines) begin() []byte {
	at := cmp.Or(l.file.At, time.Now())
	if !l.file.Phase.Read && (l.repeated.IsZero() || at.Before(l.repeated)) {
		l.repeated, l.without = at, nil
	}
	b := append(l.Unwritten, `{"time":"`...)
	return append(at.UTC().AppendFormat(b, time.RFC3339Nano), '"')
}

// LogAudit adds the line of an operator action to the crawl log. It is written with the commit of
// the event that reported the action.
func (l *Lines) LogAudit(a crawl.Audit) {
	if l.CrawlLog == nil {
		return
	}
	l.AddLine(func(b []byte) []byte { return appendAudit(b, a) })
	l.file.Changes++ // so that the line is written even if nothing else has changed
}

// changed reports whether the next commit has anything to write here.
func (l *Lines) changed() bool { return l.CrawlLog != nil && len(l.Unwritten) > 0 }

// write writes the lines to the crawl log. Lines that cannot be written wait for the next commit,
// up to a limit. The log does not keep a shard from committing, so there is no error.
func (l *Lines) write() {
	l.dropKnown()
	if l.changed() {
		n, err := l.CrawlLog.Write(l.Unwritten)
		switch {
		case err == nil:
		case n > 0:
			l.file.Log.Warn("crawl log: old files cannot be renamed or removed", "error", err)
		case len(l.Unwritten) <= maxLines: // the next commit tries again
			l.file.Log.Warn("crawl log: cannot be written; lines wait in memory", "error", err, "bytes", len(l.Unwritten))
		default:
			l.file.Log.Error("crawl log: cannot be written; lines are lost", "error", err, "bytes", len(l.Unwritten))
			n = len(l.Unwritten)
		}
		if err == nil || n > 0 {
			l.Unwritten = l.Unwritten[:0]
		}
	}
	if len(l.Unwritten) == 0 && l.file.Phase.Read {
		l.repeated, l.without = time.Time{}, nil
	}
}

// dropKnown removes the lines that the crawl log already contains. An earlier process may have
// applied the same events without being able to commit them.
func (l *Lines) dropKnown() {
	log, ok := l.CrawlLog.(interface {
		Known(since time.Time) (func(lines []byte) []byte, error)
	})
	if !ok || l.repeated.IsZero() || len(l.Unwritten) == 0 {
		return
	}
	if l.without == nil {
		without, err := log.Known(l.repeated)
		if err != nil {
			l.file.Log.Warn("crawl log: cannot be read; it may contain some lines twice", "error", err)
			without = func(lines []byte) []byte { return lines }
		}
		l.without = without
	}
	l.Unwritten = l.without(l.Unwritten)
}

// AuditLine is the line of an operator action for a crawl log to which no frontier writes, with the
// time of the action.
func AuditLine(a crawl.Audit) []byte {
	b := a.At.UTC().AppendFormat([]byte(`{"time":"`), time.RFC3339Nano)
	return appendAudit(append(b, '"'), a)
}

// appendAudit appends the part of a line after its time.
func appendAudit(b []byte, a crawl.Audit) []byte {
	b = AppendJSON(append(b, `,"audit":`...), a.Action)
	for _, f := range []struct{ key, value string }{
		{`,"what":`, a.What}, {`,"detail":`, a.Detail}, {`,"who":`, a.Who}, {`,"from":`, a.From}, {`,"error":`, a.Error}, {`,"id":`, a.ID},
	} {
		if f.value != "" {
			b = AppendJSON(append(b, f.key...), f.value)
		}
	}
	b = append(b, `,"at":"`...)
	b = a.At.UTC().AppendFormat(b, time.RFC3339Nano)
	return append(b, '"', '}', '\n')
}

// AppendJSON appends s as a JSON string. URLs and rules rarely need escaping, so the common case is
// fast.
func AppendJSON(b []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < 0x20 || c >= 0x7f || c == '"' || c == '\\' {
			q, _ := json.Marshal(s) // escapes more than necessary, which JSON allows
			return append(b, q...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}
