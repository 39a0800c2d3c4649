package urls

import (
	"encoding/binary"
	"fmt"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/store"
)

// HintsTried is how many hints of an origin and source may be wrong without consequences.
const HintsTried = 20

// Channel measures the accuracy of one source of reports about the pages of one origin: a sitemap,
// a feed, a RUP report.
type Channel struct {
	Sooner    uint64 // pages that were fetched earlier because of it, or were new
	Looked    uint64 // pages reported as changed that were fetched since
	Confirmed uint64 // of them, those that had changed
	right     uint64 // like Confirmed, but older ones count less
	wrong     uint64
}

// Distrusted reports whether so many hints were wrong that further hints are ignored.
func (c *Channel) Distrusted() bool { return c.wrong > HintsTried && c.wrong > 3*c.right }

func (c *Channel) numbers() [5]*uint64 {
	return [...]*uint64{&c.Sooner, &c.Looked, &c.Confirmed, &c.right, &c.wrong}
}

func channelKey(h *hosts.Host, o *hosts.Origin, by crawl.Source) []byte {
	return append(append(h.ID.Append(nil), byte(by)), o.Origin.String()...)
}

// Channel reads the record of a source. All counts are zero if nothing is known.
func (s *Recrawl) Channel(h *hosts.Host, o *hosts.Origin, by crawl.Source) (c Channel, err error) {
	b := s.ledger.Tx.Bucket(store.BucketHints)
	if b == nil {
		return c, nil // a file from a version without this bucket, opened for reading only
	}
	v := b.Get(channelKey(h, o, by))
	if v == nil {
		return c, nil
	}
	scan := store.Scanner{B: v}
	for _, n := range c.numbers() {
		*n = scan.Uint()
	}
	if scan.Bad {
		return Channel{}, fmt.Errorf("%w: hints of %s", store.ErrRecord, o.Origin)
	}
	return c, nil
}

// change changes the record of a source.
func (s *Recrawl) change(h *hosts.Host, o *hosts.Origin, by crawl.Source, f func(c *Channel)) error {
	c, err := s.Channel(h, o, by)
	if err != nil {
		return err
	}
	f(&c)
	var v []byte
	for _, n := range c.numbers() {
		v = binary.AppendUvarint(v, *n)
	}
	return s.ledger.Put(store.BucketHints, channelKey(h, o, by), v)
}

// Hinted notes whether r, which was fetched because it was reported as changed, had changed.
func (s *Recrawl) Hinted(h *hosts.Host, r *Record, was before, changed bool) error {
	return s.change(h, &h.Origins[r.Origin], was.by, func(c *Channel) {
		if c.Looked++; changed {
			c.Confirmed++
			c.right++
		} else {
			c.wrong++
		}
		if c.right+c.wrong >= 10*HintsTried { // sites may improve
			c.right /= 2
			c.wrong /= 2
		}
	})
}

// AddSooner notes that pages were fetched earlier because of a source, or were new. Package
// rupsites counts those of its reports itself.
func (s *Recrawl) AddSooner(h *hosts.Host, o *hosts.Origin, by crawl.Source, n int64) error {
	if by == crawl.SourcePage || by == crawl.SourceRUP || n <= 0 {
		return nil
	}
	return s.change(h, o, by, func(c *Channel) { c.Sooner += uint64(n) })
}
