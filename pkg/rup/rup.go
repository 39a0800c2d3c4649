// Package rup implements both ends of the Remote Update Protocol, draft-rfced-exp-cosmo-00 (Di
// Cosmo and Martinez Lopez, 1998): a site reports to robots which of its pages are new, changed or
// gone, so that they need not request all of them.
//
// A site publishes /rupinfo.txt ([ParseInfo], [Info.Text]), answers five actions at a CGI URL
// ([Server], with a [Store] and an [Index]) and mails reports ([Report.Text]). A robot registers
// and sends requests ([Client], or [Request] and [Answer] if other code sends them), parses the
// reports it receives ([ParseReport]) and notices lost ones by their numbers ([State]).
//
// Parsers accept any input within their limits: an oddity in one line affects only that line and is
// reported in Diagnostics. Only the few reasons to refuse a whole document are errors. Mail is not
// parsed here: a report is passed as the text of its message, with decoded transfer encoding and
// charset.
//
// A report is a hint, and can be forged. It may lead to a fetch or a check, never to more (formats
// §6.5); [Report.CheckSite] is the minimum to check.
//
// Only a Client opens connections, through its http.RoundTripper, and all clocks are parameters. In
// comments, "formats" is docs/formats.md.
package rup

import (
	"fmt"
	"strings"
)

// Limits of what is read (formats §0).
const (
	// MaxInfo is how many bytes of a /rupinfo.txt are read; the line across the limit is dropped
	// completely.
	MaxInfo = 64 << 10
	// MaxReport is how many bytes of a report are read; the line across the limit is dropped. To
	// let ParseReport notice that a report was longer, pass at least one byte more.
	MaxReport = 10 << 20
	// MaxPaths is how many paths are read from a report.
	MaxPaths = 50_000
	// MaxPattern is the longest pattern in bytes.
	MaxPattern = 1024
	// MaxPatterns is how many patterns a request may have, Exclude and
	// IncludeOnly together.
	MaxPatterns = 64
	// MaxEmail is the longest e-mail address in bytes.
	MaxEmail = 254
)

// Diagnostic describes something odd in one line.
type Diagnostic struct {
	Line   int // from 1
	Reason string
}

const maxDiagnostics = 100

// Notes are the oddities of a document.
type Notes struct {
	Diagnostics []Diagnostic // at most a hundred
	Skipped     int          // number of oddities, reported or not
}

func (n *Notes) odd(line int, format string, args ...any) {
	n.Skipped++
	if len(n.Diagnostics) < maxDiagnostics {
		n.Diagnostics = append(n.Diagnostics, Diagnostic{Line: line, Reason: brief(fmt.Sprintf(format, args...))})
	}
}

// brief shortens a message that quotes its document, because a name may be as long as the document
// itself. Invalid UTF-8 becomes U+FFFD.
func brief(s string) string {
	const most = 200
	if len(s) <= most {
		return strings.ToValidUTF8(s, "\uFFFD")
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
