package urls

import (
	"math"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
)

// ModOf is the reported time of the last change of the i-th link, if it matters.
func (s *Recrawl) ModOf(l *crawl.Links, i int) int64 {
	if !s.ledger.Judge.Spec.Refreshes() || i >= len(l.Mods) {
		return 0
	}
	return l.Mods[i]
}

// RankOf is the rank of the i-th link among the queued URLs of the same depth. Links on pages come
// first; then entries of sitemaps, recently changed ones before older ones, and those without a
// date last. A rank counts periods before the end of its range, so its meaning does not depend on
// the current time. Within a period the order is first come, first served. With days as periods, a
// large sitemap would be scattered over the queue, and much more of the store would be in memory
// until the commit.
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

// Hint notes that a page was reported as changed at the time mod (Unix s). If it is stored and was
// fetched before that time, it is fetched again as soon as RecrawlMin permits. Without re-crawl a
// hint has no effect. Hints of one source are ignored for an origin if most of them were wrong,
// except reports: a site that sends reports has no other channel.
func (s *Recrawl) Hint(h *hosts.Host, k, v []byte, mod int64, source crawl.Source, now time.Time) error {
	if mod <= 0 || mod > now.Add(hintAhead).Unix() {
		return nil
	}
	report := source == crawl.SourceRUP || source == crawl.SourceIndexNow
	if report {
		// The end of that second: a report is about changes before it arrived, and may have arrived
		// within the second of a fetch.
		mod++
	}
	r, err := DecodeRecord(k, v)
	// A page that was gone may exist again.
	applies := r.Class == crawl.Stored || report && r.Class != crawl.Queued
	if err != nil || !applies || mod*1000 <= r.FetchedAt || r.Next == 0 || r.Pace == PaceHint {
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

const hintAhead = 24 * time.Hour // a date may be in another time zone
