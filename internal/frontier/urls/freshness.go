package urls

import (
	"cmp"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/polite"
	"github.com/curtsy/curtsy/internal/likeness"
)

// How often a page is fetched again depends on how often it was found to have changed. If a page
// changes at random at a certain rate, it has changed after a time t with probability
// 1-exp(-rate·t), so fetching is most useful where rate·t is greatest. The interval of each page
// approximates the time after which this probability is the same for all pages: it grows by one
// step whenever the page has not changed and shrinks by three when it has, and settles where one
// fetch of four finds a change. Among pages that are due, the one comes first of whose interval the
// largest part has passed (due.go).
//
// The time that has actually passed counts, not the planned interval: on a host with more pages
// than can be fetched, all pages wait longer.
const (
	FirstInterval = 24 * time.Hour
	unchangedStep = 1 // of pace
	changedStep   = 3
)

// next is the new pace of a page, which was found changed or not after the time passed since the
// fetch before.
func next(p Pace, passed time.Duration, changed bool) Pace {
	was := PaceOf(passed)
	if changed {
		return max(min(p, was), changedStep+1) - changedStep
	}
	return min(max(p, was)+unchangedStep, PaceMost)
}

// Bounds are the minimum and maximum interval. With rounds a page waits at most until the next
// round, and a repeated check takes place in the first half of a round.
func (s *Recrawl) Bounds() (least, most time.Duration) {
	if every := s.ledger.Judge.Spec.Every; every > 0 {
		return min(cmp.Or(s.ledger.Judge.Spec.RecrawlMin, crawl.DefaultRecrawlMin), every/2), every
	}
	least = cmp.Or(s.ledger.Judge.Spec.RecrawlMin, crawl.DefaultRecrawlMin)
	return least, max(cmp.Or(s.ledger.Judge.Spec.RecrawlMax, crawl.DefaultRecrawlMax), least)
}

// clamped is the interval of a pace, within the bounds.
func (s *Recrawl) clamped(p Pace) time.Duration {
	least, most := s.Bounds()
	if p == PaceSlow {
		return most
	}
	return min(max(p.Interval(), least), most)
}

// Wanted reports whether r, which is not Queued, is fetched again at all.
func (s *Recrawl) Wanted(r *Record) bool {
	if !s.ledger.Judge.Spec.Refreshes() || s.ledger.Judge.Forgotten.Has(r.URL) {
		return false
	}
	if most, _ := s.ledger.Judge.MaxDepth(r.URL); most >= 0 && r.Depth > most {
		return false
	}
	switch r.Class {
	case crawl.Stored, crawl.Failed:
	case crawl.Redirected, crawl.Refused:
		if !r.Reason.Has(crawl.Recrawled) {
			return false
		}
	default:
		return false
	}
	return s.ledger.Judge.Scope.Decide(r.URL).In
}

// Plan sets when r, which is not Queued, is fetched again: at the beginning of the next round, or
// without rounds according to how often the page changes; URLs without a page as rarely as the spec
// permits. If r was never answered, the interval begins at the time at. The caller writes the
// record.
func (s *Recrawl) Plan(h *hosts.Host, r *Record, at time.Time) error {
	if !s.Wanted(r) || h.Origins[r.Origin].Mirror.Mirrored() {
		return s.urls.Unplan(h, r)
	}
	p := PaceSlow
	switch {
	case r.Class == crawl.Stored && tried(r):
		p = PaceNow
	case r.Class == crawl.Stored && r.Usual > 0:
		p = r.Usual
	case r.Class == crawl.Stored || r.Reason == crawl.ReasonNoindex:
		p = PaceOf(FirstInterval)
	}
	from := r.FetchedAt / 1000
	if from == 0 || from > at.Add(ahead).Unix() { // fetched by a clock that was wrong
		from = at.Unix()
	}
	if next, rounds := s.ledger.Judge.Spec.NextRound(time.Unix(from, 0)); rounds {
		return s.urls.PlanAt(h, r, next.Unix(), PaceOf(s.ledger.Judge.Spec.Every))
	}
	wait := s.clamped(p)
	if p == PaceNow {
		wait = 0
	}
	return s.urls.PlanAt(h, r, from+int64(wait/time.Second), p)
}

// LeavesCopy reports that the stored copy remains valid after a result: the fetcher did not have it
// removed.
func LeavesCopy(res *crawl.Result) bool {
	switch res.Class {
	case crawl.Retry:
		return true
	case crawl.Failed, crawl.Redirected, crawl.Refused:
		return res.Kept || !res.Reason.Has(crawl.EndsCopy)
	}
	return false
}

// VerifyGone is after how long a page that is gone, or leads elsewhere for a while, is requested
// once more, or RecrawlMin if that is less.
const VerifyGone = time.Hour

// KeepCopy applies a result that leaves the copy of r as it is: r stays Stored and is fetched again
// soon.
func (s *Recrawl) KeepCopy(h *hosts.Host, k []byte, r *Record, id crawl.VisitID, res *crawl.Result, o *crawl.Outcome, now time.Time) error {
	r.Visit = id
	at := cmp.Or(s.ledger.At, now)
	least, most := s.Bounds()
	var wait time.Duration
	if res.Kept {
		r.Gone = true
		wait = min(VerifyGone, least)
	} else {
		wait = max(polite.RetryCopy.UpTo(most).After(r.Attempts), least)
		r.Attempts++
	}
	r.Detail = string(res.Reason)
	if res.Rule != "" {
		r.Detail += ": " + strings.Clone(crawl.ShortDetail(res.Rule))
	}
	s.ledger.Metrics.Again.WithLabelValues("kept").Inc()
	line := *r
	line.Reason = res.Reason
	s.urls.LogLine(&line, res)
	s.ledger.Rate.Add(now, 1)
	var err error
	if s.Wanted(r) {
		err = s.urls.PlanAt(h, r, at.Add(max(wait, o.RetryAfter)).Unix(), PaceNow)
	} else {
		err = s.urls.Unplan(h, r)
	}
	if err != nil {
		return err
	}
	return s.urls.PutURL(k, r)
}

// A repeated fetch counts as a noise test only within this time of the first, or within noiseLate
// host delays.
const noiseSoon = 10 * time.Minute

const noiseLate = 3

// tried reports that r is to be fetched at once, to test whether its changes are noise.
func tried(r *Record) bool { return r.Noise >= NoiseTried && r.Noise < Noisy }

// heard updates the noise test of r. is says whether the digest of r has changed, soon that r was
// fetched a moment before. The results are whether the change counts for the pace of r, and whether
// this is certain; if not, neither a change nor its absence counts yet.
func heard(r *Record, is bool, res *crawl.Result, soon bool) (changed, sure bool) {
	alike := is && likeness.Alike(r.Likeness, res.Likeness)
	switch {
	case !is && r.Noise > 0:
		r.Noise = NoiseEarnest
	case r.Noise == Noisy:
		return is && !alike, true
	case tried(r) && alike && soon:
		if r.Noise++; r.Noise == Noisy {
			r.Usual = 0
			return false, true
		}
	case tried(r): // a real change, or too late for the test
		r.Noise = NoiseEarnest
	case alike && r.Noise == 0:
		r.Noise = NoiseTried
	case alike:
		r.Noise++
	}
	return is, !alike || !tried(r)
}

// before is a record's state when its page was fetched again.
type before struct {
	fetched int64 // as Record.FetchedAt
	stored  bool
	Hinted  bool
	by      crawl.Source // the source of the hint
}

// Before is the state with which Refreshed compares a record.
func Before(r *Record) before {
	return before{r.FetchedAt, r.Class == crawl.Stored, r.Pace == PaceHint, r.Hint}
}

// Refreshed applies the result of a visit that stored r.
func (s *Recrawl) Refreshed(h *hosts.Host, r *Record, res *crawl.Result, was before) (err error) {
	if was.fetched > 0 && (res.NotModified || r.Digest != 0 && res.Digest != 0) {
		passed := time.Duration(r.FetchedAt-was.fetched) * time.Millisecond
		soon := max(noiseSoon, noiseLate*s.polite.DelayOf(h).D)
		other := !res.NotModified && res.Digest != r.Digest
		changed, sure := heard(r, other, res, passed <= soon)
		found := "same"
		r.Asked++
		switch {
		case changed:
			r.Changed++
			found = "other"
		case other:
			found = "noise"
		}
		s.ledger.Metrics.Again.WithLabelValues(found).Inc()
		if r.Usual == 0 {
			r.Usual = PaceOf(FirstInterval)
		}
		if was.Hinted && changed {
			passed = r.Usual.Interval() // we fetched it because it had changed
		}
		if sure {
			r.Usual = next(r.Usual, passed, changed)
		}
		if was.Hinted {
			err = s.Hinted(h, r, was, changed)
		}
	}
	if was.stored {
		r.Attempts = 1 // earlier failures no longer count
	}
	r.StoredCopy.Update(res)
	r.Gone = false
	return err
}
