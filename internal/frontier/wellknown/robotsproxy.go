package wellknown

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/polite"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/pkg/robots"
)

// RobotsProxy answers the robots.txt requests of one shard.
type RobotsProxy struct {
	features *hosts.Features
	ledger   *hosts.Ledger
}

// NewRobotsProxy returns the Proxy of one shard.
func NewRobotsProxy(features *hosts.Features, ledger *hosts.Ledger) *RobotsProxy {
	return &RobotsProxy{features: features, ledger: ledger}
}

// A robots.txt may redirect to any URL of any host, at no cost to its author. Following it is a
// request to that host like any other (formats §7): that host's rules and delay apply, and the
// requests that one domain causes to one host are limited. A redirect to the other host's own
// /robots.txt needs no separate request: that file is read for the other host anyway, and its copy
// is the answer.

const (
	// MaxProxiedADay is how many requests a day the robots.txt files of one registered domain may
	// cause to one other host.
	MaxProxiedADay = 10
	// ProxyInline is the maximum size of a copy of a robots.txt that is sent as an answer directly.
	// Larger ones are sent by visits, without a request and a few at a time: a thousand copies of
	// 500 KiB at once would exhaust the memory.
	ProxyInline = 16 << 10
)

// noProxied answers e with a robots.txt that cannot be read, so that it may contain rules.
func noProxied(e *crawl.AuxRequest, why string) crawl.Robots {
	return crawl.Robots{Origin: e.Origin, State: crawl.RobotsUnreachable, Reason: why}
}

// storedRobots answers e with what is known of the host to which it leads, if that suffices.
func (s *RobotsProxy) storedRobots(h *hosts.Host, o *hosts.Origin, e *crawl.AuxRequest, now time.Time) (f crawl.Robots, ok bool) {
	state, ask := polite.State(o, now)
	switch {
	case !ask.After(now):
		return f, false // unknown, or too old
	case state == crawl.RobotsUnreachable:
		return noProxied(e, "robots.txt of "+o.Origin.String()+" cannot be fetched now"), true
	case hosts.ProxiesRobots(e):
		return s.copyForProxy(h, o, e, now)
	case state == crawl.RobotsPending:
		// We do not wait for it, because the other host may be waiting for e itself.
		return noProxied(e, "robots.txt of "+o.Origin.String()+" has moved to another host"), true
	case polite.SlowOrigin(h) != nil:
		return noProxied(e, "the delay that "+polite.SlowOrigin(h).Origin.String()+" asks for is longer than the limit"), true
	}
	return f, false
}

// copyForProxy answers a request for an origin's robots.txt with the stored copy, unless that is
// large.
func (s *RobotsProxy) copyForProxy(h *hosts.Host, o *hosts.Origin, e *crawl.AuxRequest, now time.Time) (f crawl.Robots, ok bool) {
	state, ask := polite.State(o, now)
	f = crawl.Robots{Origin: e.Origin, State: state, Status: o.Status, Redirects: e.Hop, Fresh: ask.Sub(now)}
	if o.Copy == state && !o.History.Fetched.IsZero() {
		f.Age = max(now.Sub(o.History.Fetched), 0)
	}
	switch state {
	case crawl.RobotsPending:
		f.Location, f.Redirects, f.Fresh, f.Age = o.PendingOn, e.Hop+o.Redirects, 0, 0
	case crawl.RobotsParsed:
		body := hosts.RobotsCopy(s.ledger.Tx, h.ID, o.Origin)
		if len(body) > ProxyInline {
			return f, false
		}
		f.Body, f.Digest = slices.Clone(body), o.Digest
		f.CrawlDelay, f.HasCrawlDelay = o.CrawlDelay, o.HasDelay
	case crawl.RobotsUnavailable:
	default:
		return f, false
	}
	return f, true
}

// now answers a redirect to another host without a request, if that is possible.
func (s *RobotsProxy) now(e *crawl.AuxRequest, now time.Time) (done bool, err error) {
	if !hosts.ForeignRobots(e) {
		return false, nil
	}
	h, err := s.ledger.HostNamed(e.URL.Host())
	if h == nil || err != nil {
		return false, err
	}
	if i, known := h.OriginIndex(e.URL.Origin()); known {
		if f, ok := s.storedRobots(h, &h.Origins[i], e, now); ok {
			return true, s.features.Reply(e, crawl.Answer{Robots: f})
		}
	}
	return false, nil
}

// wantProxied makes a request wait for a visit to its host, unless the answer is known or the limit
// is exceeded.
func (s *RobotsProxy) wantProxied(e *crawl.AuxRequest, now time.Time) (*hosts.Host, error) {
	if done, err := s.now(e, now); done || err != nil {
		return nil, err
	}
	h, err := s.features.NewAux(e, now)
	if h == nil || err != nil {
		return nil, err
	}
	if ok, err := s.admitProxied(h, e, now); !ok || err != nil {
		return nil, err
	}
	return h, nil
}

// proxyFrom is the earliest time at which a request may be sent: at once for a host's own
// robots.txt.
func proxyFrom(h *hosts.Host, e *crawl.AuxRequest, now time.Time) (t time.Time) {
	if !hosts.ForeignRobots(e) || hosts.ProxiesRobots(e) {
		return t
	}
	return polite.PageFrom(h, e, now)
}

// admitProxied reports whether a request may wait for a visit to h. If not, it was answered.
func (s *RobotsProxy) admitProxied(h *hosts.Host, e *crawl.AuxRequest, now time.Time) (ok bool, err error) {
	if len(h.Aux) >= hosts.MaxAux {
		return false, s.features.Reply(e, crawl.Answer{Robots: noProxied(e, "too many auxiliary requests for "+string(h.Name))})
	}
	if !hosts.ForeignRobots(e) {
		return true, nil
	}
	if _, ok := s.ledger.OriginOf(h, e.URL.Origin()); !ok {
		return false, s.features.Reply(e, crawl.Answer{Robots: noProxied(e, "too many ports of "+string(h.Name))})
	}
	if hosts.ProxiesRobots(e) {
		return true, nil
	}
	n, err := s.countProxied(h, e.Origin.Host.Registered(), now)
	if err != nil || n <= MaxProxiedADay {
		return err == nil, err
	}
	return false, s.features.Reply(e, crawl.Answer{Robots: crawl.Robots{
		Origin: e.Origin, State: crawl.RobotsUnavailable, Redirects: e.Hop, Fresh: robots.MaxAge,
		Reason: fmt.Sprintf("over %d redirects a day from robots.txt files of %s to %s", MaxProxiedADay, e.Origin.Host.Registered(), h.Name),
	}})
}

// answerProxied applies another host's answer for an origin's robots.txt, if it is still awaited.
func (s *RobotsProxy) answerProxied(a *crawl.Answer, at, now time.Time) error {
	h, err := s.ledger.HostNamed(a.Aux.Origin.Host)
	if h == nil || err != nil {
		return err
	}
	for i := range h.Origins {
		o := &h.Origins[i]
		if o.Origin == a.Aux.Origin && o.PendingOn == string(a.Aux.URL) && o.Redirects == a.Aux.Hop {
			f := a.Robots
			f.Origin = o.Origin
			if overProxies(&f) && (o.Copy == crawl.RobotsParsed || o.History.Failures > 0) {
				// There were rules, or there may be. Our own limit must not permit everything.
				f.State = crawl.RobotsUnreachable
			}
			return s.ledger.ReadRobots(&f, crawl.VisitID{}, at, now)
		}
	}
	return nil
}

// overProxies reports that a request was not sent because of the daily limit.
func overProxies(f *crawl.Robots) bool { return f.State == crawl.RobotsUnavailable && f.Status == 0 }

// countProxied counts a request that a domain causes to h, and returns the number on this day.
// Older days are deleted.
func (s *RobotsProxy) countProxied(h *hosts.Host, domain string, now time.Time) (n uint64, err error) {
	b := s.ledger.Tx.Bucket(store.BucketRobotsProxy)
	prefix := h.ID.Append(nil)
	today := binary.BigEndian.AppendUint32(h.ID.Append(nil), uint32(max(now.Unix(), 0)/(24*60*60)))
	var old [][]byte
	c := b.Cursor()
	for k, _ := c.Seek(prefix); k != nil && store.KeyHost(k) == h.ID && string(k[:len(today)]) < string(today); k, _ = c.Next() {
		old = append(old, slices.Clone(k))
	}
	for _, k := range old {
		if err := s.ledger.Drop(store.BucketRobotsProxy, k); err != nil {
			return 0, err
		}
	}
	key := append(today, domain...)
	if v := b.Get(key); v != nil {
		n, _ = binary.Uvarint(v)
	}
	if n > MaxProxiedADay {
		return n, nil
	}
	n++
	return n, s.ledger.Put(store.BucketRobotsProxy, key, binary.AppendUvarint(nil, n))
}

// Answer answers the requests that wait for an origin's robots.txt, after it was requested.
func (s *RobotsProxy) Answer(h *hosts.Host, i int, now time.Time) error {
	if len(h.Aux) == 0 {
		return nil
	}
	o := &h.Origins[i]
	for _, e := range slices.Clone(h.Aux) {
		if !hosts.ForeignRobots(&e) || e.URL.Origin() != o.Origin {
			continue
		}
		f, ok := s.storedRobots(h, o, &e, now)
		if !ok {
			continue
		}
		if err := errors.Join(s.features.Reply(&e, crawl.Answer{Robots: f}), s.features.DropAux(h, e, now)); err != nil {
			return err
		}
	}
	return nil
}
