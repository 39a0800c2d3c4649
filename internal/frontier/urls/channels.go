package urls

import (
	"encoding/binary"
	"fmt"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
)

// HintsTried is how many hints of an origin and source may be wrong before it matters.
const HintsTried = 20

// Channel is what came of what one source tells of the pages of one origin: a sitemap, a feed, a
// RUP report.
type Channel struct {
	Sooner    uint64 // pages that were brought forward, or were new
	Looked    uint64 // pages said to have changed that were fetched since
	Confirmed uint64 // and had
	right     uint64 // like Confirmed, the older ones counting less
	wrong     uint64
}

// Distrusted reports whether so many hints were wrong that they are not believed any more.
func (c *Channel) Distrusted() bool { return c.wrong > HintsTried && c.wrong > 3*c.right }

func (c *Channel) numbers() [5]*uint64 {
	return [...]*uint64{&c.Sooner, &c.Looked, &c.Confirmed, &c.right, &c.wrong}
}

func channelKey(h *hosts.Host, o *hosts.Origin, by crawl.Source) []byte {
	return append(append(h.ID.Append(nil), byte(by)), o.Origin.String()...)
}

// Channel reads what came of a source; all is zero if nothing is known.
func (s *Recrawl) Channel(h *hosts.Host, o *hosts.Origin, by crawl.Source) (c Channel, err error) {
	b := s.ledger.Tx.Bucket(hosts.BucketHints)
	if b == nil {
		return c, nil // a file from before there were any, opened for reading only
	}
	v := b.Get(channelKey(h, o, by))
	if v == nil {
		return c, nil
	}
	scan := hosts.Scanner{B: v}
	for _, n := range c.numbers() {
		*n = scan.Uint()
	}
	if scan.Bad {
		return Channel{}, fmt.Errorf("%w: hints of %s", hosts.ErrRecord, o.Origin)
	}
	return c, nil
}

// change changes what is kept of a source.
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
	return s.ledger.Put(hosts.BucketHints, channelKey(h, o, by), v)
}

// Hinted notes whether r, which was fetched because it was said to have changed, had.
func (s *Recrawl) Hinted(h *hosts.Host, r *Record, was before, changed bool) error {
	return s.change(h, &h.Origins[r.Origin], was.by, func(c *Channel) {
		if c.Looked++; changed {
			c.Confirmed++
			c.right++
		} else {
			c.wrong++
		}
		if c.right+c.wrong >= 10*HintsTried { // sites mend their ways
			c.right /= 2
			c.wrong /= 2
		}
	})
}

// AddSooner notes that pages were brought forward by a source, or were new. Package rupsites counts
// those of reports itself.
func (s *Recrawl) AddSooner(h *hosts.Host, o *hosts.Origin, by crawl.Source, n int64) error {
	if by == crawl.SourcePage || by == crawl.SourceRUP || n <= 0 {
		return nil
	}
	return s.change(h, o, by, func(c *Channel) { c.Sooner += uint64(n) })
}
