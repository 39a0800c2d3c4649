package urls

import (
	"encoding/binary"
	"math"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/store"
)

// Pace is the interval at which a page is fetched again, in steps of half an octave. Pages are
// sorted by it, so that a visit can choose the most valuable of very many without reading all.
type Pace uint8

const (
	PaceNow  Pace = 0  // the page is to be fetched again at once; comes first, as does
	PaceHint Pace = 62 // a page that was reported as changed
	paceDay  Pace = 34 // with this value, 1 is about a second
	PaceMost Pace = 51 // a year
	PaceSlow Pace = 63 // as rarely as the spec permits
)

// PaceOf is the pace whose interval is nearest to d.
func PaceOf(d time.Duration) Pace {
	p := float64(paceDay) + math.Round(2*math.Log2(max(d, time.Second).Hours()/24))
	return Pace(min(max(p, 1), float64(PaceMost)))
}

// Interval is the time after which a page of that pace is fetched again.
func (p Pace) Interval() time.Duration {
	return time.Duration(math.Exp2((float64(p)-float64(paceDay))/2) * 24 * float64(time.Hour))
}

// Value says how much fetching a page again now is worth: how likely it is to have changed,
// estimated by the part of its interval that has passed. over is the number of seconds by which it
// is overdue.
func (p Pace) Value(over int64) float64 {
	if p == PaceNow || p == PaceHint {
		return math.Inf(1)
	}
	return float64(over) / p.Interval().Seconds()
}

// AgainKey appends the key of a URL in BucketAgain.
func AgainKey(b []byte, id store.HostID, origin uint8, p Pace, next int64, order uint64) []byte {
	b = append(id.Append(b), origin, byte(p))
	b = binary.BigEndian.AppendUint32(b, uint32(min(max(next, 0), math.MaxUint32)))
	return binary.BigEndian.AppendUint64(b, order)
}

const againNext = 6 // position of the time in such a key

// PlanAt plans to fetch r again at next (Unix s), and replaces any earlier plan. The caller writes
// the record.
func (s *URLs) PlanAt(h *hosts.Host, r *Record, next int64, p Pace) error {
	if next = max(next, 1); r.Next == next && r.Pace == p {
		return nil
	}
	if err := s.Unplan(h, r); err != nil {
		return err
	}
	r.Next, r.Pace, r.Hint = next, p, 0
	h.Origins[r.Origin].AddAgain(r.Next)
	return s.ledger.Put(store.BucketAgain, AgainKey(nil, h.ID, r.Origin, p, r.Next, r.Order), []byte{})
}

// PlanHint plans to fetch r again at next (Unix s), because the source by has reported that it
// changed. The caller writes the record.
func (s *URLs) PlanHint(h *hosts.Host, r *Record, next int64, by crawl.Source) error {
	err := s.PlanAt(h, r, next, PaceHint)
	r.Hint = by
	return err
}

// Unplan removes the plan to fetch r again. The caller writes the record.
func (s *URLs) Unplan(h *hosts.Host, r *Record) error {
	if r.Next == 0 {
		return nil
	}
	h.Origins[r.Origin].DropAgain(r.Next)
	key := AgainKey(nil, h.ID, r.Origin, r.Pace, r.Next, r.Order)
	r.Next, r.Pace, r.Hint = 0, 0, 0
	return s.ledger.Drop(store.BucketAgain, key)
}

// EachPace calls f for the URLs of an origin that are to be fetched again, in the order of their
// paces and, within a pace, of their times. When f returns false, EachPace continues with the next
// pace.
func (s *URLs) EachPace(h *hosts.Host, i int, f func(p Pace, next int64, order uint64) bool) {
	c := s.ledger.Tx.Bucket(store.BucketAgain).Cursor()
	prefix := append(h.ID.Append(make([]byte, 0, 18)), byte(i))
	for p := 0; p <= int(PaceSlow); p++ {
		k, _ := c.Seek(append(prefix, byte(p)))
		if k == nil || store.KeyHost(k) != h.ID || int(k[4]) != i {
			return
		}
		for p = int(k[5]); k != nil && store.KeyHost(k) == h.ID && int(k[4]) == i && int(k[5]) == p; k, _ = c.Next() {
			if !f(Pace(p), int64(binary.BigEndian.Uint32(k[againNext:])), store.KeyOrder(k)) {
				break
			}
		}
	}
}
