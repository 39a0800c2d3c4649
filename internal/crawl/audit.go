package crawl

import (
	"strings"
	"time"
)

// Audit is one act of somebody who steers the crawl. The frontier writes it to the crawl log.
type Audit struct {
	ID     string    // of the act: should its line stand in the log twice, this tells
	At     time.Time // by the clock of who steered
	Who    string    // a user, or the program that acted for one
	From   string    // the address it came from; empty: this machine
	Action string    // pause, resume, pause-host, …: see internal/control
	What   string    // a host, a URL, or settings; empty: the whole crawl
	Detail string
	Error  string // why nothing came of it; empty: it was done
}

// MaxAuditText bounds each text of an Audit, in bytes.
const MaxAuditText = 2048

// Bounded returns the audit with no text longer than MaxAuditText.
func (a Audit) Bounded() Audit {
	for _, s := range []*string{&a.ID, &a.Who, &a.From, &a.Action, &a.What, &a.Detail, &a.Error} {
		if len(*s) > MaxAuditText {
			*s = strings.ToValidUTF8((*s)[:MaxAuditText-3], "") + "…"
		}
	}
	return a
}
