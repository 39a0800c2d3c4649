package frontier

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// pace is the interval at which a page is asked for again, in steps of half an octave. It sorts those that are due, so that a
// visit can take the best of very many without looking at all.
type pace uint8

const (
	paceNow  pace = 0  // to be looked at once more: comes first, as does
	paceHint pace = 62 // what is said to have changed
	paceDay  pace = 34 // so that 1 is a second, about
	paceMost pace = 51 // a year
	paceSlow pace = 63 // as seldom as the spec allows
)

func paceOf(d time.Duration) pace {
	p := float64(paceDay) + math.Round(2*math.Log2(max(d, time.Second).Hours()/24))
	return pace(min(max(p, 1), float64(paceMost)))
}

func (p pace) interval() time.Duration {
	return time.Duration(math.Exp2((float64(p)-float64(paceDay))/2) * 24 * float64(time.Hour))
}

// value says how much asking for a page now is worth: how likely it is another page by now, going by what part of its
// interval has passed. over is by how many seconds it is overdue.
func (p pace) value(over int64) float64 {
	if p == paceNow || p == paceHint {
		return math.Inf(1)
	}
	return float64(over) / p.interval().Seconds()
}

// againKey appends the place of a URL among those of its host that are asked for again.
func againKey(b []byte, id hostID, origin uint8, p pace, next int64, order uint64) []byte {
	b = append(id.append(b), origin, byte(p))
	b = binary.BigEndian.AppendUint32(b, uint32(min(max(next, 0), math.MaxUint32)))
	return binary.BigEndian.AppendUint64(b, order)
}

const againNext = 6 // where the time begins in such a key

// planAt has r asked for again from a time on (Unix s), and no longer when it was to be. The caller writes the record.
func (s *shard) planAt(h *host, r *record, next int64, p pace) error {
	if next = max(next, 1); r.Next == next && r.Pace == p {
		return nil
	}
	if err := s.unplan(h, r); err != nil {
		return err
	}
	r.Next, r.Pace = next, p
	o := &h.Origins[r.Origin]
	if o.Again++; o.Again == 1 || o.AgainDue > 0 && r.Next < o.AgainDue {
		o.AgainDue = r.Next
	}
	s.touch(h)
	return s.tx.Bucket(bucketAgain).Put(againKey(nil, h.ID, r.Origin, p, r.Next, r.Order), []byte{})
}

// unplan has r not asked for again. The caller writes the record.
func (s *shard) unplan(h *host, r *record) error {
	if r.Next == 0 {
		return nil
	}
	o := &h.Origins[r.Origin]
	o.Again--
	if r.Next <= o.AgainDue {
		o.AgainDue = 0 // to be looked for when it matters
	}
	key := againKey(nil, h.ID, r.Origin, r.Pace, r.Next, r.Order)
	r.Next, r.Pace = 0, 0
	s.touch(h)
	return s.tx.Bucket(bucketAgain).Delete(key)
}

// againFrom is when a URL of the i-th origin of h may be asked for again at the earliest; ok is false when none ever is.
func (s *shard) againFrom(h *host, i int) (t time.Time, ok bool) {
	o := &h.Origins[i]
	if o.Again == 0 || !s.j.spec.Recrawl {
		return t, false
	}
	if o.AgainDue == 0 && s.tx != nil {
		s.eachPace(h, i, func(_ pace, next int64, _ uint64) bool {
			if o.AgainDue == 0 || next < o.AgainDue {
				o.AgainDue = next
			}
			return false
		})
	}
	return time.Unix(o.AgainDue, 0), true
}

// againOf is how many URLs of h are asked for again, and when the first of them may be.
func (s *shard) againOf(h *host) (first time.Time, n int64) {
	for i := range h.Origins {
		t, ok := s.againFrom(h, i)
		if !ok {
			continue
		}
		if n == 0 || t.Before(first) {
			first = t
		}
		n += h.Origins[i].Again
	}
	if first.Before(h.Due) {
		first = h.Due
	}
	return first, n
}

// eachPace calls f for the URLs of an origin that are asked for again: pace after pace, those of a pace by when they are due,
// until f returns false; then with the next pace.
func (s *shard) eachPace(h *host, i int, f func(p pace, next int64, order uint64) bool) {
	c := s.tx.Bucket(bucketAgain).Cursor()
	prefix := append(h.ID.append(make([]byte, 0, 18)), byte(i))
	for p := 0; p <= int(paceSlow); p++ {
		k, _ := c.Seek(append(prefix, byte(p)))
		if k == nil || keyHost(k) != h.ID || int(k[4]) != i {
			return
		}
		for p = int(k[5]); k != nil && keyHost(k) == h.ID && int(k[4]) == i && int(k[5]) == p; k, _ = c.Next() {
			if !f(pace(p), int64(binary.BigEndian.Uint32(k[againNext:])), keyOrder(k)) {
				break
			}
		}
	}
}

// againDue reports whether the next visit to h may ask for pages again.
func (s *shard) againDue(h *host, now time.Time) bool {
	if o := h.slow(); h.errandsTurn(now) || o != nil && o.from(now).After(now) {
		return false
	}
	for i := range h.Origins {
		if t, ok := s.againFrom(h, i); ok && !t.After(now) && !h.Origins[i].from(now).After(now) {
			if s.budget.mayRead() {
				return true
			}
			s.spent = now.Add(spentPause)
			return false
		}
	}
	return false
}

// againShare is the part of a host's requests that pages to be asked for again have while new URLs wait: one of so many. More would
// hold the crawl up, none would let the pages it began with, and the links on them, grow old as long as the queue is not empty.
const againShare = 4

// shareAgain is how much of a visit of room URLs is kept for pages that are due to be asked for again, of which there are due. Where a
// visit has room for fewer than againShare they have one visit of as many.
func (h *host) shareAgain(room, due int) int {
	return min((room+h.passed)/againShare, due, room)
}

// tookTurn notes what a visit was filled with.
func (h *host) tookTurn(dueAgain bool, fresh, again int) {
	switch {
	case !dueAgain || again > 0:
		h.passed = 0
	default:
		h.passed += fresh
	}
}

// dueAgain is a URL that is due to be asked for again.
type dueAgain struct {
	origin int
	order  uint64
	value  float64
}

// dueAgain returns up to n URLs of h that are due to be asked for again, the most valuable first.
func (s *shard) dueAgain(h *host, n int, now time.Time) (all []dueAgain) {
	for i := range h.Origins {
		if t, ok := s.againFrom(h, i); !ok || t.After(now) || h.Origins[i].from(now).After(now) {
			continue
		}
		taken, of := 0, pace(0)
		s.eachPace(h, i, func(p pace, next int64, order uint64) bool {
			if p != of {
				taken, of = 0, p
			}
			over := now.Unix() - next
			if over < 0 || taken >= n {
				return false
			}
			all = append(all, dueAgain{i, order, p.value(over + int64(s.clamped(p)/time.Second))})
			taken++
			return true
		})
	}
	slices.SortFunc(all, func(a, b dueAgain) int {
		return cmp.Or(cmp.Compare(b.value, a.value), cmp.Compare(a.order, b.order))
	})
	return all[:min(n, len(all))]
}

// pickAgain fills a visit to h up to room URLs with those that are due to be asked for again.
func (s *shard) pickAgain(h *host, due []dueAgain, room int, now time.Time, g *crawl.Visit, used *[maxOrigins]bool, bytes *int) error {
	urls := s.tx.Bucket(bucketURLs)
	for _, d := range due[:min(len(due), max(room-len(g.URLs), 0))] {
		key := urlKey(make([]byte, 0, 12), h.ID, d.order)
		r, err := decodeRecord(key, urls.Get(key))
		if err != nil {
			return err
		}
		if t := s.toldUntil(h, &r); t > now.Unix() && s.holds(&r) && s.wanted(&r) {
			if err := s.planAt(h, &r, t, r.Pace); err != nil {
				return err
			}
			s.changes++
			if err := urls.Put(key, r.append(nil)); err != nil {
				return err
			}
			continue
		}
		if !s.holds(&r) || !s.wanted(&r) {
			if err := s.queueAgain(h, key, &r, now); err != nil {
				return err
			}
			continue
		}
		if *bytes += len(r.URL) + len(r.FoundOn) + len(r.ETag) + 64; *bytes > maxVisitBytes && len(g.URLs) > 0 {
			break
		}
		used[d.origin] = true
		g.URLs = append(g.URLs, crawl.VisitURL{
			URL: r.URL, FoundOn: r.FoundOn, Depth: r.Depth, Hops: r.Hops, Attempts: max(r.Attempts-1, 0),
			ETag: r.ETag, LastModified: r.lastModified(), Keep: !r.Gone,
		})
	}
	return nil
}

// queueAgain queues a URL that is due to be asked for again and of which no copy is held: it counts as any that is to be
// fetched. One that is wanted no longer is let be.
func (s *shard) queueAgain(h *host, key []byte, r *record, now time.Time) error {
	var err error
	if s.wanted(r) {
		err = s.refetch(h, r, now)
	} else {
		err = s.unplan(h, r)
	}
	if err != nil {
		return err
	}
	s.changes++
	return s.tx.Bucket(bucketURLs).Put(key, r.append(nil))
}
