package urls

import (
	"cmp"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/likeness"
)

// How often a page is asked for again follows from how often it is seen to change. A page that
// changes now and then, at a rate of its own, has changed after a while t with probability
// 1-exp(-rate·t); so looking earns most where rate·t is greatest. An interval stands for the time
// after which that is the same for all pages: it becomes longer by a step whenever a page has not
// changed and shorter by three when it has, and comes to rest where one look of four finds another
// page. Among pages that are due the one comes first of whose interval most has passed (due.go).
//
// What counts is the time that passed, not the interval that was meant: a host with more pages than
// it can be asked for keeps all of them waiting.
const (
	FirstInterval = 24 * time.Hour
	unchangedStep = 1 // of pace
	changedStep   = 3
)

// next is the pace of a page that was found changed or not, that long after it was fetched before.
func next(p Pace, passed time.Duration, changed bool) Pace {
	was := PaceOf(passed)
	if changed {
		return max(min(p, was), changedStep+1) - changedStep
	}
	return min(max(p, was)+unchangedStep, PaceMost)
}

// Bounds are the least and the greatest interval. With rounds a page waits for the next one at
// most, and a second look at one comes in the first half of a round.
func (s *Recrawl) Bounds() (least, most time.Duration) {
	if every := s.ledger.Judge.Spec.Every; every > 0 {
		return min(cmp.Or(s.ledger.Judge.Spec.RecrawlMin, crawl.DefaultRecrawlMin), every/2), every
	}
	least = cmp.Or(s.ledger.Judge.Spec.RecrawlMin, crawl.DefaultRecrawlMin)
	return least, max(cmp.Or(s.ledger.Judge.Spec.RecrawlMax, crawl.DefaultRecrawlMax), least)
}

// clamped is the interval that a pace stands for, within the bounds.
func (s *Recrawl) clamped(p Pace) time.Duration {
	least, most := s.Bounds()
	if p == PaceSlow {
		return most
	}
	return min(max(p.Interval(), least), most)
}

// Wanted reports whether r, which is not Queued, is asked for again at all.
func (s *Recrawl) Wanted(r *Record) bool {
	if !s.ledger.Judge.Spec.Refreshes() || s.ledger.Judge.Forgotten.Has(r.URL) || s.ledger.Judge.Spec.MaxDepth >= 0 && r.Depth > s.ledger.Judge.Spec.MaxDepth {
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

// Plan says when r, which is not Queued, is asked for again: when the next round begins, or without
// rounds a page by how often it changes, what is no page as seldom as the spec allows. at counts
// for what has never answered. The caller writes the record.
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
	if from == 0 || from > at.Add(ahead).Unix() { // by a clock that was wrong
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

// LeavesCopy reports that a result says nothing against the copy held: its fetcher did
// not have it removed.
func LeavesCopy(res *crawl.Result) bool {
	switch res.Class {
	case crawl.Retry:
		return true
	case crawl.Failed, crawl.Redirected, crawl.Refused:
		return res.Kept || !res.Reason.Has(crawl.EndsCopy)
	}
	return false
}

// Waits for a page that is held and could not be had.
const (
	// Until a page that is gone, or leads elsewhere for a while, is looked for once more, or
	// RecrawlMin if that is less.
	VerifyGone  = time.Hour
	firstRepeat = 5 * time.Minute // after the first failure in a row; it grows fourfold with each
)

// KeepCopy applies a result that leaves the copy of r as it is: r stays Stored and is
// asked for again soon.
func (s *Recrawl) KeepCopy(h *hosts.Host, k []byte, r *Record, id crawl.VisitID, res *crawl.Result, o *crawl.Outcome, now time.Time) error {
	r.Visit = id
	at := cmp.Or(s.ledger.At, now)
	least, most := s.Bounds()
	var wait time.Duration
	if res.Kept {
		r.Gone = true
		wait = min(VerifyGone, least)
	} else {
		wait = firstRepeat
		for n := 1; n < r.Attempts && wait < most; n++ {
			wait *= 4
		}
		wait = max(min(wait, most), least)
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

// So long is at once, or for so many delays of its host; later nothing is learnt.
const noiseSoon = 10 * time.Minute

const noiseLate = 3

// tried reports that r is to be asked for at once, to see whether what changes in it is noise.
func tried(r *Record) bool { return r.Noise >= NoiseTried && r.Noise < Noisy }

// heard takes in whether r has changed, as its digest says, and returns whether that counts for its
// pace, or, if it is not sure yet, that nothing does. soon says that r was asked for a moment ago.
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
	case tried(r): // really another, or too late to tell
		r.Noise = NoiseEarnest
	case alike && r.Noise == 0:
		r.Noise = NoiseTried
	case alike:
		r.Noise++
	}
	return is, !alike || !tried(r)
}

// before is what a record said when its page was asked for again.
type before struct {
	fetched int64 // as record.FetchedAt
	stored  bool
	Hinted  bool
	by      crawl.Source // who gave the hint
}

// Before is what Refreshed compares a record with.
func Before(r *Record) before {
	return before{r.FetchedAt, r.Class == crawl.Stored, r.Pace == PaceHint, r.Hint}
}

// Refreshed takes over what a visit that stored r says of the copy.
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
			passed = r.Usual.Interval() // we came because it had changed
		}
		if sure {
			r.Usual = next(r.Usual, passed, changed)
		}
		if was.Hinted {
			err = s.Hinted(h, r, was, changed)
		}
	}
	if was.stored {
		r.Attempts = 1 // what failed since does not count any more
	}
	r.StoredCopy.Update(res)
	r.Gone = false
	return err
}
