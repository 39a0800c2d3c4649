package frontier

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/scope"
	"github.com/curtsy/curtsy/pkg/canon"
)

// maxHops is how many redirects in a row are followed for a page (design §8).
const maxHops = 10

// maxQueryDepth ends spaces of queries that lead from one to the next for ever, such as calendars: no URL of theirs looks
// odd, but each is a link further away. Pages so far from every seed that have a query are hardly ever anything else.
const maxQueryDepth = 64

// judge holds what decides whether a URL belongs to the crawl: the spec, its scope, the hosts that may be hurried.
// It is replaced as a whole when the spec changes.
type judge struct {
	spec  crawl.Spec
	scope *scope.Scope
	hurry map[canon.Host]bool

	forgotten crawl.Forgotten

	forgottenText string // Spec.ForgottenText
}

func newJudge(spec crawl.Spec) (judge, error) {
	j := judge{spec: spec, hurry: map[canon.Host]bool{}, forgotten: crawl.NewForgotten(spec.Forgotten), forgottenText: spec.ForgottenText()}
	var seeds []canon.URL
	for _, raw := range spec.Seeds {
		u, err := canon.Parse(raw)
		if err != nil {
			return j, fmt.Errorf("seed %q: %w", raw, err)
		}
		seeds = append(seeds, u)
		j.hurry[u.Host()] = true
	}
	for _, raw := range spec.Hurry {
		u, err := canon.Parse("http://" + strings.TrimSpace(raw) + "/")
		if err != nil {
			return j, fmt.Errorf("hurry %q: %w: give a host name, for example docs.example.org", raw, err)
		}
		j.hurry[u.Host()] = true
	}
	var err error
	j.scope, err = scope.New(scope.Spec{Kind: spec.Scope, Seeds: seeds, Include: spec.Include, Exclude: spec.Exclude})
	return j, err
}

// judge says what a URL in scope is to be: Queued, or Refused with the reason.
func (j *judge) judge(r *record, h *host) (crawl.Class, crawl.Reason, string) {
	if j.forgotten.Has(r.URL) {
		return crawl.Refused, crawl.ReasonForgotten, ""
	}
	if reason, trapped := scope.Trap(r.URL); trapped {
		return crawl.Refused, crawl.ReasonTrap, reason
	}
	if r.Depth > maxQueryDepth && strings.Contains(string(r.URL), "?") {
		return crawl.Refused, crawl.ReasonTrap, fmt.Sprintf("a query %d links from the nearest seed: an endless calendar, most likely", r.Depth)
	}
	if j.spec.MaxDepth >= 0 && r.Depth > j.spec.MaxDepth {
		return crawl.Refused, crawl.ReasonDepth, fmt.Sprintf("depth %d, --max-depth %d", r.Depth, j.spec.MaxDepth)
	}
	if r.Hops > maxHops {
		return crawl.Refused, crawl.ReasonRedirects, fmt.Sprintf("%d redirects in a row", r.Hops)
	}
	if h.Origins[r.Origin].Mirror.mirrored() {
		return crawl.Refused, crawl.ReasonMirror, "" // who may hand it on does so: see forward
	}
	if n := j.spec.MaxPagesPerHost; n > 0 && h.Stored >= n {
		return crawl.Refused, crawl.ReasonHostLimit, fmt.Sprintf("--max-pages-per-host %d", n)
	}
	return crawl.Queued, "", ""
}

// fingerprint changes when URLs judged earlier might be judged otherwise now.
func (j *judge) fingerprint() string {
	seeds := slices.Sorted(slices.Values(j.spec.Seeds))
	return fmt.Sprintf("%s|%q|%q|%q|%d|%d", j.spec.Scope, seeds, j.spec.Include, j.spec.Exclude, j.spec.MaxDepth, j.spec.MaxPagesPerHost)
}

// judgeAnew goes through all URLs when the spec has changed since they were judged: what is out of scope now is
// refused, what a limit refused and no longer does is let in again. One pass over the file, and only then.
func (s *shard) judgeAnew() error {
	fp := s.j.fingerprint()
	if s.m.Spec == fp {
		return nil
	}
	first := s.m.Spec == ""
	s.m.Spec = fp
	s.changes++
	if first {
		return nil
	}
	now := time.Now()
	s.mirrorsAnew(now)
	s.judged = now
	s.recent = recent{}
	var led []crawl.Links // targets of redirects that the scope kept out, and does no longer
	err := s.eachRecord(func(h *host, k []byte, r *record) (bool, error) {
		switch {
		case r.Class == crawl.Redirected:
			if u, err := canon.Parse(r.Detail); err == nil && s.j.scope.Decide(u).In { // as in offerTarget
				led = append(led, crawl.Links{FoundOn: r.URL, Depth: r.Depth, Hops: r.Hops + 1, URLs: []canon.URL{u}})
			}
			return false, nil
		case r.Class == crawl.Queued && !s.j.scope.Decide(r.URL).In:
			s.landed(h, r.Order)
			if err := s.dequeue(h, r); err != nil {
				return false, err
			}
			r.Class, r.Reason, r.Detail, r.Due = crawl.Refused, crawl.ReasonScope, s.j.scope.Decide(r.URL).Rule, time.Time{}
			s.count(r, +1)
		case r.Class == crawl.Queued:
			class, reason, detail := s.j.judge(r, h)
			if class == crawl.Queued {
				return false, nil
			}
			s.landed(h, r.Order)
			if err := s.dequeue(h, r); err != nil {
				return false, err
			}
			r.Class, r.Reason, r.Detail, r.Due = class, reason, detail, time.Time{}
			s.count(r, +1)
		case r.Class == crawl.Refused && reopenable(r.Reason):
			class, reason, detail := crawl.Refused, crawl.ReasonScope, ""
			if d := s.j.scope.Decide(r.URL); d.In {
				class, reason, detail = s.j.judge(r, h)
			} else {
				detail = d.Rule
			}
			if class == crawl.Refused && reason == r.Reason {
				return false, nil
			}
			s.count(r, -1)
			r.Class, r.Reason, r.Detail = class, reason, detail
			if class != crawl.Queued {
				s.count(r, +1)
				break
			}
			if err := s.enqueue(h, r); err != nil {
				return false, err
			}
		default:
			return false, nil
		}
		s.reschedule(h, now)
		return true, nil
	})
	if err != nil {
		return err
	}
	for i := range led {
		if err := s.offer(&led[i], now); err != nil {
			return err
		}
	}
	return nil
}

// offer hands links, all to one host, to the shard of that host.
func (s *shard) offer(l *crawl.Links, now time.Time) error {
	to := crawl.ShardOf(l.URLs[0].Host(), s.j.spec.Shards)
	if to == s.id {
		return s.applyLinks(l, now)
	}
	return s.send(to, &crawl.Event{Links: []crawl.Links{*l}})
}

// offerTarget offers where r, which was just found to be a redirect, leads, when its fetcher may have judged that by an older
// spec than ours: as long after a change as visits granted before may last, and while the log is read after one, since
// judgeAnew has not seen what is in it.
func (s *shard) offerTarget(r *record, now time.Time) error {
	if s.judged.IsZero() || s.caughtUp && now.Sub(s.judged) > time.Hour {
		return nil
	}
	u, err := canon.Parse(r.Detail)
	if err != nil || !s.j.scope.Decide(u).In {
		return nil
	}
	return s.offer(&crawl.Links{FoundOn: r.URL, Depth: r.Depth, Hops: r.Hops + 1, URLs: []canon.URL{u}}, now)
}

// judgeBy makes the shard judge by another spec from now on, and what it has judged before as well. The caller holds mu.
func (s *shard) judgeBy(j judge) {
	recrawl := s.j.spec.Recrawl
	s.j = j
	s.summary = summary{}
	if s.tx == nil || s.broken != nil {
		return
	}
	err := s.judgeAnew()
	if err == nil {
		err = s.beginPasses()
	}
	if err != nil {
		s.fail(err) // keepCommitted ends the shard with it, and it is opened anew
		return
	}
	s.sitesDue = time.Now() // what is wanted of sites may be another thing now
	if recrawl != j.spec.Recrawl {
		for _, h := range s.hosts {
			s.reschedule(h, time.Now())
		}
	}
}

// reopenable reasons are those of the spec, not of the site.
func reopenable(r crawl.Reason) bool {
	return r == crawl.ReasonScope || r == crawl.ReasonDepth || r == crawl.ReasonHostLimit || r == crawl.ReasonTrap
}

// requeueSince puts every URL with an answer since t back into its queue: its page may be gone from the hand-off.
func (s *shard) requeueSince(t time.Time) error {
	now := time.Now()
	return s.eachRecord(func(h *host, k []byte, r *record) (bool, error) {
		if r.Class == crawl.Queued || r.FetchedAt == 0 || r.FetchedAt < t.UnixMilli() || r.Reason == crawl.ReasonMirror {
			return false, nil
		}
		if err := s.uncount(h, r); err != nil {
			return false, err
		}
		r.Class, r.Reason, r.Detail, r.Due, r.Attempts = crawl.Queued, "", "", time.Time{}, 0
		if err := s.enqueue(h, r); err != nil {
			return false, err
		}
		s.reschedule(h, now)
		return true, nil
	})
}

// eachRecord calls f for every URL; f returns whether it changed the record, which is then written.
func (s *shard) eachRecord(f func(h *host, key []byte, r *record) (bool, error)) error {
	var from []byte
	for {
		next, err := s.stretch(from, 1000, f)
		if err != nil || next == nil {
			return err
		}
		from = next
	}
}

// stretch is eachRecord for up to n URLs, beginning with key from (nil: the first). It returns the key to go on from, nil at
// the end. bbolt forbids changing a bucket under its own cursor, so all are read before the first is changed.
func (s *shard) stretch(from []byte, n int, f func(h *host, key []byte, r *record) (bool, error)) (next []byte, err error) {
	b := s.tx.Bucket(bucketURLs)
	var recs []record
	var keys [][]byte
	c := b.Cursor()
	k, v := c.Seek(from)
	for ; k != nil && len(recs) < n; k, v = c.Next() {
		r, err := decodeRecord(k, v)
		if err != nil {
			return nil, fmt.Errorf("key %x: %w", k, err)
		}
		recs, keys = append(recs, r), append(keys, slices.Clone(k))
	}
	next = slices.Clone(k)
	for i := range recs {
		h := s.byID[keyHost(keys[i])]
		if h == nil {
			return nil, fmt.Errorf("key %x: no such host: %w", keys[i], errRecord)
		}
		changed, err := f(h, keys[i], &recs[i])
		if err != nil {
			return nil, err
		}
		if !changed {
			continue
		}
		s.changes++
		if err := b.Put(keys[i], recs[i].append(nil)); err != nil {
			return nil, err
		}
	}
	return next, nil
}
