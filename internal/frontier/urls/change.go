package urls

import (
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// This file has the changes of a record that other packages ask for. A record is a value: whoever
// changes one writes it with PutURL, in the same transaction.

// SeenBy notes that a visit is the newest that reported on the URL.
func (r *Record) SeenBy(id crawl.VisitID) { r.Visit = id }

// Answered notes what a visit reports about the response to the URL. A response 304 says nothing
// about snippets, so what the stored copy said stays.
func (r *Record) Answered(id crawl.VisitID, res *crawl.Result) {
	r.Visit = id
	r.Status, r.Line = res.Status, res.Line
	r.NoSnippet = res.NoSnippet || r.NoSnippet && res.NotModified
}

// Attempted counts the attempt, if a request was sent, at the broker's time at.
func (r *Record) Attempted(res *crawl.Result, at time.Time) {
	if res.Status != 0 || !res.FetchedAt.IsZero() {
		r.FetchedAt = at.UnixMilli()
	}
	if res.Status != 0 || res.Class == crawl.Retry || res.Class == crawl.Failed {
		r.Attempts++
	}
}

// AttemptsForgotten gives the URL all its attempts again.
func (r *Record) AttemptsForgotten() { r.Attempts = 0 }

// AnswerForgotten removes what the response to the URL contained.
func (r *Record) AnswerForgotten() { r.Status, r.Line, r.NoSnippet = 0, 0, false }

// CopyForgotten removes what is known of the copy that was fetched last, so that the next one is
// requested and kept whatever that copy was.
func (r *Record) CopyForgotten() { r.StoredCopy, r.Again = StoredCopy{}, Again{} }

// ValidatorsForgotten makes the server send the page that is stored, although it may be the same.
func (r *Record) ValidatorsForgotten() { r.ETag, r.Modified, r.ModifiedText = "", 0, "" }

// Unranked removes the rank that the URL had in its queue.
func (r *Record) Unranked() { r.Rank = 0 }

// FoundNearer notes that a page nearer to a seed links to the URL. rank counts only for a URL that
// is queued or may be queued later.
func (r *Record) FoundNearer(l *crawl.Links, rank uint16) {
	r.Depth, r.FoundOn = l.Depth, l.FoundOn
	if r.Class == crawl.Queued || r.Class == crawl.Refused && r.Reason.Has(crawl.UndoneBySpec) {
		r.Rank = rank
	}
}

// Foreseen makes a copy of the record look as a pass that is running will leave it.
func (r *Record) Foreseen(v Verdict) {
	r.Class, r.Reason, r.Detail, r.Due = v.Class, v.Reason, v.Detail, time.Time{}
}

// BecomeAlias notes that the URL belongs to a mirror now. It reports whether a copy of the page is
// stored under the URL, which becomes an alias of the main host's page.
func (r *Record) BecomeAlias() (stored bool) {
	r.Glued = r.Glued || r.Class == crawl.Stored
	r.Line = 0
	return r.Glued
}

// NoAlias notes that the URL belongs to a mirror no more. It reports whether it was an alias.
func (r *Record) NoAlias() (was bool) {
	was, r.Glued = r.Glued, false
	return was
}

// ForwardedTo notes the URL of the main host that this one was forwarded to; "": to none.
func (r *Record) ForwardedTo(u string) { r.Detail = u }

// ReportedGone notes that the site reported the page as removed. It is removed from the store after
// the site has confirmed that to a request of ours.
func (r *Record) ReportedGone() { r.Gone = true }

// CountEvent begins another event, or another message within one.
func (s *URLs) CountEvent() { s.Events++ }

// CountPage begins the links of another page.
func (s *URLs) CountPage() { s.Pages++ }

// AddInFlight adds n to the number of URLs that are in visits.
func (s *URLs) AddInFlight(n int) { s.InFlight += int64(n) }

// CountSooner counts a page that is requested sooner because of what was reported.
func (s *Recrawl) CountSooner() { s.Sooner++ }
