package urls

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
)

// ModOf is when the i-th of these links is said to have changed last, if that matters.
func (s *Recrawl) ModOf(l *crawl.Links, i int) int64 {
	if !s.ledger.Judge.Spec.Refreshes() || i >= len(l.Mods) {
		return 0
	}
	return l.Mods[i]
}

// RankOf is the rank that the i-th of these links has among the URLs of its depth that wait: what
// pages link to comes first; then what sitemaps name, what changed last before what has not changed
// for long, and last what has no date. A rank says how many periods before the end of its range
// that was, so it means the same at any time. Within a period it is first come, first served: were
// it by the day, a large sitemap would scatter over the queue, and much more of the store would be
// in memory until the commit.
func RankOf(l *crawl.Links, i int) uint16 {
	const none, period = math.MaxUint16, 4 * 7 * 24 * 60 * 60
	switch {
	case l.Source != crawl.SourceSitemap:
		return 0
	case i >= len(l.Mods) || l.Mods[i] <= 0:
		return none
	}
	return uint16(none - min(l.Mods[i]/period+1, none-1))
}

// ByChange numbers the offers of a sitemap anew, what changed last first.
func ByChange(offers []hosts.Link, l *crawl.Links) {
	if len(offers) == 0 || len(l.Mods) != len(l.URLs) {
		return
	}
	first := offers[0].Order
	slices.SortStableFunc(offers, func(a, b hosts.Link) int { return cmp.Compare(l.Mods[b.I], l.Mods[a.I]) })
	for i := range offers {
		offers[i].Renumber(first + uint64(i))
	}
}

// Hint notes that a page is said to have changed at a time (Unix s): if it is held and was fetched
// before that, it is asked for again as soon as RecrawlMin allows. Without re-crawl it means
// nothing. An origin whose hints of one source are mostly wrong is not believed in that any more,
// but for reports: a site that sends them is asked for nothing else.
func (s *Recrawl) Hint(h *hosts.Host, k, v []byte, mod int64, source crawl.Source, now time.Time) error {
	if mod <= 0 || mod > now.Add(hintAhead).Unix() {
		return nil
	}
	report := source == crawl.SourceRUP || source == crawl.SourceIndexNow
	if report {
		// The end of that second: a report says what changed before it came, and may have come
		// within the second of a fetch.
		mod++
	}
	r, err := DecodeRecord(k, v)
	// What was gone may be back.
	told := r.Class == crawl.Stored || report && r.Class != crawl.Queued
	if err != nil || !told || mod*1000 <= r.FetchedAt || r.Next == 0 || r.Pace == PaceHint {
		return err
	}
	if source != crawl.SourceRUP {
		if c, err := s.Channel(h, &h.Origins[r.Origin], source); err != nil || c.Distrusted() {
			return err
		}
	}
	least, _ := s.Bounds()
	if next := r.FetchedAt/1000 + int64(least/time.Second); next < r.Next {
		if err := s.urls.PlanHint(h, &r, next, source); err != nil {
			return err
		}
		s.Sooner++
		return s.urls.PutURL(k, &r)
	}
	return nil
}

const hintAhead = 24 * time.Hour // a date may be another time zone's
