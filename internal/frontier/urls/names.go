package urls

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/pkg/canon"
)

// hostLimit is how many names of d this shard accepts: its share of the limit, and one more for
// each stored page.
func (s *URLs) hostLimit(d *hosts.Domain) int64 {
	n, shards := hosts.MaxHosts(&s.ledger.Judge), int64(max(s.ledger.Judge.Spec.Shards, 1))
	return max((n+shards-1)/shards, min(n, hosts.MinDomainHosts)) + d.Stored
}

// LinkedHost returns the host to which a link leads. A new host is closed if its domain has too
// many names. The result is nil if the domain also has too many closed names to remember another.
// The hosts of seeds are always accepted.
func (s *URLs) LinkedHost(name canon.Host, seed bool) (*hosts.Host, error) {
	h, err := s.ledger.HostNamed(name)
	if err != nil || h != nil && !h.Closed {
		return h, err
	}
	d, err := s.ledger.DomainOf(name)
	if err != nil {
		return nil, err
	}
	more := d.BringsNames(s.Pages, s.Events)
	accept := seed || s.ledger.Judge.Hurries(name) || d.Hosts < s.hostLimit(d) && more
	switch {
	case h != nil && accept:
		err = s.openHost(h)
	case h != nil && h.Refused < hosts.ClosedURLs:
	case !accept && (h != nil || d.Closed >= hosts.ClosedPerHost*s.hostLimit(d)):
		s.ledger.LeaveNameOut(d)
		s.ledger.Metrics.LeftOut.WithLabelValues("hosts").Inc()
		return nil, nil
	default:
		h, err = s.ledger.NewHost(name, !accept)
	}
	if accept {
		d.BroughtName()
	}
	return h, err
}

// PageHost returns the host of which a rendered page needs something. Pages could invent names at
// no cost, so a new name counts like that of a link: the result is nil if its domain has too many.
func (s *URLs) PageHost(name canon.Host) (*hosts.Host, error) {
	h, err := s.LinkedHost(name, false)
	if h != nil && h.Closed {
		return nil, err
	}
	return h, err
}

// openHost accepts a closed name and queues its known URLs.
func (s *URLs) openHost(h *hosts.Host) error {
	if err := s.ledger.OpenHost(h); err != nil {
		return err
	}
	urls := s.ledger.Records()
	var keys, vals [][]byte
	c := urls.Cursor()
	for k, v := c.Seek(h.ID.Append(nil)); k != nil && store.KeyHost(k) == h.ID; k, v = c.Next() {
		keys, vals = append(keys, slices.Clone(k)), append(vals, slices.Clone(v))
	}
	for i, k := range keys {
		r, err := DecodeRecord(k, vals[i])
		if err != nil {
			return err
		}
		if r.Class != crawl.Refused || r.Reason != crawl.ReasonHosts {
			continue
		}
		v := s.Decide(&r, h)
		v.Silent = true
		if err := errors.Join(s.SetState(h, &r, v), s.PutURL(k, &r)); err != nil {
			return err
		}
	}
	return nil
}

// OpenSome accepts closed names of a domain, up to n and as far as the domain's limit permits.
func (s *URLs) OpenSome(d *hosts.Domain, n int64) error {
	if d == nil || d.Closed == 0 {
		return nil
	}
	prefix := append([]byte(d.Name), 0)
	for n = min(n, s.hostLimit(d)-d.Hosts); n > 0; n-- {
		k, _ := s.ledger.Tx.Bucket(store.BucketClosed).Cursor().Seek(prefix)
		if !bytes.HasPrefix(k, prefix) || len(k) != len(prefix)+4 {
			return nil
		}
		h, err := s.ledger.HostWith(store.KeyHost(k[len(prefix):]))
		if err == nil && h == nil {
			err = fmt.Errorf("closed name %x of %s: %w", k, d.Name, store.ErrRecord)
		}
		if err == nil {
			err = s.openHost(h)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// OpenPass is a pass that accepts closed names after the limit was changed.
func (s *URLs) OpenPass(time.Time) (more bool, err error) {
	if s.ledger.Meta.MaxHosts == hosts.MaxHosts(&s.ledger.Judge) {
		return false, nil
	}
	from := s.ledger.Meta.OpenedTo
	for range hosts.OpenedAtOnce {
		k, _ := s.ledger.Tx.Bucket(store.BucketClosed).Cursor().Seek(from)
		if k == nil {
			s.ledger.Meta.NamesOpened(nil, hosts.MaxHosts(&s.ledger.Judge))
			return false, nil
		}
		name, _, _ := bytes.Cut(k, []byte{0})
		d, err := s.ledger.DomainOf(canon.Host(name))
		if err != nil {
			return false, err
		}
		if d.Hosts >= s.hostLimit(d) || d.Closed == 0 {
			from = append(slices.Clone(name), 1) // the next domain
			continue
		}
		from = append(slices.Clone(name), 0)
		if err := s.OpenSome(d, hosts.OpenedAtOnce); err != nil {
			return false, err
		}
	}
	s.ledger.Meta.NamesOpened(from, 0)
	return true, nil
}
