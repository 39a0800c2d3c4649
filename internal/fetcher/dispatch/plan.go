package dispatch

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/backoff"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/mobile/reading"
)

const (
	// maxKnown is how many known URLs of a site are considered; 24 bytes each. The robot sends the
	// documents of further ones again.
	maxKnown = reading.MaxKnown
	// maxParts bounds the parts of a plan.
	maxParts = 4 * maxKnown / crawl.MaxKnownPages
	// planTries is how often the owner of a shard is asked in a row.
	planTries = 5
)

// plan is a plan with all of its parts.
type plan struct {
	crawl.DispatchPlan // Known is sorted by Path
}

// errNoPlan means that nobody answers for the site's shard now.
var errNoPlan = errors.New("no frontier answers for the site")

// ask asks the owner of the site's shard for the whole plan.
func (c *carrier) ask() (*plan, error) {
	q := crawl.DispatchQuery{Origin: c.Aux.Origin, About: c.Aux.About, Hop: c.Aux.Hop}
	var whole *plan
	for range maxParts {
		part, err := c.askPart(q)
		switch {
		case err != nil:
			return nil, err
		case whole == nil:
			whole = &plan{part}
		default:
			whole.Known = append(whole.Known, part.Known...)
		}
		if q.After = part.Next; len(q.After) == 0 || !part.Wanted || len(whole.Known) >= maxKnown {
			break
		}
	}
	whole.Known = whole.Known[:min(len(whole.Known), maxKnown)]
	slices.SortFunc(whole.Known, func(a, b crawl.KnownPage) int { return cmp.Compare(a.Path, b.Path) })
	return whole, nil
}

// askPart asks for one part. A missing answer means nothing: the shard may be moving.
func (c *carrier) askPart(q crawl.DispatchQuery) (crawl.DispatchPlan, error) {
	wait := backoff.Delay{Least: 100 * time.Millisecond, Most: 5 * time.Second}
	for range planTries {
		p, err := c.Plan(q)
		if err == nil {
			return p, nil
		}
		c.Requests.Log.Debug("no plan of a dispatch", "origin", q.Origin.String(), "err", err)
		if err := wait.Sleep(c.Requests.Session.Waiting); err != nil {
			return crawl.DispatchPlan{}, err
		}
	}
	return crawl.DispatchPlan{}, errNoPlan
}

// known returns what is known of a path by its hash. ok is false if it is nothing.
func (p *plan) known(path uint64) (k crawl.KnownPage, ok bool) {
	i, ok := slices.BinarySearchFunc(p.Known, path, func(k crawl.KnownPage, path uint64) int { return cmp.Compare(k.Path, path) })
	if ok {
		k = p.Known[i]
	}
	return k, ok
}

// table returns the documents that are stored, for the robot.
func (p *plan) table() reading.Table {
	hashes := make([]uint64, 0, len(p.Known))
	for _, k := range p.Known {
		if k.Digest != 0 {
			hashes = append(hashes, reading.KnownHashOf(k.Path, k.Digest))
		}
	}
	return reading.MakeTable(hashes)
}
