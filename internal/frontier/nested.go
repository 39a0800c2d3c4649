package frontier

import (
	"bytes"
	"encoding/binary"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/datatxt"
)

// A data.txt may lead to others on its origin, one in each directory of datasets (docs/formats.md §5.4). Whoever reads it offers them as
// errands. Each is asked for when one that leads to it has been read and what was said of it last no longer holds: here is kept
// until when that is. So a file that nobody leads to any more is asked for no more.

// maxNested is how many nested data.txt files of one origin are known at a time.
const maxNested = 100

// nestedKey is the key of a nested file: host id, URL.
func nestedKey(id hostID, u canon.URL) []byte { return append(id.append(nil), u...) }

func nestedDue(v []byte) time.Time { return time.UnixMilli(int64(binary.BigEndian.Uint64(v))) }

func (s *shard) putNested(key []byte, due time.Time) error {
	s.changes++
	return s.tx.Bucket(bucketNested).Put(key, binary.BigEndian.AppendUint64(nil, uint64(max(due.UnixMilli(), 0))))
}

// wantNested decides whether a nested file is to be asked for now, and notes it. Offered again, it is asked for once.
func (s *shard) wantNested(h *host, e *crawl.Errand, now time.Time) (wanted bool, err error) {
	i, ok := h.originIndex(e.Origin)
	if !ok || e.URL.Origin() != e.Origin || e.Hop < 1 || e.Hop > datatxt.MaxNesting || h.Origins[i].Mirror.mirrored() {
		return false, nil
	}
	if slices.ContainsFunc(h.errands, func(x crawl.Errand) bool { return x.Kind == crawl.ErrandNested && x.URL == e.URL }) {
		return false, nil
	}
	key := nestedKey(h.ID, e.URL)
	v := s.tx.Bucket(bucketNested).Get(key)
	if v != nil && now.Before(nestedDue(v)) {
		return false, nil
	}
	if v == nil {
		if room, err := s.roomForNested(h, e.Origin, now); !room || err != nil {
			return false, err
		}
	}
	return true, s.putNested(key, now.Add(minProbeFresh)) // should this errand be lost, it may be offered again then
}

// roomForNested makes room for one more nested file of an origin, at the cost of one of which nothing holds any more.
func (s *shard) roomForNested(h *host, o canon.Origin, now time.Time) (bool, error) {
	n, past := 0, []byte(nil)
	err := s.eachNested(h, o, func(k, v []byte) error {
		if n++; past == nil && !now.Before(nestedDue(v)) {
			past = slices.Clone(k)
		}
		return nil
	})
	switch {
	case err != nil || n < maxNested:
		return err == nil, err
	case past == nil:
		s.log.Info("more nested data.txt files than are looked for", "origin", o.String(), "limit", maxNested)
		return false, nil
	}
	s.changes++
	return true, s.tx.Bucket(bucketNested).Delete(past)
}

func (s *shard) eachNested(h *host, o canon.Origin, fn func(k, v []byte) error) error {
	prefix := nestedKey(h.ID, canon.URL(o.String()+"/"))
	c := s.tx.Bucket(bucketNested).Cursor()
	for k, v := c.Seek(prefix); bytes.HasPrefix(k, prefix); k, v = c.Next() {
		if err := fn(k, v); err != nil {
			return err
		}
	}
	return nil
}

// answerNested takes in what came of asking for a nested file. Applied again it changes nothing.
func (s *shard) answerNested(a *crawl.Answer, at time.Time) error {
	h := s.hosts[a.Errand.URL.Host()]
	if h == nil {
		return nil
	}
	key := nestedKey(h.ID, a.Errand.URL)
	if s.tx.Bucket(bucketNested).Get(key) == nil {
		return nil
	}
	return s.putNested(key, at.Add(min(max(a.Probe.Fresh, minProbeFresh), maxProbeFresh)))
}

// dropNested forgets the nested files of an origin: what is asked for and was not answered, and until when answers hold.
func (s *shard) dropNested(h *host, o canon.Origin, now time.Time) error {
	var keys [][]byte
	err := s.eachNested(h, o, func(k, _ []byte) error { keys = append(keys, slices.Clone(k)); return nil })
	for _, k := range keys {
		if err == nil {
			s.changes++
			err = s.tx.Bucket(bucketNested).Delete(k)
		}
	}
	for _, e := range slices.Clone(h.errands) {
		if err == nil && e.Kind == crawl.ErrandNested && e.Origin == o {
			err = s.dropErrand(h, e, now)
		}
	}
	return err
}

// shiftNested moves what is kept of nested files to another machine's clock (see shiftTimes).
func shiftNested(tx *bolt.Tx, d time.Duration) error {
	b := tx.Bucket(bucketNested)
	if b == nil {
		return nil
	}
	due := map[string]time.Time{}
	err := b.ForEach(func(k, v []byte) error { due[string(k)] = nestedDue(v).Add(d); return nil })
	for k, t := range due {
		if err == nil {
			err = b.Put([]byte(k), binary.BigEndian.AppendUint64(nil, uint64(max(t.UnixMilli(), 0))))
		}
	}
	return err
}
