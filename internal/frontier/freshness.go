package frontier

import (
	"cmp"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/likeness"
)

// How often a page is asked for again follows from how often it is seen to change. A page that changes now and then, at a rate of
// its own, has changed after a while t with probability 1-exp(-rate·t); so looking earns most where rate·t is greatest. An interval
// stands for the time after which that is the same for all pages: it becomes longer by a step whenever a page has not changed and
// shorter by three when it has, and comes to rest where one look of four finds another page. Among pages that are due the one comes
// first of whose interval most has passed (again.go).
//
// What counts is the time that passed, not the interval that was meant: a host with more pages than it can be asked for keeps all of
// them waiting.
const (
	firstInterval = 24 * time.Hour
	unchangedStep = 1 // of pace
	changedStep   = 3
)

// next is the pace of a page that was found changed or not, that long after it was fetched before.
func (p pace) next(passed time.Duration, changed bool) pace {
	was := paceOf(passed)
	if changed {
		return max(min(p, was), changedStep+1) - changedStep
	}
	return min(max(p, was)+unchangedStep, paceMost)
}

// recrawlBounds are the least and the greatest interval.
func (s *shard) recrawlBounds() (least, most time.Duration) {
	least = cmp.Or(s.j.spec.RecrawlMin, crawl.DefaultRecrawlMin)
	return least, max(cmp.Or(s.j.spec.RecrawlMax, crawl.DefaultRecrawlMax), least)
}

// clamped is the interval that a pace stands for, within the bounds.
func (s *shard) clamped(p pace) time.Duration {
	least, most := s.recrawlBounds()
	if p == paceSlow {
		return most
	}
	return min(max(p.interval(), least), most)
}

// wanted reports whether r, which is not Queued, is asked for again at all.
func (s *shard) wanted(r *record) bool {
	if !s.j.spec.Recrawl || s.j.forgotten.Has(r.URL) || s.j.spec.MaxDepth >= 0 && r.Depth > s.j.spec.MaxDepth {
		return false
	}
	switch r.Class {
	case crawl.Stored, crawl.Failed:
	case crawl.Redirected:
		if r.Reason != crawl.ReasonRedirect {
			return false
		}
	case crawl.Refused:
		if r.Reason != crawl.ReasonNoindex && r.Reason != crawl.ReasonRobots && r.Reason != crawl.ReasonRedirects {
			return false
		}
	default:
		return false
	}
	return s.j.scope.Decide(r.URL).In
}

// plan says when r, which is not Queued, is asked for again: a page by how often it changes, what is no page as seldom as
// the spec allows. at counts for what has never answered. The caller writes the record.
func (s *shard) plan(h *host, r *record, at time.Time) error {
	if !s.wanted(r) || h.Origins[r.Origin].Mirror.mirrored() {
		return s.unplan(h, r)
	}
	p := paceSlow
	switch {
	case r.Class == crawl.Stored && r.tried():
		p = paceNow
	case r.Class == crawl.Stored && r.Usual > 0:
		p = r.Usual
	case r.Class == crawl.Stored || r.Reason == crawl.ReasonNoindex:
		p = paceOf(firstInterval)
	}
	wait := s.clamped(p)
	if p == paceNow {
		wait = 0
	}
	from := r.FetchedAt / 1000
	if from == 0 {
		from = at.Unix()
	}
	return s.planAt(h, r, from+int64(wait/time.Second), p)
}

// leavesCopy reports that a result says nothing against the copy held: its fetcher did not have it removed.
func leavesCopy(res *crawl.Result) bool {
	switch res.Class {
	case crawl.Retry:
		return true
	case crawl.Failed:
		return res.Kept || res.Reason != crawl.ReasonHTTP4xx
	case crawl.Redirected:
		return res.Kept
	case crawl.Refused:
		return res.Kept || res.Reason == crawl.ReasonAddress
	}
	return false
}

// Waits for a page that is held and could not be had.
const (
	verifyGone  = time.Hour       // until a page that is gone, or leads elsewhere for a while, is looked for once more, or RecrawlMin if that is less
	firstRepeat = 5 * time.Minute // after the first failure in a row; it grows fourfold with each
)

// keepCopy applies a result that leaves the copy of r as it is: r stays Stored and is asked for again soon.
func (s *shard) keepCopy(h *host, k []byte, r *record, id crawl.VisitID, res *crawl.Result, o *crawl.Outcome, now time.Time) error {
	r.Visit = id
	at := cmp.Or(s.at, now)
	least, most := s.recrawlBounds()
	var wait time.Duration
	if res.Kept {
		r.Gone = true
		wait = min(verifyGone, least)
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
		r.Detail += ": " + strings.Clone(res.Rule)
	}
	s.met.again.WithLabelValues("kept").Inc()
	line := *r
	line.Reason = res.Reason
	s.logLine(&line, res)
	s.changes++
	s.rate.add(now, 1)
	var err error
	if s.wanted(r) {
		err = s.planAt(h, r, at.Add(max(wait, o.RetryAfter)).Unix(), paceNow)
	} else {
		err = s.unplan(h, r)
	}
	if err != nil {
		return err
	}
	return s.tx.Bucket(bucketURLs).Put(k, r.append(nil))
}

// noise says of a page whether all that changes in it is what changes each time: a clock, a counter, a nonce. Such a page counts as
// unchanged for its pace; else it would be asked for as often as may be, and the pages that do change be kept waiting. A page whose
// text has hardly changed is asked for a few times more, at once, that is a delay apart: what has a reason to change has none so many
// times in a row, however short RecrawlMin is. One that stood that test changes a little in earnest, and is not put to it again before
// its text has hardly changed several times more.
type noise uint8

const (
	noiseEarnest noise = 1  // stood the test; up to noiseTried, how often it has changed a little since
	noiseTried   noise = 8  // it is to be asked for at once; up to noisy, how often it has changed a little since
	noisy        noise = 11 // each time

	noiseSoon = 10 * time.Minute // so long is at once, or for so many delays of its host; later nothing is learnt
	noiseLate = 3
)

// tried reports that r is to be asked for at once, to see whether what changes in it is noise.
func (r *record) tried() bool { return r.Noise >= noiseTried && r.Noise < noisy }

// heard takes in whether r has changed, as its digest says, and returns whether that counts for its pace, or, if it is not sure yet,
// that nothing does. soon says that r was asked for a moment ago.
func (r *record) heard(is bool, res *crawl.Result, soon bool) (changed, sure bool) {
	alike := is && likeness.Alike(r.Likeness, res.Likeness)
	switch {
	case !is && r.Noise > 0:
		r.Noise = noiseEarnest
	case r.Noise == noisy:
		return is && !alike, true
	case r.tried() && alike && soon:
		if r.Noise++; r.Noise == noisy {
			r.Usual = 0
			return false, true
		}
	case r.tried(): // really another, or too late to tell
		r.Noise = noiseEarnest
	case alike && r.Noise == 0:
		r.Noise = noiseTried
	case alike:
		r.Noise++
	}
	return is, !alike || !r.tried()
}

// before is what a record said when its page was asked for again.
type before struct {
	fetched int64 // as record.FetchedAt
	stored  bool
	hinted  bool
}

func (r *record) before() before {
	return before{r.FetchedAt, r.Class == crawl.Stored, r.Pace == paceHint}
}

// refreshed takes over what a visit that stored r says of the copy.
func (s *shard) refreshed(h *host, r *record, res *crawl.Result, was before) {
	if was.fetched > 0 && (res.NotModified || r.Digest != 0 && res.Digest != 0) {
		passed := time.Duration(r.FetchedAt-was.fetched) * time.Millisecond
		soon := max(noiseSoon, noiseLate*s.delayOf(h).d)
		other := !res.NotModified && res.Digest != r.Digest
		changed, sure := r.heard(other, res, passed <= soon)
		found := "same"
		r.Asked++
		switch {
		case changed:
			r.Changed++
			found = "other"
		case other:
			found = "noise"
		}
		s.met.again.WithLabelValues(found).Inc()
		if r.Usual == 0 {
			r.Usual = paceOf(firstInterval)
		}
		if was.hinted && changed {
			passed = r.Usual.interval() // we came because it had changed
		}
		if sure {
			r.Usual = r.Usual.next(passed, changed)
		}
		if was.hinted {
			h.Origins[r.Origin].hinted(changed)
			s.touch(h)
		}
	}
	if was.stored {
		r.Attempts = 1 // what failed since does not count any more
	}
	r.held.take(res)
	r.Gone = false
}
