package crawl

import (
	"strings"
	"time"
)

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
