package schedule

import (
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/times"
)

// A key is a host's id, a visit (epoch, number), and how many requests of the visit were told of
// before; a value is how many it holds and a Trace. Visits to a host follow one another, so the
// order of the keys is the order in which the requests were sent, whenever they are told of. A
// trace that is told of again has the key it had.
//
// A visit whose fetcher did not answer leaves a value of its own, behind all it has told: that it
// was under way from Begin for After.

const (
	// Keep is how many requests of a host are kept at least, if there were so many.
	Keep = 512
	// slack is how many more are, so that few are dropped at a time.
	slack = 64
	// silence is in the key where a visit's fetcher fell silent.
	silence = 1<<32 - 1
)

// Timeline is what a shard keeps of requests.
type Timeline struct {
	ledger *hosts.Ledger
}

// New returns it for one shard, with the room it stands on.
func NewTimeline(ledger *hosts.Ledger) *Timeline { return &Timeline{ledger: ledger} }

// Feature has the times of requests follow another machine's clock.
func (s *Timeline) Feature() hosts.Feature { return hosts.Feature{Times: eachTime, Past: true} }

// bucket is nil for a shard without a file, and for a file from before there were timelines that is
// only read.
func (s *Timeline) bucket() *bolt.Bucket {
	if s.ledger.Tx == nil {
		return nil
	}
	return s.ledger.Tx.Bucket(hosts.BucketTimeline)
}

func timelineKey(id hosts.HostID, visit crawl.VisitID, from uint32) []byte {
	k := binary.BigEndian.AppendUint64(id.Append(make([]byte, 0, 24)), visit.Epoch)
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(k, visit.N), from)
}

// Apply keeps what a visit tells of its requests. Applied again it changes nothing.
func (s *Timeline) Apply(t *crawl.Trace, visit crawl.VisitID) error {
	h, err := s.ledger.HostNamed(t.Host)
	if h == nil || err != nil {
		return err // it was never visited, as far as this shard knows
	}
	if len(t.Requests) > crawl.MaxTrace {
		t.Requests, t.Last = t.Requests[:crawl.MaxTrace], false
	}
	if t.Last {
		if err := s.Answered(h, visit); err != nil {
			return err
		}
	}
	if len(t.Requests) == 0 || t.From >= silence {
		return nil
	}
	kept := *t
	kept.Host, kept.From = "", 0
	v := crawl.AppendTrace(binary.AppendUvarint(nil, uint64(len(t.Requests))), &kept)
	return s.put(h, timelineKey(h.ID, visit, uint32(t.From)), v, len(t.Requests))
}

// put writes a value that holds n requests.
func (s *Timeline) put(h *hosts.Host, k, v []byte, n int) error {
	b := s.bucket()
	if b == nil {
		return nil
	}
	if was := b.Get(k); was != nil {
		old := count(was)
		if old >= n {
			return nil // it tells no more than is known
		}
		n -= old
	}
	if n != 0 {
		h.Timeline += n
		s.ledger.MarkDirty(h)
	}
	if err := s.ledger.Put(hosts.BucketTimeline, k, v); err != nil {
		return err
	}
	return s.trim(h)
}

// trim drops the oldest requests of a host when there are too many.
func (s *Timeline) trim(h *hosts.Host) error {
	if h.Timeline <= Keep+slack {
		return nil
	}
	var drop [][]byte
	c := s.bucket().Cursor()
	for k, v := c.Seek(h.ID.Append(nil)); k != nil && hosts.KeyHost(k) == h.ID; k, v = c.Next() {
		n := count(v)
		if h.Timeline-n < Keep {
			break
		}
		h.Timeline -= n
		drop = append(drop, slices.Clone(k))
	}
	for _, k := range drop {
		if err := s.ledger.Drop(hosts.BucketTimeline, k); err != nil {
			return err
		}
	}
	return nil
}

// count is how many requests a value holds. What marks silence counts as one.
func count(v []byte) int {
	n, _ := binary.Uvarint(v)
	return int(min(n, crawl.MaxTrace))
}

// Silent notes that a visit, under way since a while, was not answered in time: what its fetcher
// has sent, beside what it told of, is not known unless it tells yet.
func (s *Timeline) Silent(h *hosts.Host, visit crawl.VisitID, since, now time.Time) error {
	t := crawl.Trace{Begin: since.UnixMicro(), After: max(now.Sub(since), 0)}
	return s.put(h, timelineKey(h.ID, visit, silence), crawl.AppendTrace(binary.AppendUvarint(nil, 1), &t), 1)
}

// Answered notes that a visit has told of all its requests, late perhaps.
func (s *Timeline) Answered(h *hosts.Host, visit crawl.VisitID) error {
	k := timelineKey(h.ID, visit, silence)
	if b := s.bucket(); b == nil || b.Get(k) == nil {
		return nil
	}
	h.Timeline--
	s.ledger.MarkDirty(h)
	return s.ledger.Drop(hosts.BucketTimeline, k)
}

// decode reads a value.
func decodeTimeline(k, v []byte) (visit crawl.VisitID, from uint32, t crawl.Trace, err error) {
	_, n := binary.Uvarint(v)
	if len(k) != 24 || n <= 0 {
		return visit, 0, t, fmt.Errorf("%w: timeline %x", hosts.ErrRecord, k)
	}
	if t, err = crawl.DecodeTrace(v[n:]); err != nil {
		err = fmt.Errorf("%w: timeline %x: %w", hosts.ErrRecord, k, err)
	}
	visit = crawl.VisitID{Epoch: binary.BigEndian.Uint64(k[4:]), N: binary.BigEndian.Uint64(k[12:])}
	return visit, binary.BigEndian.Uint32(k[20:]), t, err
}

// eachTime walks the times of requests.
func eachTime(tx *bolt.Tx, see times.See) error {
	b := tx.Bucket(hosts.BucketTimeline)
	if b == nil {
		return nil // a file from before there were any
	}
	type change struct{ k, v []byte }
	var changes []change
	err := b.ForEach(func(k, v []byte) error {
		_, _, t, err := decodeTimeline(k, v)
		if err != nil {
			return err
		}
		at := time.UnixMicro(t.Begin)
		see(&at, times.Happened)
		if at.UnixMicro() != t.Begin {
			t.Begin = at.UnixMicro()
			changes = append(changes, change{slices.Clone(k), crawl.AppendTrace(binary.AppendUvarint(nil, uint64(count(v))), &t)})
		}
		return nil
	})
	for _, c := range changes {
		if err == nil {
			err = b.Put(c.k, c.v)
		}
	}
	return err
}
