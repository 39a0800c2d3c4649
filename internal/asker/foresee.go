package asker

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/dustin/go-humanize"
)

const (
	// If fewer than this part of the requests that the delays allow were sent, something else is
	// the bottleneck. This is decided only when seenEnough requests were expected, because a few
	// are early or late by chance.
	bound      = 0.6
	seenEnough = 15
	// growing is the part of the whole time from which a host matters whose size is not known.
	growing = 0.25
)

// foresee estimates when a crawl will be done, and names what it waits for. It uses the outlooks of
// the shards. Usually the delays of the hosts are the limit. If fewer requests were sent than all
// delays allow, the rate of these requests is the limit.
func foresee(st *crawl.Status, spec crawl.Spec) {
	o := st.Outlook
	st.Outlook = nil
	left := st.Queued + st.InFlight
	switch {
	case st.Trouble != "":
		st.Bottleneck = &crawl.Bottleneck{Kind: crawl.WaitsDisk, Sentence: st.Trouble}
		return
	case st.State == "paused":
		st.Bottleneck = &crawl.Bottleneck{Kind: crawl.WaitsPaused, Sentence: "paused; to continue, type: curtsy resume"}
		return
	case st.OpensAt != nil && st.State == "running" && left > 0:
		st.Bottleneck = &crawl.Bottleneck{Kind: crawl.WaitsHours, Queued: left, Sentence: fmt.Sprintf("requests are sent only %s (%s), the next at %s",
			spec.Hours, cmp.Or(spec.Timezone, "UTC"), st.OpensAt.UTC().Format("2006-01-02 15:04 MST"))}
		return
	case o == nil || st.State != "running":
		return
	case o.Left == 0 && left > 0 && len(st.Postponed) == 0:
		st.Bottleneck = &crawl.Bottleneck{Kind: crawl.WaitsPaused, Queued: left, Sentence: "waiting for hosts that are paused"}
		return
	case o.Left == 0:
		zero := 0.
		if st.ETA = &zero; len(st.Postponed) > 0 && left > 0 {
			st.Bottleneck = postponedBottleneck(st.Postponed)
		}
		return
	}
	pace := o.Pace()
	machine := o.Requests > 0 && pace*o.SpanS >= seenEnough && o.Requests < bound*pace
	done := func(seconds float64) float64 { return o.By(seconds) }
	rate := pace
	if machine {
		rate = o.Requests // of the time at work; st.Rate includes pauses
		done = func(seconds float64) float64 { return min(o.By(seconds), rate*seconds) }
	}
	eta := 0.
	if o.Last != nil {
		eta, st.Bottleneck = o.Last.LeftS, waitsFor(o.Last)
	}
	if rate <= 0 {
		return // unknown
	}
	// If delays are the limit, the host that takes longest decides. But evicted hosts are not part
	// of the sum.
	if t := o.Left / rate; t > eta && (machine || o.Last == nil || o.Left > o.By(math.Inf(1))) {
		eta = t
		st.Bottleneck = &crawl.Bottleneck{
			Kind: crawl.WaitsMachine, Queued: left, LeftS: t,
			Sentence: fmt.Sprintf("Curtsy's own speed is the limit: %s on %s, %.1f requests a second", count(left, "URL"), count(st.Hosts, "host"), rate),
		}
	}
	unknown := o.GrowingS > growing*eta
	if allowed, limit := within(st, spec); limit != "" && (allowed < o.Left || unknown) {
		t := allowed / rate // new URLs keep all hosts busy
		if allowed < o.Left {
			t = when(done, allowed, eta)
		}
		eta, unknown = t, false
		st.Bottleneck = &crawl.Bottleneck{Kind: crawl.WaitsLimit, LeftS: t, Sentence: limit}
	}
	if unknown {
		st.AtLeast = eta
		return
	}
	st.ETA = &eta
}

// within estimates how many more requests for URLs --max-pages and --max-bytes allow, with a
// sentence about it. The sentence is empty if there is no limit, or no data yet. Redirects and
// failures do not count towards these limits.
func within(st *crawl.Status, spec crawl.Spec) (requests float64, sentence string) {
	asked := float64(st.Stored + st.Redirected + st.Failed)
	if st.Stored == 0 {
		asked = 0
	}
	if spec.MaxPages > 0 && !spec.Refreshes() {
		room := max(spec.MaxPages-st.Stored, 0)
		requests, sentence = float64(room), fmt.Sprintf("--max-pages allows %s more", count(room, "page"))
		if asked > 0 {
			requests *= asked / float64(st.Stored)
		}
	}
	if spec.MaxBytes > 0 && asked > 0 && st.Bytes > 0 {
		room := max(spec.MaxBytes-st.Bytes, 0)
		if n := float64(room) / (float64(st.Bytes) / asked); sentence == "" || n < requests {
			requests, sentence = n, fmt.Sprintf("--max-bytes allows %s more", humanize.IBytes(uint64(room)))
		}
	}
	return requests, sentence
}

// when is the number of seconds after which so many requests are done. All requests take all
// seconds.
func when(done func(seconds float64) float64, requests, all float64) float64 {
	low, high := 0., all
	for range 40 {
		if mid := (low + high) / 2; done(mid) < requests {
			low = mid
		} else {
			high = mid
		}
	}
	return high
}

func waitsFor(b *crawl.Bottleneck) *crawl.Bottleneck {
	w := *b
	if w.Queued == 0 {
		w.Sentence = "waiting for " + w.Host
		return &w
	}
	w.Sentence = fmt.Sprintf("waiting for %s: %s at %s", w.Host, count(w.Queued, "page"), seconds(w.DelayS))
	return &w
}

// seconds writes a delay for people: 0.5 s, 10 s.
func seconds(s float64) string {
	return humanize.Ftoa(time.Duration(s*float64(time.Second)).Round(time.Millisecond).Seconds()) + " s"
}

func postponedBottleneck(list []crawl.PostponedHost) *crawl.Bottleneck {
	first := list[0]
	for _, h := range list {
		if h.Until.Before(first.Until) {
			first = h
		}
	}
	return &crawl.Bottleneck{
		Kind: crawl.WaitsPostponed, Host: first.Host, Queued: first.Queued,
		Sentence: fmt.Sprintf("%s cannot be visited now; %s may be visited again at %s", count(int64(len(list)), "host"), first.Host, first.Until.UTC().Format("2006-01-02 15:04 MST")),
	}
}

func count(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return humanize.Comma(n) + " " + what + "s"
}
