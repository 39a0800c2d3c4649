package rup

import (
	"slices"
	"time"
)

// Todo is something that a robot must do about a site's reports.
type Todo string

// The actions that State requests (formats §6.3).
const (
	// use the report with the number Number as a hint to fetch or check the pages that it lists
	DoApply  Todo = "apply"
	DoIgnore Todo = "ignore" // discard it
	DoHold   Todo = "hold"   // keep it until an answer decides whether to apply or to ignore it
	DoAsk    Todo = "ask"    // send GetSequenceNumber, then call Answer or AskFailed
	// send GetIndex for Span and apply the result, then call Indexed or IndexFailed
	DoIndex   Todo = "index"
	DoReindex Todo = "reindex" // re-crawl the site completely, at the usual pace
	// the registration has ended: register again if possible, with a new State
	DoRegister Todo = "register"
	DoWait     Todo = "wait" // call Tick at At, unless another call comes earlier
)

// Step is one thing to do.
type Step struct {
	Do     Todo
	Number int64     // of the report, for DoApply, DoIgnore and DoHold
	Span   Span      // for DoIndex
	At     time.Time // for DoWait
}

// Terms are the agreed settings of a robot and a site.
type Terms struct {
	Latency      Latency // zero: GetIndex is not available
	MaxQuerySpan Span    // zero: GetIndex cannot be asked
}

const (
	// lateMail is how long to wait for a missing report, because mail may be late.
	lateMail = time.Hour
	// leap is how far a number may be above Last before it counts as suspicious.
	leap = 1000
	// firstRetry doubles up to maxRetry while a site does not answer.
	firstRetry = time.Hour
	maxRetry   = 24 * time.Hour
	// maxTries is how often a request is sent before the site is re-crawled instead. The draft has
	// no limit.
	maxTries = 5
	// maxHeld and maxGaps limit how much strangers can make us remember.
	maxHeld = 16
	maxGaps = 100
)

// overdue is how long after the last report the next one counts as missing.
func overdue(l Latency) time.Duration {
	if l.Days() == 0 {
		l = Latency{1, Week}
	}
	d := min(l.Duration(), 100*365*24*time.Hour)
	return d + max(6*time.Hour, d/4)
}

// Gap is a range of missing numbers, including both ends.
type Gap struct{ First, Last int64 }

// State is what a robot knows about a site's reports: which it has received and which are missing
// (formats §6.3). Its methods take the time as a parameter, change the State and return what to do;
// they send nothing. The caller saves the State together with the steps in one transaction and then
// executes the steps; each may be executed twice. It can be marshalled as JSON. It may not be used
// concurrently.
type State struct {
	Last    int64 `json:"last"`              // highest number applied
	Missing []Gap `json:"missing,omitempty"` // below Last, ascending

	// when a report was applied or an answer came; silence is measured from here
	Heard time.Time `json:"heard,omitzero"`
	// nothing is missing before this time: a GetIndex must reach back to it
	Good  time.Time `json:"good,omitzero"`
	New   time.Time `json:"new,omitzero"` // date of the newest report applied
	GapAt time.Time `json:"gap_at,omitzero"`

	Doing Todo      `json:"doing,omitempty"` // DoAsk or DoIndex while one is in progress
	Begun time.Time `json:"begun,omitzero"`  // when it was first requested
	Retry time.Time `json:"retry,omitzero"`  // when it is requested again
	Tries int       `json:"tries,omitempty"` // how often it was requested
	Then  int64     `json:"then,omitempty"`  // Last when DoAsk began
	Known int64     `json:"known,omitempty"` // the last answer to GetSequenceNumber
	Held  []int64   `json:"held,omitempty"`  // numbers of reports that wait for an answer
}

// NewState begins with a registration, after which no report has been sent yet.
func NewState(registered time.Time) *State {
	return &State{Heard: registered, Good: registered, New: registered}
}

// Report is called for each received report. date is the date of its mail, or the zero time;
// truncated is as in Report: the rest of the report is lost.
func (s *State) Report(now time.Time, t Terms, n int64, date time.Time, truncated bool) []Step {
	var steps []Step
	switch {
	case n <= s.Last && !s.missing(n):
		return append(steps, Step{Do: DoIgnore, Number: n}, s.wait(now, t))
	case n > s.Last+leap:
		return s.doubt(now, t, n)
	}
	steps = append(steps, Step{Do: DoApply, Number: n})
	s.apply(now, n, date)
	if truncated {
		steps = append(steps, Step{Do: DoReindex})
	}
	return append(steps, s.due(now, t)...)
}

// Tick is called at the time of DoWait; an earlier call is harmless.
func (s *State) Tick(now time.Time, t Terms) []Step { return s.due(now, t) }

// Answer is called with the answer to GetSequenceNumber.
func (s *State) Answer(now time.Time, t Terms, n int64) []Step {
	if s.Doing != DoAsk {
		return []Step{s.wait(now, t)} // a repeated answer
	}
	// Reports that arrived meanwhile may have numbers above n, so n is compared with the state at
	// the time of the request.
	lost := n < s.Then
	s.idle()
	s.Known, s.Heard = n, now
	if lost {
		steps := append(s.release(nil, now, 0), s.reindex(now))
		s.Last = n
		return append(steps, s.wait(now, t))
	}
	steps := s.release(nil, now, n)
	if n <= s.Last && len(s.Missing) == 0 {
		return append(steps, s.wait(now, t))
	}
	return append(steps, s.recover(now, t)...)
}

// AskFailed is called if GetSequenceNumber could not be sent or was refused.
func (s *State) AskFailed(now time.Time, t Terms, err error) []Step {
	switch {
	case s.Doing != DoAsk:
		return []Step{s.wait(now, t)}
	case Retryable(err) && s.Tries < maxTries:
		s.later(now, err)
		return []Step{s.wait(now, t)}
	}
	steps := append(s.release(nil, now, 0), s.reindex(now))
	if Retryable(err) {
		return append(steps, s.wait(now, t))
	}
	return append(steps, Step{Do: DoRegister})
}

// Indexed is called after the answer to GetIndex was applied.
func (s *State) Indexed(now time.Time, t Terms) []Step {
	if s.Doing != DoIndex {
		return []Step{s.wait(now, t)}
	}
	begun := s.Begun
	s.idle()
	s.Last = max(s.Last, s.Known)
	// A gap above Known appeared meanwhile; the answer need not cover it.
	s.Missing = slices.DeleteFunc(s.Missing, func(g Gap) bool { return g.First <= s.Known })
	s.Heard, s.New = now, later(s.New, begun)
	s.Good = later(s.Good, begun)
	if len(s.Missing) == 0 {
		s.Missing, s.GapAt = nil, time.Time{}
	}
	return []Step{s.wait(now, t)}
}

// IndexFailed is called if GetIndex could not be sent, was refused, or was answered with something
// that is not a complete report.
func (s *State) IndexFailed(now time.Time, t Terms, err error) []Step {
	switch {
	case s.Doing != DoIndex:
		return []Step{s.wait(now, t)}
	case Retryable(err) && s.Tries < maxTries:
		s.later(now, err)
		return []Step{s.wait(now, t)}
	}
	return []Step{s.reindex(now), s.wait(now, t)}
}

// due returns what to do now, and the time of the next check.
func (s *State) due(now time.Time, t Terms) []Step {
	at := s.next(t)
	if now.Before(at) {
		return []Step{{Do: DoWait, At: at}}
	}
	switch s.Doing {
	case DoIndex:
		return s.recover(now, t) // the span has become longer
	case DoAsk:
		if s.Tries >= maxTries {
			return append(s.release(nil, now, 0), s.reindex(now), s.wait(now, t))
		}
	}
	return s.ask(now, t)
}

// next is the time of the next action, if nothing else happens.
func (s *State) next(t Terms) time.Time {
	if s.Doing != "" {
		return s.Retry
	}
	at := s.Heard.Add(overdue(t.Latency))
	if !s.GapAt.IsZero() {
		if gap := s.GapAt.Add(lateMail); gap.Before(at) {
			at = gap
		}
	}
	return at
}

func (s *State) wait(now time.Time, t Terms) Step { return Step{Do: DoWait, At: later(s.next(t), now)} }

// ask sends GetSequenceNumber, perhaps again.
func (s *State) ask(now time.Time, t Terms) []Step {
	if s.Doing != DoAsk {
		s.Doing, s.Begun, s.Then, s.Tries = DoAsk, now, s.Last, 0
	}
	s.later(now, nil)
	return []Step{{Do: DoAsk}, s.wait(now, t)}
}

// recover requests the missing reports, or gives up and lets the whole site be crawled again.
func (s *State) recover(now time.Time, t Terms) []Step {
	span, ok := SpanOf(now.Sub(s.Good))
	if !ok || span.Days() > t.MaxQuerySpan.Days() || s.Doing == DoIndex && s.Tries >= maxTries {
		return []Step{s.reindex(now), s.wait(now, t)}
	}
	if s.Doing != DoIndex {
		s.Doing, s.Tries = DoIndex, 0
	}
	s.Begun = now
	s.later(now, nil)
	return []Step{{Do: DoIndex, Span: span}, s.wait(now, t)}
}

// reindex clears the missing reports, because the whole site will be read again.
func (s *State) reindex(now time.Time) Step {
	s.idle()
	s.Last = max(s.Last, s.Known)
	s.Missing, s.GapAt = nil, time.Time{}
	s.Heard, s.Good, s.New = now, now, now
	return Step{Do: DoReindex}
}

// doubt postpones a report whose number is suspiciously high, and asks the site.
func (s *State) doubt(now time.Time, t Terms, n int64) []Step {
	if len(s.Held) >= maxHeld || slices.Contains(s.Held, n) {
		return []Step{{Do: DoIgnore, Number: n}, s.wait(now, t)}
	}
	s.Held = append(s.Held, n)
	steps := []Step{{Do: DoHold, Number: n}}
	if s.Doing == "" {
		return append(steps, s.ask(now, t)...)
	}
	return append(steps, s.wait(now, t))
}

// release applies the postponed reports up to the number known, and discards the others. Their
// dates are not known, so the reports that may be missing are requested.
func (s *State) release(steps []Step, now time.Time, known int64) []Step {
	postponed := s.Held
	slices.Sort(postponed)
	s.Held = nil
	for _, n := range postponed {
		if n > known || n <= s.Last && !s.missing(n) {
			steps = append(steps, Step{Do: DoIgnore, Number: n})
			continue
		}
		s.apply(now, n, time.Time{})
		steps = append(steps, Step{Do: DoApply, Number: n})
	}
	return steps
}

// apply records that a report was applied, and which numbers before it are missing.
func (s *State) apply(now time.Time, n int64, date time.Time) {
	if date.After(now) {
		date = now // a clock ahead of ours must not shorten a span
	}
	s.Heard, s.New = now, later(s.New, date)
	if n <= s.Last {
		s.found(n)
	} else {
		if n > s.Last+1 {
			s.gap(now, Gap{s.Last + 1, n - 1})
		}
		s.Last = n
	}
	if len(s.Missing) == 0 {
		s.GapAt, s.Good = time.Time{}, later(s.Good, s.New)
	}
}

func (s *State) missing(n int64) bool {
	return slices.ContainsFunc(s.Missing, func(g Gap) bool { return g.First <= n && n <= g.Last })
}

func (s *State) gap(now time.Time, g Gap) {
	if len(s.Missing) >= maxGaps {
		// There are too many gaps. The reports between the last two are requested again, which is
		// harmless.
		g.First = s.Missing[len(s.Missing)-1].First
		s.Missing = s.Missing[:len(s.Missing)-1]
	}
	if s.Missing = append(s.Missing, g); s.GapAt.IsZero() {
		s.GapAt = now
	}
}

// found removes a number from the gaps.
func (s *State) found(n int64) {
	var left []Gap
	for _, g := range s.Missing {
		inside := g.First < n && n < g.Last
		if n < g.First || n > g.Last || inside && len(s.Missing) >= maxGaps {
			left = append(left, g) // that would make one gap too many; n may come again
			continue
		}
		if g.First < n {
			left = append(left, Gap{g.First, n - 1})
		}
		if n < g.Last {
			left = append(left, Gap{n + 1, g.Last})
		}
	}
	s.Missing = left
}

func (s *State) idle() {
	s.Doing, s.Begun, s.Retry, s.Tries, s.Then = "", time.Time{}, time.Time{}, 0, 0
}

// later sets the time of the next try after the request was sent or has failed.
func (s *State) later(now time.Time, err error) {
	if err == nil {
		s.Tries++
	}
	wait := min(firstRetry<<max(s.Tries-1, 0), maxRetry)
	s.Retry = now.Add(max(wait, retryAfter(err)))
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
