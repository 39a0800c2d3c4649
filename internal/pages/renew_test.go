package pages

import (
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

const a = "https://example.org/a"

// A 304 keeps the copy and gives it a new date. Followers of the change feed need not read it.
func TestRenewed(t *testing.T) {
	s := openTemp(t)
	p := page(a, 1, "body")
	p.Claims = []byte("x")
	put(t, s, p)
	again := renewal(a, 2)
	again.ETag = `"new"`
	if r := put(t, s, again); r != (Result{Unchanged: 1}) {
		t.Errorf("Put = %+v", r)
	}
	got, ok, err := s.Get(a)
	if !ok || err != nil || got.Visit.N != 2 || !got.FetchedAt.Equal(day.Add(2*time.Hour)) || got.ETag != `"new"` || got.LastModified != p.LastModified ||
		got.Title != p.Title || got.Seq != 1 || len(got.Body) != len(p.Body) || got.Status != 200 {
		t.Errorf("Get = %+v, %v, %v", got, ok, err)
	}
	n := 0
	s.Datasets().EachClaimed(func(p Page) error { n++; return nil })
	if n != 1 {
		t.Errorf("%d pages with claims", n)
	}
	if r := put(t, s, renewal(a, 2), renewal(a, 1), page(a, 1, "late")); r != (Result{Late: 3}) {
		t.Errorf("again: %+v", r)
	}
	// In one batch with the copy that it renews, in any order.
	if r := put(t, s, renewal(a, 4), page(a, 3, "three"), renewal(a, 2)); r != (Result{Stored: 1, Unchanged: 1, Late: 1}) {
		t.Errorf("with the page it renews: %+v", r)
	}
	if got, _, _ := s.Get(a); got.Visit.N != 4 || got.Size != 5 {
		t.Errorf("%+v", got)
	}
}

// Section 4.2: a 304 with the field replaces the part of the header, one without keeps it. The part
// of the markup stays.
func TestRobotsTag_4_2_NotModified(t *testing.T) {
	soon, later := day.Add(24*time.Hour), day.Add(48*time.Hour)
	type word struct {
		bits  crawl.DirectiveBits
		until time.Time
		max   int
	}
	for _, c := range []struct {
		name         string
		header, meta word
		tagged       bool
		again        word // of the 304's header
		held         bool
		want         word
	}{
		{"no field: all is kept", word{crawl.NoSnippet, soon, 0}, word{}, false, word{}, true, word{crawl.NoSnippet, soon, 0}},
		{"replaced", word{crawl.NoSnippet, soon, 0}, word{}, true, word{crawl.NoArchive, time.Time{}, 0}, true, word{crawl.NoArchive, time.Time{}, 0}},
		{"emptied", word{crawl.NoSnippet, time.Time{}, 0}, word{}, true, word{}, true, word{}},
		{"the markup stays", word{crawl.NoArchive, later, 0}, word{crawl.NoSnippet, soon, 0}, true, word{}, true, word{crawl.NoSnippet, soon, 0}},
		{"the earlier date counts", word{}, word{0, later, 0}, true, word{0, soon, 0}, true, word{0, soon, 0}},
		{"no field: the length stays", word{0, time.Time{}, 20}, word{0, time.Time{}, 50}, false, word{}, true, word{0, time.Time{}, 20}},
		{"the markup's length stays", word{0, time.Time{}, 20}, word{0, time.Time{}, 50}, true, word{}, true, word{0, time.Time{}, 50}},
		{"the smaller length counts", word{}, word{0, time.Time{}, 50}, true, word{0, time.Time{}, 30}, true, word{0, time.Time{}, 30}},
		{"a greater length widens nothing", word{}, word{0, time.Time{}, 50}, true, word{0, time.Time{}, 80}, true, word{0, time.Time{}, 50}},
		{"noindex appears", word{}, word{}, true, word{crawl.NoIndex, time.Time{}, 0}, false, word{}},
		{"its time has come", word{}, word{}, true, word{0, day, 0}, false, word{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := openTemp(t)
			p := page(a, 1, "body")
			p.Directives, p.UnavailableAfter = c.header.bits|c.meta.bits, earlier(c.header.until, c.meta.until)
			p.MetaDirectives, p.MetaUnavailableAfter = c.meta.bits, c.meta.until
			p.MaxSnippet, p.MetaMaxSnippet = smaller(c.header.max, c.meta.max), c.meta.max
			put(t, s, p)
			again := renewal(a, 2)
			again.Tagged, again.Directives, again.UnavailableAfter = c.tagged, c.again.bits, c.again.until
			again.MaxSnippet = c.again.max
			put(t, s, again)
			got, ok, err := s.Get(a)
			if err != nil || ok != c.held {
				t.Fatalf("held %v, want %v (%v)", ok, c.held, err)
			}
			if !ok {
				if ch := changes(t, s, 1); len(ch) != 1 || ch[0].Deleted != crawl.ReasonNoindex {
					t.Errorf("journal: %+v", ch)
				}
				return
			}
			if got.Directives != c.want.bits || !got.UnavailableAfter.Equal(c.want.until) || got.MaxSnippet != c.want.max {
				t.Errorf("%b until %v, at most %d, want %+v", got.Directives, got.UnavailableAfter, got.MaxSnippet, c.want)
			}
			// And once more: the part of the markup is still known.
			again = renewal(a, 3)
			again.Tagged = true
			put(t, s, again)
			if got, _, _ := s.Get(a); got.Directives != c.meta.bits || !got.UnavailableAfter.Equal(c.meta.until) || got.MaxSnippet != c.meta.max {
				t.Errorf("at last %b until %v, at most %d, want %+v", got.Directives, got.UnavailableAfter, got.MaxSnippet, c.meta)
			}
		})
	}
}

// A 304 for a page that is not stored is reported to the frontier, unless the page must not be
// stored.
func TestRenewedWithoutACopy(t *testing.T) {
	s := openTemp(t)
	noindex := page("https://example.org/noindex", 1, "x")
	noindex.Directives, noindex.Body = crawl.NoIndex, nil
	put(t, s, noindex, gone("https://example.org/404", 1, crawl.ReasonHTTP4xx))
	opened := renewal("https://example.org/noindex", 3)
	opened.Tagged = true
	for _, c := range []struct {
		again   Page
		missing bool
	}{
		{renewal("https://example.org/never", 2), true},
		{renewal("https://example.org/404", 2), true},
		{renewal("https://example.org/noindex", 2), false},
		{opened, true},
		{renewal("https://example.org/never", 2), true}, // delivered again, told again
	} {
		before, err := s.Outbox().First(100)
		if err != nil {
			t.Fatal(err)
		}
		r := put(t, s, c.again)
		after, _ := s.Outbox().First(100)
		if want := len(before) + int(bit(c.missing)); len(after) != want || (r.Missing == 1) != c.missing {
			t.Errorf("%s visit %d: %+v, %d letters, want %d", c.again.URL, c.again.Visit.N, r, len(after), want)
		} else if c.missing {
			if l := after[len(after)-1]; l.Kind != OutboxMissing || l.URL != c.again.URL || l.Visit != c.again.Visit {
				t.Errorf("letter %+v", l)
			}
		}
	}
	if st := s.Stats(); st.Pages != 0 || st.Outbox != 4 {
		t.Errorf("%+v", st)
	}
	// A page that comes after this is stored.
	put(t, s, page("https://example.org/never", 3, "x"))
	if _, ok, _ := s.Get("https://example.org/never"); !ok {
		t.Error("not stored")
	}
}

// The frontier is notified about pages that unavailable_after removes, because it counts them as
// stored.
func TestRemovedIsTold(t *testing.T) {
	s := openTemp(t)
	until := func(u string, visit uint64, t time.Time) Page {
		p := page(u, visit, u)
		p.UnavailableAfter, p.MetaUnavailableAfter = t, t
		return p
	}
	put(t, s, until(a, 1, day.Add(24*time.Hour)), until("https://example.org/b", 1, day.Add(90*time.Minute)))
	// two hours later: by its own markup it has expired
	put(t, s, renewal("https://example.org/b", 2))
	if n, err := s.Expire(day.Add(48*time.Hour), 10); n != 1 || err != nil {
		t.Errorf("Expire = %d, %v", n, err)
	}
	queued, err := s.Outbox().First(10)
	if err != nil || len(queued) != 2 || queued[0].URL != "https://example.org/b" || queued[0].Visit.N != 2 || queued[1].URL != a || queued[1].Kind != OutboxRemoved {
		t.Errorf("letters %+v, %v", queued, err)
	}
	if err := s.Outbox().Sent(queued[:1]); err != nil {
		t.Fatal(err)
	}
	if rest, _ := s.Outbox().First(10); len(rest) != 1 || rest[0] != queued[1] || s.Stats().Outbox != 1 {
		t.Errorf("left %+v", rest)
	}
	if err := s.Outbox().Sent(queued); err != nil || s.Stats().Outbox != 0 {
		t.Errorf("Sent = %v, %d left", err, s.Stats().Outbox)
	}
}
