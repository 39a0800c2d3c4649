package frontier

import (
	"math"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// modOf is when the i-th of these links is said to have changed last, if that matters.
func (s *shard) modOf(l *crawl.Links, i int) int64 {
	if !s.j.spec.Recrawl || i >= len(l.Mods) {
		return 0
	}
	return l.Mods[i]
}

// rankOf is the rank that the i-th of these links has among the URLs of its depth that wait: what pages link to comes first; then what
// sitemaps name, what changed last before what has not changed for long, and last what has no date. A rank says how many days
// before the end of its range that was, so it means the same at any time.
func rankOf(l *crawl.Links, i int) uint16 {
	const none = math.MaxUint16
	switch {
	case l.Source != crawl.SourceSitemap:
		return 0
	case i >= len(l.Mods) || l.Mods[i] <= 0:
		return none
	}
	return uint16(none - min(max(l.Mods[i]/(24*60*60), 1), none-1))
}

// hint notes that a page is said to have changed at a time (Unix s): if it is held and was fetched before that, it is asked for
// again as soon as RecrawlMin allows. Without re-crawl it means nothing. Who says so of pages that have not changed is not
// believed after a while, but for reports: a site that sends them is asked for nothing else.
func (s *shard) hint(h *host, k, v []byte, mod int64, source crawl.Source, now time.Time) error {
	if mod <= 0 || mod > now.Add(hintAhead).Unix() {
		return nil
	}
	r, err := decodeRecord(k, v)
	if err != nil || r.Class != crawl.Stored || mod*1000 <= r.FetchedAt || r.Next == 0 || r.Pace == paceHint {
		return err
	}
	if o := &h.Origins[r.Origin]; source != crawl.SourceRUP && o.HintsWrong > hintsTried && o.HintsWrong > 3*o.HintsRight {
		return nil
	}
	least, _ := s.recrawlBounds()
	if next := r.FetchedAt/1000 + int64(least/time.Second); next < r.Next {
		if err := s.planAt(h, &r, next, paceHint); err != nil {
			return err
		}
		s.sooner++
		s.changes++
		s.reschedule(h, now)
		return s.tx.Bucket(bucketURLs).Put(k, r.append(nil))
	}
	return nil
}

const (
	hintAhead  = 24 * time.Hour // a date may be another time zone's
	hintsTried = 20             // so many may be wrong before it matters
)

// hinted notes whether a page that was said to have changed had.
func (o *origin) hinted(changed bool) {
	if o.Looked++; changed {
		o.Confirmed++
		o.HintsRight++
	} else {
		o.HintsWrong++
	}
	if o.HintsRight+o.HintsWrong >= 10*hintsTried { // sites mend their ways
		o.HintsRight /= 2
		o.HintsWrong /= 2
	}
}
