// Package rup is the Remote Update Protocol of draft-rfced-exp-cosmo-00 (Di
// Cosmo and Martinez Lopez, 1998), both ends: a site tells robots which of its
// pages are new, changed or gone, so that they need not ask for all of them.
//
// A site publishes /rupinfo.txt ([ParseInfo], [Info.Text]), answers five
// actions at a CGI URL ([Server], over a [Store] and an [Index]) and mails
// reports ([Report.Text]). A robot registers and asks ([Client], or [Request]
// and [Answer] where requests are sent by somebody else), reads the reports it
// gets ([ParseReport]) and notices lost ones by their numbers ([State]).
//
// Readers accept anything within their limits: what is odd in one line costs
// only that line and is reported in Diagnostics. The few things that refuse a
// whole document are errors. Mail is not read here: a report is given as the
// text of its message, transfer encoding and charset decoded.
//
// A report is a hint, and forgeable. It may lead to a fetch or a check, never
// to more (formats §6.5); [Report.CheckSite] is the least to ask of one.
//
// Only a Client opens connections, through the http.RoundTripper it is given,
// and nothing here reads a clock that it was not given. Clause numbers in
// comments are those of docs/formats.md.
package rup

import (
	"fmt"
	"strings"
)

// Limits of what is read (formats §0).
const (
	// MaxInfo is how many bytes of a /rupinfo.txt are read; the line across
	// the limit is dropped whole.
	MaxInfo = 64 << 10
	// MaxReport is how many bytes of a report are read; the line across the limit is dropped. To
	// show that a report was longer, pass at least one byte more.
	MaxReport = 10 << 20
	// MaxPaths is how many paths are taken from a report.
	MaxPaths = 50_000
	// MaxPattern is the longest pattern in bytes.
	MaxPattern = 1024
	// MaxPatterns is how many patterns a request may have, Exclude and
	// IncludeOnly together.
	MaxPatterns = 64
	// MaxEmail is the longest e-mail address in bytes.
	MaxEmail = 254
)

// Diagnostic is something odd in one line.
type Diagnostic struct {
	Line   int // from 1
	Reason string
}

const maxDiagnostics = 100

// Notes are what was odd in a document.
type Notes struct {
	Diagnostics []Diagnostic // at most a hundred
	Skipped     int          // how many oddities there were, reported or not
}

func (n *Notes) odd(line int, format string, args ...any) {
	n.Skipped++
	if len(n.Diagnostics) < maxDiagnostics {
		n.Diagnostics = append(n.Diagnostics, Diagnostic{Line: line, Reason: brief(fmt.Sprintf(format, args...))})
	}
}

// brief shortens a message that quotes its document, where a name may be as long as the document
// itself. Invalid UTF-8 becomes U+FFFD.
func brief(s string) string {
	const most = 200
	if len(s) <= most {
		return strings.ToValidUTF8(s, "\uFFFD")
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
