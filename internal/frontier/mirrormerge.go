package frontier

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

const (
	mirrorBudget  = 100_000 // URLs handed on per mirror: a liar must not make us hammer somebody (§2.5)
	mirrorOwed    = 256     // messages not yet sent at which that pauses
	mirrorMessage = 128 << 10
)

// mirrorStretch is how many URLs are gone through before others may have the shard. Tests make it less.
var mirrorStretch = 1000

// merge is how far X's URLs have been brought into agreement with whether X is a mirror.
type merge struct {
	Settling bool   `json:"settling,omitempty"` // they are being gone through
	Next     []byte `json:"next,omitempty"`     // the key to go on from
	Sent     int64  `json:"sent,omitempty"`     // URLs handed to a main host's shard, of X's budget
}

// forwarded is a URL of a mirror as it is on the main host.
type forwarded struct {
	via         canon.Host
	url         canon.URL
	foundOn     canon.URL
	depth, hops int
}

// mirrorTurned begins to bring an origin's URLs into agreement with what it has become.
func (s *shard) mirrorTurned(h *host, i int, now time.Time) error {
	o := &h.Origins[i]
	m := o.Mirror
	if m == nil { // nothing to remember but this
		m = &mirror{State: mirrorMain}
		o.Mirror = m
		s.mirrors[mirrorRef{h, i}] = struct{}{}
	}
	m.Settling, m.Next = true, nil
	s.settling[mirrorRef{h, i}] = struct{}{}
	if m.mirrored() {
		if err := s.disown(h, i); err != nil {
			return err
		}
		s.log.Info("a mirror", "origin", o.Origin.String(), "main", m.Main.String(), "evidence", m.Evidence)
		s.disownData(o)
		if err := s.dropNested(h, o.Origin, now); err != nil {
			return err
		}
	} else {
		s.log.Info("a mirror no more", "origin", o.Origin.String(), "state", m.State, "reason", m.Reason, "detail", m.Detail)
		if o.Data == crawl.ProbeRead {
			o.DataDue = time.Time{}
		}
	}
	if err := s.mirrorSitemaps(h, i, now); err != nil {
		return err
	}
	s.touch(h)
	s.reschedule(h, now)
	return s.flushMirrors(now)
}

// disownData has the indexer drop the data.txt of a mirror: it is not used while it is one (§7).
func (s *shard) disownData(o *origin) {
	if u, err := o.Origin.URL("/data.txt"); err == nil && o.Data == crawl.ProbeRead && o.Mirror.mirrored() {
		s.aliases = append(s.aliases, crawl.Page{Kind: crawl.KindData, URL: u, Origin: o.Origin, Deleted: crawl.ReasonMirror})
	}
}

// disowned is how many URLs of a mirror's queue disown looks at: more than a visit holds, since nearer ones may have come since.
const disowned = 4 * maxVisitURLs

// disown has the indexer drop what pages it may have of a mirror's queued URLs. A fetcher that died had perhaps handed some over, and
// nobody tells: else they would be fetched again, and now they are not. They are among the first of the queue, where they were taken
// from; visits are not remembered over a crash.
func (s *shard) disown(h *host, i int) error {
	prefix := append(h.ID.append(nil), byte(i))
	c, n := s.tx.Bucket(bucketQueue).Cursor(), 0
	for k, _ := c.Seek(prefix); n < disowned && bytes.HasPrefix(k, prefix); k, _ = c.Next() {
		key := urlKey(nil, h.ID, keyOrder(k))
		r, err := decodeRecord(key, s.tx.Bucket(bucketURLs).Get(key))
		if err != nil {
			return err
		}
		s.aliases = append(s.aliases, crawl.Page{Kind: crawl.KindPage, URL: r.URL, Deleted: crawl.ReasonMirror})
		n++
	}
	return nil
}

// settle goes through the URLs of origins that have become mirrors, or are none any more, some at a time, until ctx ends. It
// takes the lock itself.
func (s *shard) settle(ctx context.Context) error { return s.inStretches(ctx, s.settleSome) }

// settleSome goes through some URLs and reports whether there are more that can be gone through now.
func (s *shard) settleSome(now time.Time) (more bool, err error) {
	if !s.caughtUp || s.frozen || s.tx == nil || s.broken != nil || len(s.outbox) >= mirrorOwed {
		return false, nil
	}
	ref, ok := s.unsettled()
	if !ok {
		return false, nil
	}
	if err := s.settleStretch(ref, now); err != nil {
		return false, s.fail(err)
	}
	if s.changes >= commitChanges {
		err = s.commit(true)
	}
	_, more = s.unsettled()
	return more, err
}

// unsettled is an origin whose URLs can be gone through now.
func (s *shard) unsettled() (ref mirrorRef, ok bool) {
	for ref := range s.settling {
		if s.settles(ref) {
			return ref, true
		}
	}
	return ref, false
}

// settles reports whether an origin's URLs can be gone through now. One that is a mirror no more and is being looked into may be another's
// in a moment: its URLs are not let in for that long.
func (s *shard) settles(ref mirrorRef) bool {
	m := ref.h.Origins[ref.i].Mirror
	return m.mirrored() || m.Trial == ""
}

func (s *shard) settleStretch(ref mirrorRef, now time.Time) error {
	h, i := ref.h, ref.i
	m := h.Origins[i].Mirror
	from := m.Next
	if from == nil {
		from = h.ID.append(nil)
	}
	next, err := s.stretch(from, mirrorStretch, func(of *host, _ []byte, r *record) (bool, error) {
		switch {
		case of != h || int(r.Origin) != i:
			return false, nil
		case m.mirrored():
			return s.collapse(h, r)
		default:
			return s.reopen(h, r, now)
		}
	})
	if err != nil {
		return err
	}
	if m.Next = next; next == nil || keyHost(next) != h.ID {
		m.Settling, m.Next = false, nil
		delete(s.settling, ref)
		s.summary = summary{}
		s.log.Info("its URLs are gone through", "origin", h.Origins[i].Origin.String(), "mirror", m.mirrored(), "handed_on", m.Sent)
		if err := s.askSitemaps(h, &h.Origins[i], now); err != nil { // if they were not wanted of a mirror
			return err
		}
		if m.idle() {
			h.Origins[i].Mirror = nil
			delete(s.mirrors, ref)
		}
	}
	s.touch(h)
	s.reschedule(h, now)
	return s.flushMirrors(now)
}

// collapse makes a URL of a mirror one that is refused and known as the main host's. The caller writes the record.
func (s *shard) collapse(h *host, r *record) (changed bool, err error) {
	m := h.Origins[r.Origin].Mirror
	u, err := m.Main.URL(r.URL.PathQuery())
	if err != nil {
		return false, nil // too long there; it stays what it is
	}
	switch {
	case r.Class == crawl.Redirected:
		return r.Next != 0, s.unplan(h, r) // where it led is known
	case r.Class != crawl.Refused:
	case r.Reason == crawl.ReasonMirror:
		if r.Detail == string(u) || s.mirrorSpent(m) {
			return false, nil
		}
	case notMapped(r.Reason):
		return false, nil
	}
	r.Glued = r.Glued || r.Class == crawl.Stored
	if err := s.uncount(h, r); err != nil {
		return false, err
	}
	if r.Glued {
		s.aliases = append(s.aliases, crawl.Page{Kind: crawl.KindAlias, URL: r.URL, AliasOf: u})
	}
	r.Class, r.Reason, r.Detail, r.Due, r.Line = crawl.Refused, crawl.ReasonMirror, "", time.Time{}, 0
	s.count(r, +1)
	s.touch(h)
	s.forward(h, r)
	return true, nil
}

// notMapped: what refuses a mirror's URL would refuse the main host's, too.
func notMapped(r crawl.Reason) bool {
	return r == crawl.ReasonScope || r == crawl.ReasonDepth || r == crawl.ReasonTrap || r == crawl.ReasonPorts ||
		r == crawl.ReasonRedirects || r == crawl.ReasonForgotten
}

// reopen lets a URL of what was a mirror in again. The caller writes the record.
func (s *shard) reopen(h *host, r *record, now time.Time) (changed bool, err error) {
	if r.Class == crawl.Redirected && r.Next == 0 {
		return true, s.plan(h, r, now)
	}
	if r.Class != crawl.Refused || r.Reason != crawl.ReasonMirror {
		return false, nil
	}
	if r.Glued {
		r.Glued = false
		s.aliases = append(s.aliases, crawl.Page{Kind: crawl.KindAlias, URL: r.URL})
	}
	return true, s.refetch(h, r, now)
}

// mirrorSpent reports whether a mirror has handed on as many URLs as it may.
func (s *shard) mirrorSpent(m *mirror) bool {
	limit := int64(mirrorBudget)
	if n := s.j.spec.MaxPagesPerHost; n > 0 {
		limit = min(limit, n)
	}
	return m.Sent >= limit
}

// forward hands a URL that is refused as a mirror's to the main host's shard, and notes in the record what it is there.
func (s *shard) forward(h *host, r *record) {
	m := h.Origins[r.Origin].Mirror
	if !m.mirrored() {
		return
	}
	u, err := m.Main.URL(r.URL.PathQuery())
	if err != nil {
		r.Detail = "it cannot be on " + m.Main.String()
		return
	}
	if r.Detail != string(u) { // else it was handed on before, and is now found nearer to a seed
		if s.mirrorSpent(m) {
			r.Detail = fmt.Sprintf("not handed on to %s: a mirror may hand on %d URLs", m.Main, m.Sent)
			return
		}
		m.Sent++
		r.Detail = string(u)
		s.touch(h)
	}
	s.forwards = append(s.forwards, forwarded{h.Name, u, r.FoundOn, r.Depth, r.Hops})
}

// visitedMirror follows a result: it may be what others wait for to compare, a URL of a mirror is the main host's although its
// visit went on, and a page that was stored may be what an examination lacked. The caller writes the record.
func (s *shard) visitedMirror(h *host, r *record, now time.Time) (err error) {
	if err := s.answerSamples(h, r, now); err != nil {
		return err
	}
	switch m := h.Origins[r.Origin].Mirror; {
	case m.mirrored():
		_, err = s.collapse(h, r)
	case m != nil && r.Class == crawl.Stored:
		err = s.mirrorStep(h, int(r.Origin), now, func(m *mirror, e *mirrorEnv) { m.stored(e) })
	}
	return err
}

// flushMirrors sends what was handed on, and tells the indexer of aliases.
func (s *shard) flushMirrors(now time.Time) error {
	for len(s.forwards) > 0 { // a main host of this very shard may be a mirror itself
		list := s.forwards
		s.forwards = nil
		byShard := map[int][]forwarded{}
		for _, f := range list {
			to := crawl.ShardOf(f.url.Host(), s.j.spec.Shards)
			byShard[to] = append(byShard[to], f)
		}
		for to := range s.j.spec.Shards { // in order: what is sent must not depend on a map's
			if err := s.forwardTo(to, byShard[to], now); err != nil {
				return err
			}
		}
	}
	return s.tellIndexer()
}

func (s *shard) forwardTo(to int, list []forwarded, now time.Time) error {
	var ev crawl.Event
	size := 0
	send := func() (err error) {
		defer func() { ev, size = crawl.Event{}, 0 }()
		if to != s.id {
			return s.send(to, &ev)
		}
		for i := range ev.Links {
			if err := s.applyLinks(&ev.Links[i], now); err != nil {
				return err
			}
		}
		return nil
	}
	for _, f := range list {
		last := len(ev.Links) - 1
		if last < 0 || ev.Links[last].FoundOn != f.foundOn || ev.Links[last].Depth != f.depth || ev.Links[last].Hops != f.hops || ev.Links[last].Via != f.via {
			ev.Links = append(ev.Links, crawl.Links{FoundOn: f.foundOn, Depth: f.depth, Hops: f.hops, Via: f.via})
			size += len(f.foundOn) + len(f.via) + 32
			last++
		}
		ev.Links[last].URLs = append(ev.Links[last].URLs, f.url)
		if size += len(f.url) + 8; size >= mirrorMessage {
			if err := send(); err != nil {
				return err
			}
		}
	}
	if len(ev.Links) == 0 {
		return nil
	}
	return send()
}

// tellIndexer sends what is to be glued and unglued. Each message has the number of a visit that nobody is granted: it is
// newer than what was fetched until now, and older than what will be.
func (s *shard) tellIndexer() error {
	if len(s.aliases) == 0 {
		return nil
	}
	s.visitN++
	id := crawl.VisitID{Epoch: s.epoch, N: s.visitN}
	list, size := s.aliases, 0
	from := 0
	s.aliases = nil
	for i := range list {
		list[i].Visit, list[i].FetchedAt = id, time.Now()
		if size += len(list[i].URL) + len(list[i].AliasOf) + 64; size >= mirrorMessage || i == len(list)-1 {
			if err := s.sendPages(list[from : i+1]); err != nil {
				return err
			}
			from, size = i+1, 0
		}
	}
	return nil
}
