package hosts

import (
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/judge"
)

// SitemapCounts count the sitemaps of a host. They are part of its record.
type SitemapCounts struct {
	Sitemaps    int `json:"sitemaps,omitempty"`     // number of sitemaps stored for this host
	SitemapsDue int `json:"sitemaps_due,omitempty"` // of them, those that are to be read
	// SitemapsForeign is the number of stored sitemaps that other hosts' robots.txt names. The time
	// when the last of them was read, and the number of its URLs, determine when the next may be
	// read.
	SitemapsForeign int       `json:"sitemaps_foreign,omitempty"`
	ForeignRead     time.Time `json:"foreign_read,omitzero"`
	ForeignEntries  int       `json:"foreign_entries,omitempty"`

	// Few is in memory only: while fewer URLs are queued, sitemaps are read.
	Few     int64 `json:"-"`
	tooMany bool  // a warning about this was logged
}

// AskedSitemaps notes when o was asked for its sitemaps, and what its robots.txt and the scope were
// then: a change of either has it asked before its time.
func (o *Origin) AskedSitemaps(now time.Time, says []byte) {
	o.SitemapsAsked, o.SitemapsOf = now, says
	o.changed()
}

// AskSitemapsAnew has o asked for its sitemaps as if it never was.
func (o *Origin) AskSitemapsAnew() {
	o.SitemapsAsked = time.Time{}
	o.changed()
}

// KeepSitemap counts one sitemap more that is kept of h; foreign says that another host vouches
// for it.
func (h *Host) KeepSitemap(foreign bool) {
	h.Sitemaps++
	if foreign {
		h.SitemapsForeign++
	}
	h.changed()
}

// SitemapsFull notes that no more sitemaps of the host are kept, and reports whether that is news.
// It is not stored: after a restart it is news once more.
func (c *SitemapCounts) SitemapsFull() (news bool) {
	news = !c.tooMany
	c.tooMany = true
	return news
}

// QueueSitemap counts a sitemap of h that is to be read. The caller writes its record in the queue
// of sitemaps.
func (h *Host) QueueSitemap() {
	h.SitemapsDue++
	h.changed()
}

// DequeueSitemaps takes n sitemaps out of that count. The caller removes their records.
func (h *Host) DequeueSitemaps(n int) {
	h.SitemapsDue -= n
	h.changed()
}

// ReadForeignSitemap notes that a sitemap was read that another host vouches for, and how many URLs
// it names: the next one has to wait until so many can have been fetched.
func (h *Host) ReadForeignSitemap(now time.Time, entries int) {
	h.ForeignRead, h.ForeignEntries = now, entries
	h.changed()
}

// ReadSitemapsBelow has sitemaps of the host read only while fewer than n of its URLs are queued.
// It follows from the delay of the host, and is not stored.
func (c *SitemapCounts) ReadSitemapsBelow(n int64) { c.Few = n }

// SitemapsDue is when an origin of h is to be asked for its sitemaps again, with re-crawl. The zero
// time means never.
func (s *Ledger) SitemapsDue(h *Host) time.Time { return sitemapsDue(&s.Judge, h) }

func sitemapsDue(j *judge.Judge, h *Host) (t time.Time) {
	if !j.Spec.Refreshes() || !j.ReadsSitemaps() || h.Queued == 0 && h.Stored == 0 {
		return t
	}
	for i := range h.Origins {
		o := &h.Origins[i]
		if o.SitemapsAsked.IsZero() || o.Copy != crawl.RobotsParsed && o.Copy != crawl.RobotsUnavailable {
			continue
		}
		if at := sitemapsNext(j, o); t.IsZero() || at.Before(t) {
			t = at
		}
	}
	return t
}

// SitemapsNext is when an origin is asked for its sitemaps again, if the crawl asks more than once:
// when the next round begins, or without rounds after SitemapsAgain.
func (s *Ledger) SitemapsNext(o *Origin) time.Time { return sitemapsNext(&s.Judge, o) }

func sitemapsNext(j *judge.Judge, o *Origin) time.Time {
	if next, rounds := j.Spec.NextRound(o.SitemapsAsked); rounds {
		return next
	}
	return o.SitemapsAsked.Add(SitemapsAgain)
}

// SitemapsAgain is the interval after which an origin is asked for its sitemaps again, with
// re-crawl.
const SitemapsAgain = 24 * time.Hour
