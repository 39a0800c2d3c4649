package urls

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/pkg/canon"
)

const day = 24 * time.Hour

// TestPace: the pace nearest to an interval has about that interval, from a second to a year.
func TestPace(t *testing.T) {
	t.Parallel()
	for _, d := range []time.Duration{time.Second, time.Minute, time.Hour, day, 30 * day, 365 * day} {
		if got := PaceOf(d).Interval(); got > d*6/5 || got < d*5/6 {
			t.Errorf("the interval of the pace of %v is %v", d, got)
		}
	}
	if PaceOf(day) != paceDay || PaceOf(0) != 1 || PaceOf(100*365*day) != PaceMost {
		t.Errorf("paces of a day, nothing, a century: %d, %d, %d", PaceOf(day), PaceOf(0), PaceOf(100*365*day))
	}
	if v := paceDay.Value(int64(day / time.Second)); v != 1 || PaceOf(time.Hour).Value(3600) < 5*PaceOf(day).Value(3600) {
		t.Errorf("after its interval a page has value %v; an hour late counts as much for a page of a day as of an hour", v)
	}
	if !math.IsInf(PaceNow.Value(0), 1) || !math.IsInf(PaceHint.Value(0), 1) {
		t.Error("what is to be fetched at once does not come first")
	}
}

// TestNextPace: a page that has not changed waits half an octave longer, one that has changed one
// and a half octaves shorter. The time that has really passed counts.
func TestNextPace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from, passed time.Duration
		changed      bool
		want         time.Duration
	}{
		{4 * day, 4 * day, false, 4 * day * 1414 / 1000}, {8 * day, 8 * day, true, 8 * day * 354 / 1000},
		{day, 8 * day, false, 8 * day * 1414 / 1000}, // it was fetched late
		{8 * day, day, true, day * 354 / 1000},       // it was fetched early
		{day, 8 * day, true, day * 354 / 1000},       // a change in so long a time is no surprise
		{365 * day, 365 * day, false, 365 * day}, {time.Second, time.Second, true, time.Second},
	} {
		got := next(PaceOf(c.from), c.passed, c.changed).Interval()
		if got > c.want*6/5 || got < c.want*5/6 {
			t.Errorf("a page of %v after %v, changed %v: then %v, want %v", c.from, c.passed, c.changed, got, c.want)
		}
	}
}

// TestPlan: when a URL is fetched again, by its class and the settings.
func TestPlan(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_700_000_000, 0)
	page := func(set func(r *Record)) func(*Record) {
		return func(r *Record) {
			r.Class, r.FetchedAt = crawl.Stored, at.UnixMilli()
			if set != nil {
				set(r)
			}
		}
	}
	for _, c := range []struct {
		name string
		set  func(r *Record)
		spec func(s *crawl.Spec)
		want time.Duration // after at; 0: never
	}{
		{"a page", page(nil), nil, FirstInterval},
		{"a page whose pace is known", page(func(r *Record) { r.Usual = PaceOf(16 * day) }), nil, 16 * day},
		{"less than RecrawlMin", page(func(r *Record) { r.Usual = PaceOf(time.Minute) }), func(s *crawl.Spec) { s.RecrawlMin = time.Hour }, time.Hour},
		{"more than RecrawlMax", page(func(r *Record) { r.Usual = PaceOf(64 * day) }), func(s *crawl.Spec) { s.RecrawlMax = 20 * day }, 20 * day},
		{"a page that is tested for noise", page(func(r *Record) { r.Noise = NoiseTried }), nil, time.Nanosecond},
		{"an error", page(func(r *Record) { r.Class, r.Reason = crawl.Failed, crawl.ReasonHTTP4xx }), func(s *crawl.Spec) { s.RecrawlMax = 20 * day }, 20 * day},
		{"noindex, which may be withdrawn", page(func(r *Record) { r.Class, r.Reason = crawl.Refused, crawl.ReasonNoindex }), nil, FirstInterval},
		{"out of scope", page(func(r *Record) { r.Class, r.Reason = crawl.Refused, crawl.ReasonScope }), nil, 0},
		{"a page that left the scope", page(nil), func(s *crawl.Spec) { s.Exclude = []string{"a.example"} }, 0},
		{"too deep", page(func(r *Record) { r.Depth = 3 }), func(s *crawl.Spec) { s.MaxDepth = 2 }, 0},
		{"forgotten", page(nil), func(s *crawl.Spec) { s.Forgotten = []string{"a.example"} }, 0},
		{"without re-crawl", page(nil), func(s *crawl.Spec) { s.Recrawl = false }, 0},
		{"never fetched", page(func(r *Record) { r.FetchedAt = 0 }), nil, FirstInterval},
		{"fetched by a clock that was ahead", page(func(r *Record) { r.FetchedAt = at.Add(time.Hour).UnixMilli() }), nil, FirstInterval},
		{"a page in rounds", page(nil), func(s *crawl.Spec) { s.Every, s.EverySince = 7*day, at.Add(-6*day) }, day},
	} {
		spec := refetching()
		if c.spec != nil {
			c.spec(&spec)
		}
		s := openShard(t, spec)
		s.insert("http://a.example/", Verdict{Class: crawl.Stored}, func(r *Record) { r.Class = crawl.Stored })
		h, _, r := s.find("http://a.example/")
		c.set(&r)
		s.must(s.recrawl.Plan(h, &r, at))
		if got := time.Unix(r.Next, 0).Sub(at); c.want == 0 && r.Next != 0 || c.want != 0 && got != c.want.Truncate(time.Second) {
			t.Errorf("%s: fetched again after %v (%d), want %v", c.name, got, r.Next, c.want)
		}
	}
}

// TestDueAgain: of the pages that are due, a visit takes those first of whose interval the largest
// part has passed, and no more than it may have.
func TestDueAgain(t *testing.T) {
	t.Parallel()
	s := openShard(t, refetching())
	now := time.Unix(1_700_000_000, 0)
	for name, c := range map[string]struct {
		pace  Pace
		after time.Duration // from now on
	}{
		"hour": {PaceOf(time.Hour), -3 * time.Hour}, "day": {PaceOf(day), -3 * time.Hour}, "week": {PaceOf(7 * day), -2 * day},
		"now": {PaceNow, -time.Second}, "later": {PaceOf(time.Hour), time.Second},
	} {
		u := canon.URL("http://a.example/" + name)
		s.insert(u, Verdict{Class: crawl.Stored}, func(r *Record) { r.ETag, r.Attempts = name, 1 })
		s.change(u, func(h *hosts.Host, r *Record) error { return s.urls.PlanAt(h, r, now.Add(c.after).Unix(), c.pace) })
	}
	s = s.reopened()
	h, _, _ := s.find("http://a.example/now")
	if first, n := s.recrawl.AgainOf(h); n != 5 || !first.Equal(now.Add(-2*day)) {
		t.Errorf("%d are planned, the first at %v", n, first)
	}
	take := func(limit int) (names []string) {
		var v crawl.Visit
		var used [hosts.MaxOrigins]bool
		bytes := 0
		s.must(s.recrawl.PickAgain(h, s.recrawl.DueAgain(h, limit, now), limit, now, &v, &used, &bytes))
		for _, u := range v.URLs {
			if !u.Keep || u.URL != canon.URL("http://a.example/"+u.ETag) || u.Attempts != 0 || !used[0] {
				t.Errorf("%+v", u)
			}
			names = append(names, u.ETag)
		}
		return names
	}
	if got := take(9); !slices.Equal(got, []string{"now", "hour", "week", "day"}) {
		t.Errorf("taken: %v", got)
	}
	if got := take(2); !slices.Equal(got, []string{"now", "hour"}) {
		t.Errorf("of two at most: %v", got)
	}
	s.vouched = now.Add(time.Hour).Unix()
	if got := take(9); len(got) != 0 {
		t.Errorf("the site vouches that nothing changed, and %v are fetched", got)
	}
	if _, _, r := s.find("http://a.example/day"); r.Next != s.vouched || r.Pace != PaceOf(day) {
		t.Errorf("fetched again at %d (pace %d), want when the site vouches no more", r.Next, r.Pace)
	}
	s.check()
}

// TestPlanPass: after a change of the settings all plans are made anew, in stretches.
func TestPlanPass(t *testing.T) {
	t.Parallel()
	s := openShard(t, refetching())
	now := time.Unix(1_700_000_000, 0)
	for i := range 5 {
		s.insert(canon.URL(fmt.Sprintf("http://a.example/%d", i)), Verdict{Class: crawl.Stored, From: now}, func(r *Record) { r.FetchedAt = now.UnixMilli() })
	}
	s.insert("http://a.example/hint", Verdict{Class: crawl.Stored, From: now})
	soon := now.Add(time.Hour).Unix()
	s.change("http://a.example/hint", func(h *hosts.Host, r *Record) error { return s.urls.PlanHint(h, r, soon, crawl.SourceFeed) })
	pass := func() (changed bool) {
		s.must(s.recrawl.BeginPlanning())
		changed = s.Meta.Plan.Running
		for more := true; more; {
			var err error
			more, err = s.recrawl.PlanSome(now)
			s.must(err)
		}
		s.check()
		return changed
	}
	pass()
	if pass() {
		t.Error("the pass runs again without a change")
	}
	s.respec(func(spec *crawl.Spec) { spec.RecrawlMin = 5 * day })
	if !pass() {
		t.Error("the pass does not run after a change")
	}
	if _, _, r := s.find("http://a.example/3"); r.Next != now.Add(5*day).Unix() {
		t.Errorf("fetched again at %v", time.Unix(r.Next, 0))
	}
	if _, _, r := s.find("http://a.example/hint"); r.Next != soon || r.Hint != crawl.SourceFeed {
		t.Errorf("reported as changed, it is fetched again at %v", time.Unix(r.Next, 0))
	}
	if s.recrawl.ClockWas(ahead); pass() {
		t.Error("a clock that is a little ahead makes all plans anew")
	}
	if s.recrawl.ClockWas(ahead + 1); !pass() {
		t.Error("a clock that was far ahead makes no plans anew")
	}
}
