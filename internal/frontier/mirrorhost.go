package frontier

import (
	"errors"
	"math/bits"
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

const (
	mirrorLook = 2000        // URLs of a host that are looked through for some to compare
	mirrorTick = time.Second // how often upkeep is looked at
	twinPages  = 3           // pages stored before a host's twin is asked after, unless it has fewer
	movedPages = 4           // the root and three more have moved: so has the site (design §7)
)

// mirrorRef names an origin with a mirror record.
type mirrorRef struct {
	h *host
	i int
}

// mirrorStep lets something happen to an origin's mirror record, does what it asks for and what follows.
func (s *shard) mirrorStep(h *host, i int, now time.Time, do func(*mirror, *mirrorEnv)) error {
	o := &h.Origins[i]
	m := o.Mirror
	if m == nil {
		m = new(mirror)
		if c := s.copiedClaim(h, o); c.Kind <= crawl.ClaimNone { // another is news
			m.Claim, m.Digest = c.Kind, c.Digest
		}
	}
	was := *m
	e := s.mirrorEnv(h, i, now)
	do(m, e)
	s.touch(h)
	s.summary = summary{}
	if o.Mirror = m; m.idle() {
		o.Mirror = nil
		delete(s.mirrors, mirrorRef{h, i})
	} else {
		s.mirrors[mirrorRef{h, i}] = struct{}{}
		if !m.Due.IsZero() && (s.mirrorsDue.IsZero() || m.Due.Before(s.mirrorsDue)) {
			s.mirrorsDue = m.Due
		}
	}
	s.met.mirrorStep(&was, m)
	if m.mirrored() != was.mirrored() || m.Main != was.Main {
		if err := s.mirrorTurned(h, i, now); err != nil {
			return err
		}
	}
	return s.sendAsks(e.asks)
}

// idle reports whether there is nothing to remember.
func (m *mirror) idle() bool {
	return (m.State == "" || m.State == mirrorMain && m.Claim <= crawl.ClaimNone) && m.Trial == "" && !m.Settling &&
		m.Compared.IsZero() && m.Sent == 0
}

func (s *shard) sendAsks(asks []crawl.Errand) error {
	for len(asks) > 0 {
		to := crawl.ShardOf(asks[0].URL.Host(), s.j.spec.Shards)
		var ev crawl.Event
		rest := asks[:0:0]
		for _, e := range asks {
			if e.ReplyShard = s.id; crawl.ShardOf(e.URL.Host(), s.j.spec.Shards) == to {
				ev.Errands = append(ev.Errands, e)
			} else {
				rest = append(rest, e)
			}
		}
		if err := s.send(to, &ev); err != nil {
			return err
		}
		asks = rest
	}
	return nil
}

func (s *shard) mirrorEnv(h *host, i int, now time.Time) *mirrorEnv {
	o := &h.Origins[i]
	_, refresh := o.state(now)
	e := &mirrorEnv{x: o.Origin, now: now, refresh: refresh}
	e.inScope = func(main canon.Origin) bool { return s.mirrorInScope(h, i, main) }
	e.pages = func(n int, skip []string) []mirrorSample { return s.mirrorPages(h, i, n, skip) }
	e.moved = func() []string { return s.movedPaths(h, i, o.Mirror.Main) }
	e.size = func() crawl.Claim { return crawl.Claim{URLs: s.originPages(h, i), Led: int(o.Led)} }
	return e
}

// someOf calls f for some of an origin's URLs, the root first, until f has enough.
func (s *shard) someOf(h *host, i int, f func(r *record) (enough bool)) {
	root := canon.URL(h.Origins[i].Origin.String() + "/")
	if k, v := s.lookup(h, root); v != nil {
		if r, err := decodeRecord(k, v); err != nil || f(&r) {
			return
		}
	}
	c := s.tx.Bucket(bucketURLs).Cursor()
	n := 0
	for k, v := c.Seek(h.ID.append(nil)); k != nil && keyHost(k) == h.ID && n < mirrorLook; k, v = c.Next() {
		n++
		if len(v) < 2 || int(v[1]) != i {
			continue
		}
		if r, err := decodeRecord(k, v); err == nil && r.URL != root && f(&r) {
			return
		}
	}
}

// mirrorInScope reports whether pages of main may be crawled at all: its root, or what some of the origin's pages are there.
func (s *shard) mirrorInScope(h *host, i int, main canon.Origin) bool {
	in := func(pathQuery string) bool {
		u, err := main.URL(pathQuery)
		return err == nil && s.j.scope.Decide(u).In
	}
	if in("/") {
		return true
	}
	found, n := false, 0
	s.someOf(h, i, func(r *record) bool {
		n++
		found = in(r.URL.PathQuery())
		return found || n >= 2*mirrorPages
	})
	return found
}

// mirrorPages are up to n pages of an origin that can be compared, without some: those stored, then those that its rules let us fetch;
// the root first.
func (s *shard) mirrorPages(h *host, i, n int, skip []string) []mirrorSample {
	o := &h.Origins[i]
	// An old copy will do: whoever fetches the page reads robots.txt first.
	state, _ := o.state(time.Now())
	had := o.Copy != crawl.RobotsUnknown && state != crawl.RobotsUnreachable && state != crawl.RobotsPending
	rules := s.robotsFile(h, o).Rules(s.j.spec.Agent, robotsOrigin(o.Origin))
	var stored, open []mirrorSample
	s.someOf(h, i, func(r *record) bool {
		p := mirrorSample{Path: r.URL.PathQuery()}
		if slices.Contains(skip, p.Path) {
			return false
		}
		p.Open = had && rules.Match(p.Path).Allowed
		switch {
		case r.storedAs() != 0:
			p.Ours = mirrorPage{Known: true, Status: 200, Digest: r.storedAs()}
			stored = append(stored, p)
		case p.Open && r.Class != crawl.Redirected && r.Class != crawl.Failed && r.Reason != crawl.ReasonForgotten:
			if open = append(open, p); len(open) > n {
				open = open[:n]
			}
		}
		return len(stored) >= n
	})
	all := append(stored, open...)
	slices.SortStableFunc(all, func(a, b mirrorSample) int { return isRoot(b) - isRoot(a) })
	return all[:min(len(all), n)]
}

func isRoot(p mirrorSample) int {
	if p.Path == "/" {
		return 1
	}
	return 0
}

// originPages counts the pages stored of an origin, among the first URLs of its host.
func (s *shard) originPages(h *host, i int) (n int) {
	s.someOf(h, i, func(r *record) bool {
		if r.Class == crawl.Stored {
			n++
		}
		return false
	})
	return n
}

// claimRead takes in what an origin's robots.txt says, just read, and tells those who asked.
func (s *shard) claimRead(h *host, i int, now time.Time) error {
	o := &h.Origins[i]
	if c := s.copiedClaim(h, o); c.Kind > crawl.ClaimNone || o.Mirror != nil {
		if err := s.mirrorStep(h, i, now, func(m *mirror, e *mirrorEnv) { m.read(e, c) }); err != nil {
			return err
		}
	}
	return s.answerClaims(h, o.Origin, now)
}

// answerMirror takes in an answer that an examination may be waiting for.
func (s *shard) answerMirror(a *crawl.Answer, now time.Time) error {
	h := s.hosts[a.Errand.Origin.Host]
	if h == nil {
		return nil
	}
	i, ok := h.originIndex(a.Errand.Origin)
	if !ok || h.Origins[i].Mirror == nil {
		return nil
	}
	return s.mirrorStep(h, i, now, func(m *mirror, e *mirrorEnv) {
		if a.Errand.Kind == crawl.ErrandSample {
			m.sampled(e, a.Errand.URL, a.Errand.Hop, a.Sample)
		} else {
			m.claimed(e, a.Errand.URL.Origin(), a.Claim)
		}
	})
}

// mirrorUpkeep does what is due of mirror records. It waits until the log is read: that may have the answers.
func (s *shard) mirrorUpkeep(now time.Time) error {
	if !s.caughtUp || s.frozen || s.tx == nil || s.broken != nil || s.mirrorsDue.IsZero() || now.Before(s.mirrorsDue) {
		return nil
	}
	var due []mirrorRef
	s.mirrorsDue = time.Time{}
	for ref := range s.mirrors {
		m := ref.h.Origins[ref.i].Mirror
		switch {
		case m.Due.IsZero():
		case !m.Due.After(now):
			due = append(due, ref)
		case s.mirrorsDue.IsZero() || m.Due.Before(s.mirrorsDue):
			s.mirrorsDue = m.Due
		}
	}
	for _, ref := range due {
		if err := s.mirrorStep(ref.h, ref.i, now, func(m *mirror, e *mirrorEnv) { m.tick(e) }); err != nil {
			return s.fail(err)
		}
	}
	if soon := now.Add(mirrorTick); !s.mirrorsDue.IsZero() && s.mirrorsDue.Before(soon) {
		s.mirrorsDue = soon
	}
	return nil
}

// loadMirrors finds the mirror records of a file just opened.
func (s *shard) loadMirrors(now time.Time) {
	s.mirrors, s.settling = map[mirrorRef]struct{}{}, map[mirrorRef]struct{}{}
	for _, h := range s.hosts {
		for i := range h.Origins {
			if m := h.Origins[i].Mirror; m != nil {
				s.mirrors[mirrorRef{h, i}] = struct{}{}
				if m.Settling {
					s.settling[mirrorRef{h, i}] = struct{}{}
				}
				s.mirrorsDue = now
			}
		}
	}
}

// mirrorsAnew has everything looked at again that hangs on the crawl's scope.
func (s *shard) mirrorsAnew(now time.Time) {
	for ref := range s.mirrors {
		m := ref.h.Origins[ref.i].Mirror
		switch {
		case m.mirrored():
			m.Settling, m.Next = true, nil // URLs let in now are the main host's
			s.settling[ref] = struct{}{}
		case m.Reason == whyScope:
			m.Due, m.Soon = now, true
		default:
			continue
		}
		s.touch(ref.h)
		s.mirrorsDue = now
	}
}

// mirrorsPending is how many origins are being looked into, and have been for less than patience, or are to be by now: a crawl that goes
// on days later asks what has become of its mirrors before it is done.
func (s *shard) mirrorsPending(now time.Time, patience time.Duration) (n int) {
	for ref := range s.mirrors {
		m := ref.h.Origins[ref.i].Mirror
		overdue := m.Trial == "" && !m.Due.IsZero() && !m.Due.After(now)
		if m.Trial != "" && now.Sub(m.Asked) < patience || m.Soon || overdue {
			n++
		}
	}
	return n
}

// noticeMove counts pages that have moved to the same path elsewhere, for good: if the root and three more have, and all that
// was asked for, the site has.
func (s *shard) noticeMove(h *host, r *record, now time.Time) error {
	to, ok := r.movedTo()
	if !ok {
		return nil
	}
	o := &h.Origins[r.Origin]
	if o.Mirror.mirrored() {
		return nil
	}
	if o.MovedTo != to {
		o.MovedTo, o.Moved = to, 0
	}
	o.Moved++
	s.touch(h)
	if o.Moved < movedPages || bits.OnesCount32(o.Moved) != 1 || len(s.movedPaths(h, int(r.Origin), to)) < movedPages {
		return nil
	}
	return s.mirrorStep(h, int(r.Origin), now, func(m *mirror, e *mirrorEnv) { m.movedAway(e, to) })
}

// movedTo is the origin to which a page has moved for good, keeping its path.
func (r *record) movedTo() (to canon.Origin, ok bool) {
	if r.Class != crawl.Redirected || r.Reason != crawl.ReasonRedirect || r.Status != 301 && r.Status != 308 {
		return to, false
	}
	u, err := canon.Parse(r.Detail)
	if err != nil || u.PathQuery() != r.URL.PathQuery() || u.Origin() == r.URL.Origin() {
		return to, false
	}
	to = u.Origin()
	to.Host = canon.Host(string([]byte(to.Host))) // not a piece of something larger
	return to, true
}

// movedPaths are up to movedPages pages of an origin that have moved to main, the root first; none if its root has not, or
// another page that was asked for has not.
func (s *shard) movedPaths(h *host, i int, main canon.Origin) (paths []string) {
	against := false
	s.someOf(h, i, func(r *record) bool {
		to, moved := r.movedTo()
		switch path := r.URL.PathQuery(); {
		case moved && to == main:
			if len(paths) < movedPages && (len(paths) > 0 || path == "/") {
				paths = append(paths, path)
			}
		case r.Class == crawl.Stored || r.Class == crawl.Redirected && r.Reason == crawl.ReasonRedirect:
			against = true
		}
		return against
	})
	if against {
		return nil
	}
	return paths
}

// noticeTwins asks after the twin of a host that has some pages now: the same name with or without www. The one with www.
// asks; the other, if it was not known by then, gives a hint to ask again.
func (s *shard) noticeTwins(h *host, now time.Time) error {
	if h.Stored == 0 {
		return nil
	}
	for i := range h.Origins {
		o := &h.Origins[i]
		if o.Twin || o.Copy == crawl.RobotsUnknown || hasWWW(o.Origin) && h.Stored < twinPages && h.Queued > 0 {
			continue
		}
		o.Twin = true
		s.touch(h)
		twin, ok := twinOf(o.Origin)
		if !ok || !s.mirrorInScope(h, i, twin) {
			continue
		}
		if hasWWW(o.Origin) {
			if err := s.mirrorStep(h, i, now, func(m *mirror, e *mirrorEnv) { m.twin(e) }); err != nil {
				return err
			}
			continue
		}
		waits, key := s.tx.Bucket(bucketTwins), []byte(o.Origin.String())
		if waits.Get(key) == nil {
			continue
		}
		e := mirrorEnv{x: o.Origin}
		e.ask(crawl.ErrandTwin, twin, "/", crawl.TwinAsk)
		if err := errors.Join(waits.Delete(key), s.sendAsks(e.asks)); err != nil {
			return err
		}
	}
	return nil
}

// twinAsked does what the owner of an origin's twin wants of it.
func (s *shard) twinAsked(e *crawl.Errand, h *host, i int, known bool, now time.Time) error {
	o := e.URL.Origin()
	if t, ok := twinOf(e.Origin); !ok || t != o {
		return nil
	}
	known = known && h.Stored > 0
	if e.Hop == crawl.TwinAsk && !hasWWW(o) {
		c := crawl.Claim{Reason: "not known"}
		if known {
			c = s.copiedClaim(h, &h.Origins[i])
			c.URLs, c.Led = s.originPages(h, i), int(h.Origins[i].Led)
		} else if err := s.tx.Bucket(bucketTwins).Put([]byte(o.String()), []byte{1}); err != nil {
			return err
		}
		return s.reply(e, crawl.Answer{Claim: c})
	}
	if !known {
		return nil
	}
	return s.mirrorStep(h, i, now, func(m *mirror, env *mirrorEnv) {
		switch e.Hop {
		case crawl.TwinAsk:
			m.twin(env)
		case crawl.TwinYield:
			m.yield(env, e.Origin)
		case crawl.TwinYields:
			m.yields(env, e.Origin)
		}
	})
}
