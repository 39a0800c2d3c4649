package hosts

import (
	"slices"
	"strings"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/robots"
)

// cleanSteps limits the work on the Clean-param lines for one link to about two microseconds of the
// shard's time. Links that take longer are left to the fetcher, which has more processors and the
// larger limit robots.CleanSteps.
const cleanSteps = 4 << 10

// CleanURL returns u without the query parameters that its host's robots.txt declares meaningless
// (Clean-param, formats §1.5). A URL that was accepted before robots.txt was known, or for which
// this would take too long, stays as it is until it is visited. The fetcher then turns it into a
// link to the clean URL.
func (s *Ledger) CleanURL(u canon.URL) canon.URL {
	q := strings.IndexByte(string(u), '?')
	if q < 0 {
		return u
	}
	h, err := s.HostNamed(u.Host())
	if h == nil || err != nil {
		return u // the error is reported when the link is applied
	}
	i := slices.IndexFunc(h.Origins, func(o Origin) bool { return o.Cleans && o.Origin == u.Origin() })
	if i < 0 {
		return u
	}
	o := &h.Origins[i]
	if o.Clean == nil {
		if o.Copy != crawl.RobotsParsed {
			return u
		}
		o.Clean = robots.Parse(RobotsCopy(s.Tx, h.ID, o.Origin))
	}
	pathQuery := u.PathQuery()
	short, _ := o.Clean.CleanURLWithin(pathQuery, cleanSteps)
	if short == pathQuery {
		return u
	}
	v, err := o.Origin.URL(short)
	if err != nil {
		return u
	}
	return v
}
