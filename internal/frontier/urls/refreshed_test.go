package urls

import (
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
)

// text is a page by its digest and the 64 bits of its text.
func text(digest, likeness uint64) *crawl.Result {
	return &crawl.Result{Class: crawl.Stored, Status: 200, Digest: digest, Likeness: likeness}
}

// TestNoise: a page whose text hardly changes is fetched a few times in a row. If it has changed
// each time, such changes are noise. If not, they are real, and the test is not repeated at once.
func TestNoise(t *testing.T) {
	t.Parallel()
	const alike = 0x0123_4567_89ab_cdef
	other := text(3, ^uint64(alike))
	r := Record{StoredCopy: StoredCopy{Digest: 1, Likeness: alike}}
	if changed, sure := heard(&r, true, text(2, alike), false); !changed || sure || r.Noise != NoiseTried || !tried(&r) {
		t.Fatalf("the first small change: changed %v, sure %v, noise %d", changed, sure, r.Noise)
	}
	tested := r
	for n := NoiseTried + 1; n < Noisy; n++ {
		if _, sure := heard(&r, true, text(2, alike), true); sure || r.Noise != n {
			t.Fatalf("during the test: sure %v, noise %d", sure, r.Noise)
		}
	}
	r.Usual = 40
	if changed, sure := heard(&r, true, text(2, alike), true); changed || !sure || r.Noise != Noisy || r.Usual != 0 {
		t.Errorf("the last one: changed %v, sure %v, noise %d, pace %d", changed, sure, r.Noise, r.Usual)
	}
	if changed, sure := heard(&r, true, text(2, alike), false); changed || !sure {
		t.Error("a small change of a noisy page counts")
	}
	if changed, sure := heard(&r, true, other, false); !changed || !sure || r.Noise != Noisy {
		t.Error("a large change of a noisy page does not count")
	}
	for name, c := range map[string]struct {
		is, soon bool
		res      *crawl.Result
		changed  bool
	}{
		"no change": {false, true, text(1, alike), false}, "a large change": {true, true, other, true}, "a small change, too late": {true, false, text(2, alike), true},
	} {
		r := tested
		if changed, sure := heard(&r, c.is, c.res, c.soon); changed != c.changed || !sure || r.Noise != NoiseEarnest {
			t.Errorf("%s ends the test: changed %v, sure %v, noise %d", name, changed, sure, r.Noise)
		}
		small := 0
		for !tried(&r) {
			heard(&r, true, text(2, alike), false)
			small++
		}
		if small != int(NoiseTried-NoiseEarnest) {
			t.Errorf("%s: tested again after %d small changes", name, small)
		}
	}
}

// TestRefreshed: what a page's next interval is made of.
func TestRefreshed(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_700_000_000, 0)
	for _, c := range []struct {
		name           string
		res            *crawl.Result
		passed         time.Duration
		hinted         bool
		asked, changed uint64
		usual          Pace
	}{
		{"unchanged", text(1, 0), day, false, 1, 0, paceDay + unchangedStep},
		{"304", &crawl.Result{Class: crawl.Stored, Status: 304, NotModified: true}, day, false, 1, 0, paceDay + unchangedStep},
		{"changed", text(2, 0), day, false, 1, 1, paceDay - changedStep},
		{"changed, as was reported", text(2, 0), time.Hour, true, 1, 1, paceDay - changedStep},
		{"unchanged, although it was reported", text(1, 0), time.Hour, true, 1, 0, paceDay + unchangedStep},
		{"a digest is unknown", text(0, 0), day, false, 0, 0, paceDay},
	} {
		s := openShard(t, refetching())
		s.insert("http://a.example/", Verdict{Class: crawl.Stored}, func(r *Record) {
			r.Digest, r.Attempts, r.Gone, r.FetchedAt = 1, 4, true, at.UnixMilli()
		})
		h, _, r := s.find("http://a.example/")
		r.Usual, r.Pace, r.Hint = paceDay, paceDay, crawl.SourceFeed
		if c.hinted {
			r.Pace = PaceHint
		}
		was := Before(&r)
		r.FetchedAt = at.Add(c.passed).UnixMilli()
		s.must(s.recrawl.Refreshed(h, &r, c.res, was))
		if r.Asked != c.asked || r.Changed != c.changed || r.Usual != c.usual || r.Attempts != 1 || r.Gone {
			t.Errorf("%s: asked %d, changed %d, pace %d (want %d), attempts %d, gone %v", c.name, r.Asked, r.Changed, r.Usual, c.usual, r.Attempts, r.Gone)
		}
		ch, err := s.recrawl.Channel(h, &h.Origins[0], crawl.SourceFeed)
		s.must(err)
		if want := map[bool]uint64{true: 1}[c.hinted]; ch.Looked != want || ch.Confirmed != want*c.changed {
			t.Errorf("%s: the feed was looked into %d times and right %d times", c.name, ch.Looked, ch.Confirmed)
		}
	}
}

// TestKeepCopy: a failure leaves the copy, and the page is requested again soon, ever later.
func TestKeepCopy(t *testing.T) {
	t.Parallel()
	s := openShard(t, refetching())
	now := time.Unix(1_700_000_000, 0)
	const u = "http://a.example/"
	s.insert(u, Verdict{Class: crawl.Stored, From: now})
	fail := func(res crawl.Result, o crawl.Outcome) time.Duration {
		t.Helper()
		h, k, r := s.find(u)
		s.must(s.recrawl.KeepCopy(h, k, &r, crawl.VisitID{Epoch: 1, N: 2}, &res, &o, now))
		s.check()
		if _, _, r = s.find(u); r.Class != crawl.Stored || r.Pace != PaceNow || r.Visit.N != 2 {
			t.Errorf("%+v", r)
		}
		return time.Unix(r.Next, 0).Sub(now)
	}
	busy := crawl.Result{Class: crawl.Retry, Reason: crawl.ReasonHTTP5xx, Rule: "busy"}
	// Never before RecrawlMin (1 h), and never later than RecrawlMax (30 days).
	waits := []time.Duration{time.Hour, time.Hour, time.Hour, 80 * time.Minute, 320 * time.Minute, 1280 * time.Minute, 5120 * time.Minute, 20480 * time.Minute, 30 * day, 30 * day}
	for n, want := range waits {
		if got := fail(busy, crawl.Outcome{}); got != want {
			t.Errorf("failure %d: requested again after %v, want %v", n+1, got, want)
		}
	}
	if _, _, r := s.find(u); r.Attempts != len(waits) || r.Detail != string(crawl.ReasonHTTP5xx)+": busy" {
		t.Errorf("%d attempts, %q", r.Attempts, r.Detail)
	}
	if got := fail(busy, crawl.Outcome{RetryAfter: 100 * day}); got != 100*day {
		t.Errorf("the site asked for 100 days, and the page is requested after %v", got)
	}
	gone := crawl.Result{Class: crawl.Failed, Reason: crawl.ReasonHTTP4xx, Kept: true}
	if got := fail(gone, crawl.Outcome{}); got != min(VerifyGone, crawl.DefaultRecrawlMin) {
		t.Errorf("a page that is gone is requested once more after %v", got)
	}
	if _, _, r := s.find(u); !r.Gone {
		t.Error("it is not noted that the page is gone")
	}
}

// TestHint: a report brings a page forward if it is newer than the copy, and its source was right
// often enough.
func TestHint(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	fetched := now.Add(-10 * day)
	const u = "http://a.example/"
	for _, c := range []struct {
		name   string
		mod    time.Time
		source crawl.Source
		class  crawl.Class
		wrong  int
		want   bool
	}{
		{"changed since", fetched.Add(time.Hour), crawl.SourceSitemap, crawl.Stored, 0, true},
		{"changed before", fetched.Add(-time.Hour), crawl.SourceSitemap, crawl.Stored, 0, false},
		{"a report within the second of the fetch", fetched, crawl.SourceRUP, crawl.Stored, 0, true},
		{"changed in the future", now.Add(3 * day), crawl.SourceSitemap, crawl.Stored, 0, false},
		{"no date", time.Unix(0, 0), crawl.SourceSitemap, crawl.Stored, 0, false},
		{"a page that was gone, in a sitemap", fetched.Add(time.Hour), crawl.SourceSitemap, crawl.Failed, 0, false},
		{"a page that was gone, reported", fetched.Add(time.Hour), crawl.SourceIndexNow, crawl.Failed, 0, true},
		{"a source that is sometimes wrong", fetched.Add(time.Hour), crawl.SourceSitemap, crawl.Stored, HintsTried, true},
		{"a source that is always wrong", fetched.Add(time.Hour), crawl.SourceSitemap, crawl.Stored, HintsTried + 1, false},
		{"a site that reports has no other channel", fetched.Add(time.Hour), crawl.SourceRUP, crawl.Stored, HintsTried + 1, true},
	} {
		s := openShard(t, refetching())
		s.insert(u, Verdict{Class: c.class, Reason: map[bool]crawl.Reason{true: crawl.ReasonHTTP4xx}[c.class == crawl.Failed]}, func(r *Record) { r.FetchedAt = fetched.UnixMilli() })
		s.change(u, func(h *hosts.Host, r *Record) error {
			return s.urls.PlanAt(h, r, now.Add(20*day).Unix(), PaceOf(30*day))
		})
		h, k, r := s.find(u)
		for range c.wrong {
			s.must(s.recrawl.Hinted(h, &r, before{by: c.source}, false))
		}
		s.must(s.recrawl.Hint(h, k, r.Append(nil), c.mod.Unix(), c.source, now))
		s.check()
		_, _, r = s.find(u)
		if got := r.Pace == PaceHint && r.Hint == c.source && r.Next < now.Add(20*day).Unix(); got != c.want || s.recrawl.Sooner != map[bool]int64{true: 1}[c.want] {
			t.Errorf("%s: fetched earlier %v (counted %d), want %v", c.name, got, s.recrawl.Sooner, c.want)
		}
	}
}

// TestChannelForgets: older reports count less, so that a source which became right is believed
// again.
func TestChannelForgets(t *testing.T) {
	t.Parallel()
	s := openShard(t, refetching())
	s.insert("http://a.example/", Verdict{Class: crawl.Stored})
	h, _, r := s.find("http://a.example/")
	note := func(n int, changed bool) (c Channel) {
		for range n {
			s.must(s.recrawl.Hinted(h, &r, before{by: crawl.SourceFeed}, changed))
		}
		c, err := s.recrawl.Channel(h, &h.Origins[0], crawl.SourceFeed)
		s.must(err)
		return c
	}
	if c := note(1000, false); !c.Distrusted() || c.Looked != 1000 {
		t.Errorf("always wrong: %+v", c)
	}
	if c := note(10*HintsTried, true); c.Distrusted() || c.Looked != 1000+10*HintsTried || c.Confirmed != 10*HintsTried {
		t.Errorf("right since: %+v", c)
	}
	s.must(s.recrawl.AddSooner(h, &h.Origins[0], crawl.SourceFeed, 3), s.recrawl.AddSooner(h, &h.Origins[0], crawl.SourceRUP, 3))
	if c := note(0, false); c.Sooner != 3 {
		t.Errorf("fetched earlier: %d", c.Sooner)
	}
}
