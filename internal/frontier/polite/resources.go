package polite

import (
	"time"

	"github.com/curtsy/curtsy/internal/fair"
	"github.com/curtsy/curtsy/pkg/canon"
)

// What a rendered page needs of another host is caused by the page's host, too. An application
// needs data of its servers for each of its pages, so its allowance is larger than that of
// auxiliary requests, and is counted separately.
var (
	// CausedByPages is for visits to one party that pages of another one need.
	CausedByPages = fair.Allowance{Burst: 512, Every: 10 * time.Second}
	// CausedByAllPages is for visits to a party outside of the scope that pages of all others need.
	CausedByAllPages = fair.Allowance{Burst: 2048, Every: 2 * time.Second}
)

// resourceKey is the key of an allowance for pages: see causedKey.
func resourceKey(at, by fair.Party) string { return causedKey(at, by) + "\x00page" }

// resourceParties returns who receives a visit and who causes it. ok is false if that is the same
// one.
func (c *Caused) resourceParties(o canon.Origin, by canon.Host) (at, from fair.Party, ok bool) {
	at, from = c.party(o.Host), c.party(by)
	return at, from, at != from && !from.IsZero()
}

// outside reports whether an origin is out of the scope of the crawl.
func (c *Caused) outside(o canon.Origin) bool {
	root, err := o.URL("/")
	return err != nil || !c.ledger.Judge.Scope.Decide(root).In
}

// ResourceFrom is the earliest time at which an origin may be visited for a page of the host by, as
// far as the party of that host is concerned; the zero time: it need not wait.
func (c *Caused) ResourceFrom(o canon.Origin, by canon.Host) (from time.Time) {
	at, who, ok := c.resourceParties(o, by)
	if !ok {
		return from
	}
	from = CausedByPages.From(c.full[resourceKey(at, who)])
	if c.outside(o) {
		if all := CausedByAllPages.From(c.full[resourceKey(at, fair.Party{})]); all.After(from) {
			from = all
		}
	}
	return from
}

// UseResource counts a visit that is granted for a page of the host by.
func (c *Caused) UseResource(o canon.Origin, by canon.Host, now time.Time) error {
	at, who, ok := c.resourceParties(o, by)
	if !ok {
		return nil
	}
	err := c.use(resourceKey(at, who), CausedByPages, now)
	if err == nil && c.outside(o) {
		err = c.use(resourceKey(at, fair.Party{}), CausedByAllPages, now)
	}
	return err
}
