package schedule

import (
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/internal/frontier/times"
)

// A key is a host's id, a visit (epoch, number), and the number of requests of the visit that were
// reported before; a value is the number of its requests and a Trace. Visits to a host follow one
// another, so the order of the keys is the order in which the requests were sent, whenever they are
// reported. A trace that is reported again has the same key.
//
// A visit whose fetcher did not answer has a separate value, after everything that it has reported.
// It says that the visit was running from Begin for After.

const (
	// Keep is the minimum number of requests of a host that are kept, if there were as many.
	Keep = 512
	// slack is how many more are kept, so that several are deleted at a time.
	slack = 64
	// silence is in the key of a value for a visit that did not answer.
	silence = 1<<32 - 1
)

// Timeline is a shard's store of requests.
type Timeline struct {
	ledger *hosts.Ledger
}

// NewTimeline returns the Timeline of one shard.
func NewTimeline(ledger *hosts.Ledger) *Timeline { return &Timeline{ledger: ledger} }

// Feature shifts the times of requests to another machine's clock.
func (s *Timeline) Feature() hosts.Feature { return hosts.Feature{Times: eachTime, Past: true} }

// bucket is nil for a shard without a file, and for a read-only file from a version without
// timelines.
func (s *Timeline) bucket() *bolt.Bucket {
	if s.ledger.Tx == nil {
		return nil
	}
	return s.ledger.Tx.Bucket(store.BucketTimeline)
}

func timelineKey(id store.HostID, visit crawl.VisitID, from uint32) []byte {
	k := binary.BigEndian.AppendUint64(id.Append(make([]byte, 0, 24)), visit.Epoch)
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(k, visit.N), from)
}

// Apply stores the requests that a visit reports. A second call has no effect.
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

// put writes a value with n requests.
func (s *Timeline) put(h *hosts.Host, k, v []byte, n int) error {
	b := s.bucket()
	if b == nil {
		return nil
	}
	if was := b.Get(k); was != nil {
		old := count(was)
		if old >= n {
			return nil // it contains no more than is known
		}
		n -= old
	}
	if n != 0 {
		h.KeepRequests(n)
	}
	if err := s.ledger.Put(store.BucketTimeline, k, v); err != nil {
		return err
	}
	return s.trim(h)
}

// trim deletes the oldest requests of a host when there are too many.
func (s *Timeline) trim(h *hosts.Host) error {
	if h.Timeline <= Keep+slack {
		return nil
	}
	var drop [][]byte
	c := s.bucket().Cursor()
	for k, v := c.Seek(h.ID.Append(nil)); k != nil && store.KeyHost(k) == h.ID; k, v = c.Next() {
		n := count(v)
		if h.Timeline-n < Keep {
			break
		}
		h.KeepRequests(-n)
		drop = append(drop, slices.Clone(k))
	}
	for _, k := range drop {
		if err := s.ledger.Drop(store.BucketTimeline, k); err != nil {
			return err
		}
	}
	return nil
}

// count is the number of requests in a value. A value for a visit that did not answer counts as
// one.
func count(v []byte) int {
	n, _ := binary.Uvarint(v)
	return int(min(n, crawl.MaxTrace))
}

// Silent notes that a visit, which began at since, was not answered in time. Which requests its
// fetcher has sent beside those reported is unknown, unless it reports them later.
func (s *Timeline) Silent(h *hosts.Host, visit crawl.VisitID, since, now time.Time) error {
	t := crawl.Trace{Begin: since.UnixMicro(), After: max(now.Sub(since), 0)}
	return s.put(h, timelineKey(h.ID, visit, silence), crawl.AppendTrace(binary.AppendUvarint(nil, 1), &t), 1)
}

// Answered notes that a visit has reported all its requests, perhaps late.
func (s *Timeline) Answered(h *hosts.Host, visit crawl.VisitID) error {
	k := timelineKey(h.ID, visit, silence)
	if b := s.bucket(); b == nil || b.Get(k) == nil {
		return nil
	}
	h.KeepRequests(-1)
	return s.ledger.Drop(store.BucketTimeline, k)
}

// decodeTimeline reads a value.
func decodeTimeline(k, v []byte) (visit crawl.VisitID, from uint32, t crawl.Trace, err error) {
	_, n := binary.Uvarint(v)
	if len(k) != 24 || n <= 0 {
		return visit, 0, t, fmt.Errorf("%w: timeline %x", store.ErrRecord, k)
	}
	if t, err = crawl.DecodeTrace(v[n:]); err != nil {
		err = fmt.Errorf("%w: timeline %x: %w", store.ErrRecord, k, err)
	}
	visit = crawl.VisitID{Epoch: binary.BigEndian.Uint64(k[4:]), N: binary.BigEndian.Uint64(k[12:])}
	return visit, binary.BigEndian.Uint32(k[20:]), t, err
}

// eachTime shows the times of requests to see.
func eachTime(tx *bolt.Tx, see times.See) error {
	b := tx.Bucket(store.BucketTimeline)
	if b == nil {
		return nil // a file from a version without this bucket
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
