package urls

import (
	"fmt"
	rand "math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/times"
	"github.com/curtsy/curtsy/pkg/canon"
)

// TestIndexesAgree gives URLs one state after the other, at random: the queue, the waiting URLs,
// the counts and the plan always agree with the records, also after the file was opened again.
func TestIndexesAgree(t *testing.T) {
	t.Parallel()
	s := openShard(t, refetching())
	rng := rand.New(rand.NewPCG(1, 2))
	now := time.Unix(1_700_000_000, 0)
	verdict := func() Verdict {
		all := []Verdict{
			{Class: crawl.Queued},
			{Class: crawl.Queued, Reason: crawl.ReasonHTTP5xx, Due: now.Add(time.Duration(rng.IntN(100)+1) * time.Second)},
			{Class: crawl.Stored, From: now},
			{Class: crawl.Stored, Silent: true},
			{Class: crawl.Redirected, Reason: crawl.ReasonRedirect, From: now, Blank: true},
			{Class: crawl.Refused, Reason: crawl.ReasonRobots, From: now},
			{Class: crawl.Refused, Reason: crawl.ReasonScope},
			{Class: crawl.Failed, Reason: crawl.ReasonHTTP4xx, From: now, Blank: true},
		}
		return all[rng.IntN(len(all))]
	}
	var all []canon.URL
	for i := range 30 {
		u := canon.URL(fmt.Sprintf("http://%c.example/%d", 'a'+i%3, i))
		if i%5 == 0 {
			u = overTLS(u)
		}
		all = append(all, u)
		s.insert(u, verdict(), func(r *Record) {
			r.Depth, r.Rank, r.Rendering = i%4, uint16(i%2), crawl.Rendering(rng.IntN(4))
		})
	}
	s.check()
	for n := range 300 {
		s.change(all[rng.IntN(len(all))], func(h *hosts.Host, r *Record) error {
			switch rng.IntN(3) { // a fetch changes the copy before the class
			case 0:
				r.StoredCopy.Update(&crawl.Result{Class: crawl.Stored, Digest: 1, Rendering: crawl.Rendering(rng.IntN(4))})
			case 1:
				r.StoredCopy.Update(&crawl.Result{Class: crawl.Stored, NotModified: true})
			}
			if rng.IntN(4) == 0 {
				return nil // the class stays
			}
			return s.urls.SetState(h, r, verdict())
		})
		if n%30 == 0 {
			s.check()
		}
		if n%100 == 0 {
			s = s.reopened()
			s.check()
		}
	}
}

// overTLS is a URL of another origin of the same host.
func overTLS(u canon.URL) canon.URL {
	return canon.URL(strings.Replace(string(u), "http:", "https:", 1))
}

// TestSetState: what else a verdict changes.
func TestSetState(t *testing.T) {
	t.Parallel()
	const u = "http://a.example/x"
	at := time.Unix(1_700_000_000, 0)
	stored := func(t *testing.T) *testShard {
		s := openShard(t, refetching())
		s.insert(u, Verdict{Class: crawl.Stored, From: at}, func(r *Record) { r.Digest, r.ETag = 7, "e" })
		return s
	}
	set := func(s *testShard, v Verdict) Record {
		s.change(u, func(h *hosts.Host, r *Record) error { return s.urls.SetState(h, r, v) })
		_, _, r := s.find(u)
		return r
	}
	t.Run("what was fetched is forgotten", func(t *testing.T) {
		if r := set(stored(t), Verdict{Class: crawl.Failed, Reason: crawl.ReasonHTTP4xx, Blank: true}); r.StoredCopy != (StoredCopy{}) || r.Again != (Again{}) {
			t.Errorf("%+v, %+v", r.StoredCopy, r.Again)
		}
	})
	t.Run("or not, so that it is compared later", func(t *testing.T) {
		if r := set(stored(t), Verdict{Class: crawl.Refused, Reason: crawl.ReasonMirror}); r.Digest != 7 || r.Next != 0 {
			t.Errorf("digest %d, next %d, want no plan", r.Digest, r.Next)
		}
	})
	t.Run("a visit loses a URL that leaves the queue", func(t *testing.T) {
		for _, v := range []Verdict{{Class: crawl.Refused, Reason: crawl.ReasonScope}, {Class: crawl.Queued, Due: at}} {
			s := openShard(t, testSpec())
			s.insert(u, Verdict{Class: crawl.Queued})
			h, _, r := s.find(u)
			visit := &hosts.Visit{Host: h}
			visit.Add(u, r.Order)
			s.urls.AddInFlight(1)
			h.BeginVisit(visit)
			if set(s, v); s.urls.InFlight != 0 || len(visit.List) != 0 {
				t.Errorf("%d in flight, %d in the visit", s.urls.InFlight, len(visit.List))
			}
		}
	})
	t.Run("the crawl log", func(t *testing.T) {
		s := stored(t)
		set(s, Verdict{Class: crawl.Queued})
		set(s, Verdict{Class: crawl.Refused, Reason: crawl.ReasonScope, Silent: true})
		set(s, Verdict{Class: crawl.Refused, Reason: crawl.ReasonRobots, Detail: "line 2"})
		s.must(s.Commit(true))
		lines := strings.Split(strings.TrimSpace(s.log.String()), "\n")
		want := []string{`,"url":"http://a.example/x","state":"stored","depth":0}`, `,"url":"http://a.example/x","state":"refused","reason":"robots","detail":"line 2","depth":0}`}
		if len(lines) != len(want) {
			t.Fatalf("%d lines: %q", len(lines), lines)
		}
		for i, line := range lines {
			if !strings.HasSuffix(line, want[i]) {
				t.Errorf("%s, want ... %s", line, want[i])
			}
		}
	})
}

// TestWaitingURLs: a URL that waits comes into its queue when the wait is over and not before. If
// the spec no longer wants it, it is refused then.
func TestWaitingURLs(t *testing.T) {
	t.Parallel()
	s := openShard(t, testSpec())
	at := time.Unix(1_700_000_000, 0)
	for i, u := range []canon.URL{"http://a.example/2", "http://a.example/1", "http://b.example/"} {
		s.insert(u, Verdict{Class: crawl.Queued, Reason: crawl.ReasonHTTP5xx, Due: at.Add(time.Duration(2-i) * time.Minute)})
	}
	s = s.reopened()
	if !s.urls.Later.Equal(at) {
		t.Errorf("the first is due at %v, want %v", s.urls.Later, at)
	}
	s.respec(func(spec *crawl.Spec) { spec.Exclude = []string{"^http://b"} })
	want := func(name string, waiting int64, queued int64) {
		t.Helper()
		if s.Meta.Counts.Later != waiting || s.Meta.Counts.Queued != queued {
			t.Errorf("%s: %d waiting of %d queued, want %d of %d", name, s.Meta.Counts.Later, s.Meta.Counts.Queued, waiting, queued)
		}
		s.check()
	}
	s.must(s.urls.EnqueueLater(at.Add(-time.Second)))
	want("before", 3, 3)
	s.must(s.urls.EnqueueLater(at.Add(time.Minute)))
	want("after a minute", 1, 2)
	if _, _, r := s.find("http://b.example/"); r.Class != crawl.Refused || r.Reason != crawl.ReasonScope {
		t.Errorf("out of scope: %v, %s", r.Class, r.Reason)
	}
	if _, _, r := s.find("http://a.example/1"); r.Waiting() || r.Reason != crawl.ReasonHTTP5xx {
		t.Errorf("queued: due %v, reason %q", r.Due, r.Reason)
	}
	s.must(s.urls.EnqueueLater(at.Add(time.Hour)))
	want("after an hour", 0, 2)
	if !s.urls.Later.IsZero() {
		t.Errorf("nothing waits, and the first is due at %v", s.urls.Later)
	}
}

// TestShiftWaitingURLs: another clock changes the time of each URL that waits, in its record and
// its key.
func TestShiftWaitingURLs(t *testing.T) {
	t.Parallel()
	s := openShard(t, testSpec())
	at := time.Unix(1_700_000_000, 0)
	s.insert("http://a.example/1", Verdict{Class: crawl.Queued, Due: at})
	s.insert("http://a.example/2", Verdict{Class: crawl.Queued, Due: at.Add(time.Minute)})
	s = s.reopened()
	s.must(SeeLater(s.Tx, times.ShiftBy(time.Hour)), s.Commit(true))
	s = s.reopened()
	s.check()
	if _, _, r := s.find("http://a.example/2"); !r.Due.Equal(at.Add(time.Minute+time.Hour)) || !s.urls.Later.Equal(at.Add(time.Hour)) {
		t.Errorf("due at %v, the first at %v", r.Due, s.urls.Later)
	}
}
