package hosts

import (
	"slices"
	"strings"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/robots"
)

// cleanSteps is the work spent here on a link's Clean-param lines, about two microseconds of the
// shard's time. What takes more is left to the fetcher, which has a machine's time and
// robots.CleanSteps for it.
const cleanSteps = 4 << 10

// CleanURL returns u without the query parameters that its host's robots.txt calls meaningless
// (Clean-param, protocols §1.5). A URL accepted before that was known, or that would take too long
// here, keeps its spelling until it is visited; the fetcher then turns it into a link to the clean
// one.
func (s *Ledger) CleanURL(u canon.URL) canon.URL {
	q := strings.IndexByte(string(u), '?')
	if q < 0 {
		return u
	}
	h, err := s.HostNamed(u.Host())
	if h == nil || err != nil {
		return u // what is wrong is said when the link is taken in
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
