package rup

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

var (
	day0    = time.Date(2020, 1, 1, 12, 0, 0, 0, time.UTC)
	weekly  = Terms{Latency{1, Week}, Span{4, Week}}
	noIndex = Terms{Latency{1, Week}, Span{}}
	refused = &Error{Status: 400}
	down    = errors.New("connection refused")
)

const hours, oneDay = time.Hour, 24 * time.Hour

// short formats steps: "apply 3, ask, wait 1h0m0s", with waits relative to now.
func short(now time.Time, steps []Step) string {
	var list []string
	for _, s := range steps {
		text := string(s.Do)
		switch s.Do {
		case DoApply, DoIgnore, DoHold:
			text += fmt.Sprint(" ", s.Number)
		case DoIndex:
			text += " " + s.Span.String()
		case DoWait:
			text += " " + strings.TrimSuffix(s.At.Sub(now).String(), "0m0s")
		}
		list = append(list, text)
	}
	return strings.Join(list, ", ")
}

// robot is a State and a clock.
type robot struct {
	*State
	t   *testing.T
	now time.Time
	on  Terms
}

func newRobot(t *testing.T, on Terms) *robot {
	return &robot{NewState(day0), t, day0, on}
}

func (r *robot) after(d time.Duration) *robot {
	r.now = r.now.Add(d)
	return r
}

func (r *robot) want(steps []Step, want string) {
	r.t.Helper()
	if got := short(r.now, steps); got != want {
		r.t.Fatalf("at %v: %s; want %s", r.now.Sub(day0), got, want)
	}
	// A State is the same after it was stored.
	text, err := json.Marshal(r.State)
	back := new(State)
	if err == nil {
		err = json.Unmarshal(text, back)
	}
	if err != nil || !reflect.DeepEqual(back, r.State) {
		r.t.Fatalf("%s: %+v, %v", text, back, err)
	}
	r.State = back
}

func (r *robot) report(n int64, want string) {
	r.t.Helper()
	r.want(r.Report(r.now, r.on, n, r.now, false), want)
}

func (r *robot) is(last int64, missing ...Gap) {
	r.t.Helper()
	if r.Last != last || !slices.Equal(r.Missing, missing) {
		r.t.Fatalf("last %d, missing %v; want %d, %v", r.Last, r.Missing, last, missing)
	}
}

func TestRUP_6_3_InOrder(t *testing.T) {
	t.Parallel()
	r := newRobot(t, weekly)
	r.want(r.Tick(r.now, r.on), "wait 210h") // a week and a quarter
	for n := int64(1); n < 5; n++ {
		r.after(7*oneDay).report(n, fmt.Sprintf("apply %d, wait 210h", n))
		r.is(n)
	}
	r.after(time.Minute).report(4, "ignore 4, wait 209h59m0s") // a duplicate
	r.report(1, "ignore 1, wait 209h59m0s")
	r.report(0, "ignore 0, wait 209h59m0s") // not numbered
}

func TestRUP_6_3_Overdue(t *testing.T) {
	t.Parallel()
	for l, want := range map[Latency]time.Duration{
		{1, Day}: 30 * hours, {2, Day}: 60 * hours, {1, Week}: 210 * hours, {1, Month}: 900 * hours, {}: 210 * hours,
	} {
		if got := overdue(l); got != want {
			t.Errorf("%v: %v, want %v", l, got, want)
		}
	}
	if overdue(Latency{9999, Month}) < 100*365*oneDay {
		t.Error("too long to be counted, so never waited for")
	}
}

func TestRUP_6_3_LateMailFillsTheGap(t *testing.T) {
	t.Parallel()
	r := newRobot(t, weekly)
	r.report(1, "apply 1, wait 210h")
	r.report(4, "apply 4, wait 1h")
	r.is(4, Gap{2, 3})
	r.after(time.Minute).report(3, "apply 3, wait 59m0s")
	r.is(4, Gap{2, 2})
	r.report(3, "ignore 3, wait 59m0s")
	r.after(time.Minute).report(2, "apply 2, wait 210h")
	r.is(4)
}

func TestRUP_6_3_GapIsRecovered(t *testing.T) {
	t.Parallel()
	r := newRobot(t, weekly)
	r.after(7*oneDay).report(1, "apply 1, wait 210h")
	r.after(7*oneDay).after(7*oneDay).report(3, "apply 3, wait 1h")
	r.after(59 * time.Minute)
	r.want(r.Tick(r.now, r.on), "wait 1m0s")
	r.after(time.Minute)
	r.want(r.Tick(r.now, r.on), "ask, wait 1h")
	// The answer equals last, and there are gaps: recover back to the last report before them, in
	// whole days.
	r.want(r.Answer(r.now, r.on, 3), "index 15-day, wait 1h")
	r.is(3, Gap{2, 2})
	r.want(r.Indexed(r.now, r.on), "wait 210h")
	r.is(3)
	r.after(7*oneDay).report(4, "apply 4, wait 210h")
}

func TestRUP_6_3_LastReportLost(t *testing.T) {
	t.Parallel()
	r := newRobot(t, weekly)
	r.after(7*oneDay).report(1, "apply 1, wait 210h")
	r.after(210 * hours)
	r.want(r.Tick(r.now, r.on), "ask, wait 1h")
	r.want(r.Answer(r.now, r.on, 2), "index 9-day, wait 1h")
	r.want(r.Indexed(r.now, r.on), "wait 210h")
	r.is(2) // last is the number in the answer to GetSequenceNumber
	r.after(5*oneDay).report(3, "apply 3, wait 210h")
}

func TestRUP_6_3_SilenceIsFine(t *testing.T) {
	t.Parallel()
	r := newRobot(t, weekly)
	r.after(210 * hours)
	r.want(r.Tick(r.now, r.on), "ask, wait 1h")
	r.want(r.Answer(r.now, r.on, 0), "wait 210h")
	r.is(0)
	r.want(r.Answer(r.now, r.on, 7), "wait 210h") // nobody had asked
	r.want(r.Indexed(r.now, r.on), "wait 210h")
	r.want(r.IndexFailed(r.now, r.on, refused), "wait 210h")
	r.want(r.AskFailed(r.now, r.on, refused), "wait 210h")
	r.is(0)
}

func TestRUP_6_3_SiteLostItsState(t *testing.T) {
	t.Parallel()
	r := newRobot(t, weekly)
	r.report(1, "apply 1, wait 210h")
	r.report(5, "apply 5, wait 1h")
	r.after(hours)
	r.want(r.Tick(r.now, r.on), "ask, wait 1h")
	r.want(r.Answer(r.now, r.on, 2), "reindex, wait 210h")
	r.is(2)
	r.after(7*oneDay).report(3, "apply 3, wait 210h")
}

// An answer that was sent before a report arrived is below last, which has no meaning.
func TestRUP_6_3_ReportOvertakesAnswer(t *testing.T) {
	t.Parallel()
	r := newRobot(t, weekly)
	r.report(1, "apply 1, wait 210h")
	r.after(210 * hours)
	r.want(r.Tick(r.now, r.on), "ask, wait 1h")
	r.report(2, "apply 2, wait 1h")
	r.want(r.Answer(r.now, r.on, 1), "wait 210h")
	r.is(2)
}

// A gap that appears during GetIndex, above the number that its answer covers, stays a gap.
func TestRUP_6_3_GapDuringRecovery(t *testing.T) {
	t.Parallel()
	r := newRobot(t, weekly)
	r.report(2, "apply 2, wait 1h")
	r.after(hours)
	r.want(r.Tick(r.now, r.on), "ask, wait 1h")
	r.want(r.Answer(r.now, r.on, 2), "index 1-day, wait 1h")
	r.report(4, "apply 4, wait 1h")
	r.want(r.Indexed(r.now, r.on), "wait 0s")
	r.is(4, Gap{3, 3})
	r.want(r.Tick(r.now, r.on), "ask, wait 1h")
	r.want(r.Answer(r.now, r.on, 4), "index 1-day, wait 1h")
	r.want(r.Indexed(r.now, r.on), "wait 210h")
	r.is(4)
}

func TestRUP_6_3_NoGetIndex(t *testing.T) {
	t.Parallel()
	lose := func(r *robot) {
		r.after(7*oneDay).report(1, "apply 1, wait 210h")
		r.after(210 * hours)
		r.want(r.Tick(r.now, r.on), "ask, wait 1h")
	}
	absent := newRobot(t, noIndex)
	lose(absent)
	absent.want(absent.Answer(absent.now, absent.on, 2), "reindex, wait 210h")
	absent.is(2)

	short := newRobot(t, Terms{Latency{1, Week}, Span{8, Day}})
	lose(short)
	short.want(short.Answer(short.now, short.on, 3), "reindex, wait 210h")
	short.is(3)

	exact := newRobot(t, Terms{Latency{1, Week}, Span{9, Day}})
	lose(exact)
	exact.want(exact.Answer(exact.now, exact.on, 3), "index 9-day, wait 1h")

	denied := newRobot(t, weekly)
	lose(denied)
	denied.want(denied.Answer(denied.now, denied.on, 3), "index 9-day, wait 1h")
	denied.want(denied.IndexFailed(denied.now, denied.on, refused), "reindex, wait 210h")
	denied.is(3)
}

func TestRUP_6_3_KeyRefused(t *testing.T) {
	t.Parallel()
	for _, err := range []error{refused, &Error{Status: 501}, ErrMalformed} {
		r := newRobot(t, weekly)
		r.report(1, "apply 1, wait 210h")
		r.after(210 * hours)
		r.want(r.Tick(r.now, r.on), "ask, wait 1h")
		r.want(r.AskFailed(r.now, r.on, err), "reindex, register")
	}
}

// After 5xx and similar errors: later, but not forever.
func TestRUP_6_3_SiteIsDown(t *testing.T) {
	t.Parallel()
	r := newRobot(t, weekly)
	r.report(1, "apply 1, wait 210h")
	r.after(210 * hours)
	r.want(r.Tick(r.now, r.on), "ask, wait 1h")
	r.want(r.AskFailed(r.now, r.on, &Error{Status: 503, RetryAfter: 3 * hours}), "wait 3h")
	r.after(3 * hours)
	for _, wait := range []string{"2h", "4h", "8h"} {
		r.want(r.Tick(r.now, r.on), "ask, wait "+wait)
		r.want(r.AskFailed(r.now, r.on, down), "wait "+wait)
		r.after(8 * hours)
	}
	r.want(r.Tick(r.now, r.on), "ask, wait 16h")
	r.after(16 * hours) // no answer at all: the request itself may have been lost
	r.want(r.Tick(r.now, r.on), "reindex, wait 210h")
	r.is(1)

	r = newRobot(t, weekly)
	r.report(2, "apply 2, wait 1h")
	r.after(hours)
	r.want(r.Tick(r.now, r.on), "ask, wait 1h")
	r.want(r.Answer(r.now, r.on, 2), "index 1-day, wait 1h")
	for _, want := range []string{"index 2-day, wait 2h", "index 3-day, wait 4h", "index 4-day, wait 8h", "index 5-day, wait 16h"} {
		r.want(r.IndexFailed(r.now, r.on, &Error{Status: 503, RetryAfter: 20 * hours}), "wait 20h")
		r.after(oneDay)
		r.want(r.Tick(r.now, r.on), want) // the span grows with the time
		r.is(2, Gap{1, 1})
	}
	r.want(r.IndexFailed(r.now, r.on, down), "reindex, wait 210h")
	r.is(2)
	// While a gap waits for an answer, the span may become too long for a retry.
	r = newRobot(t, Terms{Latency{1, Week}, Span{1, Day}})
	r.report(2, "apply 2, wait 1h")
	r.after(hours)
	r.want(r.Tick(r.now, r.on), "ask, wait 1h")
	r.want(r.Answer(r.now, r.on, 2), "index 1-day, wait 1h")
	r.want(r.IndexFailed(r.now, r.on, down), "wait 1h")
	r.after(oneDay)
	r.want(r.Tick(r.now, r.on), "reindex, wait 210h")
}

func TestRUP_6_3_Suspicious(t *testing.T) {
	t.Parallel()
	r := newRobot(t, weekly)
	r.report(1, "apply 1, wait 210h")
	r.report(1001, "apply 1001, wait 1h") // last+1000 is an ordinary gap
	r = newRobot(t, weekly)
	r.report(1, "apply 1, wait 210h")
	r.report(1002, "hold 1002, ask, wait 1h")
	r.report(1002, "ignore 1002, wait 1h")
	r.report(5000, "hold 5000, wait 1h")
	r.is(1)
}

func TestRUP_6_3_SuspiciousConfirmed(t *testing.T) {
	t.Parallel()
	r := newRobot(t, weekly)
	r.after(oneDay).report(1, "apply 1, wait 210h")
	r.after(oneDay).report(5000, "hold 5000, ask, wait 1h")
	r.report(1002, "hold 1002, wait 1h")
	// applied only if n <= answer
	r.want(r.Answer(r.now, r.on, 1002), "apply 1002, ignore 5000, index 1-day, wait 1h")
	r.is(1002, Gap{2, 1001})
	r.want(r.Indexed(r.now, r.on), "wait 210h")
	r.is(1002)

	r.report(9999, "hold 9999, ask, wait 1h")
	r.want(r.Answer(r.now, r.on, 1002), "ignore 9999, wait 210h")
	r.is(1002)
	r.report(9999, "hold 9999, ask, wait 1h")
	r.want(r.AskFailed(r.now, r.on, refused), "ignore 9999, reindex, register")
}

// The memory that strangers can fill is limited.
func TestRUP_6_3_Limits(t *testing.T) {
	t.Parallel()
	r := newRobot(t, weekly)
	for n := range int64(maxHeld) {
		r.Report(r.now, r.on, 5000+n, r.now, false)
	}
	r.report(9000, "ignore 9000, wait 1h")
	r = newRobot(t, weekly)
	for n := int64(2); n < 1000; n += 3 {
		r.Report(r.now, r.on, n, r.now, false)
	}
	if len(r.Missing) != maxGaps || r.Missing[0] != (Gap{1, 1}) || r.Missing[maxGaps-1].Last != r.Last-1 {
		t.Errorf("%d gaps: %v, last %d", len(r.Missing), r.Missing, r.Last)
	}
	r.Report(r.now, r.on, r.Missing[maxGaps-1].First+5, r.now, false)
	if len(r.Missing) != maxGaps {
		t.Errorf("%d gaps", len(r.Missing))
	}
}

func TestRUP_6_3_TruncatedReport(t *testing.T) {
	t.Parallel()
	r := newRobot(t, weekly)
	r.want(r.Report(r.now, r.on, 1, r.now, true), "apply 1, reindex, wait 210h")
	r.want(r.Report(r.now, r.on, 1, r.now, true), "ignore 1, wait 210h")
}

// A span reaches back to the last report before the first gap, whatever the dates.
func TestRUP_6_3_SpanCoversTheGap(t *testing.T) {
	t.Parallel()
	r := newRobot(t, weekly)
	r.after(7*oneDay).report(1, "apply 1, wait 210h")
	r.after(oneDay)
	// a clock that is ahead
	r.want(r.Report(r.now, r.on, 2, r.now.Add(100*oneDay), false), "apply 2, wait 210h")
	r.after(oneDay)
	// no date: since report 2, as a precaution
	r.want(r.Report(r.now, r.on, 3, time.Time{}, false), "apply 3, wait 210h")
	r.after(2*oneDay).report(5, "apply 5, wait 1h")
	r.after(hours)
	r.want(r.Tick(r.now, r.on), "ask, wait 1h")
	r.want(r.Answer(r.now, r.on, 5), "index 4-day, wait 1h")
}

// For any order of events: numbers only grow, no request is sent twice at the same time, there is
// always a time of the next check, and for a quiet site nothing is missing in the end.
func TestSequenceAtRandom(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		r := newRobot(t, []Terms{weekly, noIndex, {Latency{1, Day}, Span{2, Day}}}[seed%3])
		sent := int64(0)
		for range 200 {
			r.after(time.Duration(rnd.Int64N(int64(3 * oneDay))))
			last, doing := r.Last, r.Doing
			var steps []Step
			lost := false
			switch rnd.IntN(8) {
			case 0, 1, 2:
				sent++
				if rnd.IntN(4) > 0 {
					steps = r.Report(r.now, r.on, sent, r.now, false)
				}
			case 3:
				steps = r.Report(r.now, r.on, rnd.Int64N(sent+3000), r.now, rnd.IntN(9) == 0)
			case 4:
				steps = r.Answer(r.now, r.on, sent)
				lost = true
			case 5:
				steps = r.Indexed(r.now, r.on)
			case 6:
				steps = r.AskFailed(r.now, r.on, []error{down, refused}[rnd.IntN(2)])
			case 7:
				steps = r.IndexFailed(r.now, r.on, []error{down, refused}[rnd.IntN(2)])
			}
			steps = append(steps, r.Tick(r.now, r.on)...)
			if r.Last < last && !lost {
				t.Fatalf("seed %d: last falls from %d to %d", seed, last, r.Last)
			}
			end := steps[len(steps)-1]
			if end.Do != DoWait || end.At.Before(r.now) || len(r.Held) > maxHeld || len(r.Missing) > maxGaps {
				t.Fatalf("seed %d, %s: %s, %+v", seed, doing, short(r.now, steps), r.State)
			}
			for i, g := range r.Missing {
				if g.First > g.Last || g.Last >= r.Last || i > 0 && g.First <= r.Missing[i-1].Last+1 {
					t.Fatalf("seed %d: gaps %v below %d", seed, r.Missing, r.Last)
				}
			}
			if sent < r.Last {
				sent = r.Last // a forged report was accepted, because its number was not suspicious
			}
		}
		for range 20 { // the site works, and answers
			r.after(oneDay)
			for _, s := range r.Tick(r.now, r.on) {
				switch s.Do {
				case DoAsk:
					r.Answer(r.now, r.on, sent)
				case DoIndex:
					r.Indexed(r.now, r.on)
				}
			}
			if r.Doing == DoIndex {
				r.Indexed(r.now, r.on)
			}
		}
		if len(r.Missing) > 0 || len(r.Held) > 0 || r.Last != sent {
			t.Fatalf("seed %d: %+v, sent %d", seed, r.State, sent)
		}
	}
}
