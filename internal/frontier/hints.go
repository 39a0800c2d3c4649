package frontier

import (
	"cmp"
	"math"
	"slices"
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
// sitemaps name, what changed last before what has not changed for long, and last what has no date. A rank says how many
// periods before the end of its range that was, so it means the same at any time. Within a period it is first come, first served:
// were it by the day, a large sitemap would scatter over the queue, and much more of the store would be in memory until the commit.
func rankOf(l *crawl.Links, i int) uint16 {
	const none, period = math.MaxUint16, 4 * 7 * 24 * 60 * 60
	switch {
	case l.Source != crawl.SourceSitemap:
		return 0
	case i >= len(l.Mods) || l.Mods[i] <= 0:
		return none
	}
	return uint16(none - min(l.Mods[i]/period+1, none-1))
}

// byChange numbers the offers of a sitemap anew, what changed last first.
func byChange(offers []offer, l *crawl.Links) {
	if len(offers) == 0 || len(l.Mods) != len(l.URLs) {
		return
	}
	first := offers[0].order
	slices.SortStableFunc(offers, func(a, b offer) int { return cmp.Compare(l.Mods[b.i], l.Mods[a.i]) })
	for i := range offers {
		offers[i].order = first + uint64(i)
	}
}

// hint notes that a page is said to have changed at a time (Unix s): if it is held and was fetched before that, it is asked for
// again as soon as RecrawlMin allows. Without re-crawl it means nothing. Who says so of pages that have not changed is not
// believed after a while, but for reports: a site that sends them is asked for nothing else.
func (s *shard) hint(h *host, k, v []byte, mod int64, source crawl.Source, now time.Time) error {
	if mod <= 0 || mod > now.Add(hintAhead).Unix() {
		return nil
	}
	if source == crawl.SourceRUP {
		mod++ // the end of that second: a report says what changed before it came, and may have come within the second of a fetch
	}
	r, err := decodeRecord(k, v)
	told := r.Class == crawl.Stored || source == crawl.SourceRUP && r.Class != crawl.Queued // what was gone may be back
	if err != nil || !told || mod*1000 <= r.FetchedAt || r.Next == 0 || r.Pace == paceHint {
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
