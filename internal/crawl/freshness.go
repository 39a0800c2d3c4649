package crawl

import "time"

// Freshness are the settings of a Spec by which known pages are fetched again: at which intervals,
// and who reports that a page has changed.
type Freshness struct {
	// Recrawl: stored pages are kept fresh, and the crawl is never done.
	Recrawl bool `json:"recrawl,omitempty"`
	// RecrawlMin is the smallest interval between fetches of a page; 0 means DefaultRecrawlMin.
	// Only pages that seem to have gone, and pages that may differ at each fetch, are fetched once
	// more earlier, the former within an hour.
	RecrawlMin time.Duration `json:"recrawl_min,omitempty"`
	// RecrawlMax is the largest interval; 0 means DefaultRecrawlMax.
	RecrawlMax time.Duration `json:"recrawl_max,omitempty"`
	// Every is the length of a round: when a round begins, all finished URLs are fetched again. 0:
	// there are no rounds. It cannot be combined with Recrawl.
	Every time.Duration `json:"every,omitempty"`
	// EverySince is when the first round began.
	EverySince time.Time `json:"every_since,omitzero"`
	// Updates: sites that publish /rupinfo.txt are asked for their changes (formats §6). It has an
	// effect only if Recrawl is set.
	Updates bool `json:"updates,omitempty"`
	// UpdatesMail is the address for mailed reports, from which an address for each site is
	// derived. Empty: no reports are mailed, and sites are polled.
	UpdatesMail string `json:"updates_mail,omitempty"`
	// UpdatesLatency is day, week or month, if the site offers it. Empty: the shortest offered one.
	UpdatesLatency string `json:"updates_latency,omitempty"`
	// UpdatesOff are sites ("https://a.example") that are not asked for reports. UpdatesPrefer are
	// the latencies for single sites.
	UpdatesOff    []string          `json:"updates_off,omitempty"`
	UpdatesPrefer map[string]string `json:"updates_prefer,omitempty"`
	// Feeds: the feeds that pages announce are read regularly, if Recrawl is set.
	Feeds bool `json:"feeds,omitempty"`
	// UpdatesWebSub is the public URL for deliveries of hubs. Empty: there are no subscriptions.
	UpdatesWebSub string `json:"updates_websub,omitempty"`
}

// The defaults of Freshness.RecrawlMin and RecrawlMax.
const (
	DefaultRecrawlMin = time.Hour
	DefaultRecrawlMax = 30 * 24 * time.Hour
)

// Round is one round of a crawl with rounds (Freshness.Every).
type Round struct {
	Number int       `json:"number"` // from 1
	Began  time.Time `json:"began"`
	Next   time.Time `json:"next"` // when the next round begins
	// Over: everything in it is done.
	Over bool `json:"over,omitempty"`
}

// Refreshes reports whether finished URLs are fetched again: each page at its own times (Recrawl),
// or all of them in each round (Every).
func (f *Freshness) Refreshes() bool { return f.Recrawl || f.Every > 0 }

// RoundAt is the round at a time, without Over. ok is false if the crawl has no rounds.
func (f *Freshness) RoundAt(t time.Time) (r Round, ok bool) {
	if f.Every <= 0 {
		return r, false
	}
	n := max(t.Sub(f.EverySince), 0) / f.Every
	r.Number, r.Began = int(n)+1, f.EverySince.Add(n*f.Every)
	r.Next = r.Began.Add(f.Every)
	return r, true
}

// NextRound is when the first round after t begins. A URL that was last fetched at t is fetched
// again then. ok is false if the crawl has no rounds.
func (f *Freshness) NextRound(t time.Time) (next time.Time, ok bool) {
	r, ok := f.RoundAt(t)
	return r.Next, ok
}

// SetEvery gives a crawl rounds of that length. The first round begins now. A length of 0 ends the
// rounds. If the length is the current one, nothing changes.
func (f *Freshness) SetEvery(every time.Duration, now time.Time) {
	if every == f.Every {
		return
	}
	f.Every, f.EverySince = every, time.Time{}
	if every > 0 {
		f.EverySince = now.UTC().Truncate(time.Second)
	}
}

// ReadsFeeds reports whether the feeds that pages announce are read. Their entries have the depth
// of links on the page.
func (s *Spec) ReadsFeeds() bool {
	return s.Feeds && s.Recrawl && s.MaxDepth != 0 && s.Scope != "page"
}
