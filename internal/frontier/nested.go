package frontier

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
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

// nested is the record of a nested file.
type nested struct {
	Due    time.Time        `json:"due"` // not asked for before
	State  crawl.ProbeState `json:"state,omitempty"`
	Reason string           `json:"reason,omitempty"`
}

func (s *shard) nestedRecord(key []byte) (r nested, known bool, err error) {
	v := s.tx.Bucket(bucketNested).Get(key)
	if v == nil {
		return r, false, nil
	}
	return r, true, r.decode(key, v)
}

func (r *nested) decode(key, v []byte) error {
	if err := json.Unmarshal(v, r); err != nil {
		return fmt.Errorf("nested data.txt %q: %w", key[4:], err)
	}
	return nil
}

func (s *shard) putNested(key []byte, r nested) error {
	v, err := json.Marshal(&r)
	if err != nil {
		return err
	}
	s.changes++
	return s.tx.Bucket(bucketNested).Put(key, v)
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
	r, known, err := s.nestedRecord(key)
	if err != nil || known && now.Before(r.Due) {
		return false, err
	}
	if !known {
		if room, err := s.roomForNested(h, e.Origin, now); !room || err != nil {
			return false, err
		}
	}
	r.Due = now.Add(minProbeFresh) // should this errand be lost, it may be offered again then
	return true, s.putNested(key, r)
}

// roomForNested makes room for one more nested file of an origin, at the cost of one of which nothing holds any more.
func (s *shard) roomForNested(h *host, o canon.Origin, now time.Time) (bool, error) {
	n, past := 0, []byte(nil)
	err := s.eachNested(h, o, func(k []byte, r *nested) error {
		if n++; past == nil && !now.Before(r.Due) {
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

func (s *shard) eachNested(h *host, o canon.Origin, fn func(key []byte, r *nested) error) error {
	b := s.tx.Bucket(bucketNested)
	if b == nil {
		return nil // a file from before there were any, opened for reading only
	}
	prefix := nestedKey(h.ID, canon.URL(o.String()+"/"))
	c := b.Cursor()
	for k, v := c.Seek(prefix); bytes.HasPrefix(k, prefix); k, v = c.Next() {
		var r nested
		if err := r.decode(k, v); err != nil {
			return err
		}
		if err := fn(k, &r); err != nil {
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
	if _, known, err := s.nestedRecord(key); !known || err != nil {
		return err
	}
	p := &a.Probe
	return s.putNested(key, nested{Due: at.Add(min(max(p.Fresh, minProbeFresh), maxProbeFresh)), State: p.State, Reason: strings.Clone(p.Reason)})
}

// judgeNested judges the nested files of an origin as judgeData does its own: what was read of those that are forgotten is gone from
// the catalogue, and those that are let in again are due, with the file that leads to them. The caller touches the host.
func (s *shard) judgeNested(h *host, o *origin) error {
	changed := map[string]nested{}
	err := s.eachNested(h, o.Origin, func(k []byte, r *nested) error {
		was := strings.HasPrefix(r.Reason, string(crawl.ReasonForgotten))
		if is := s.j.forgotten.Has(canon.URL(k[4:])); is != was {
			changed[string(k)] = *r
		}
		return nil
	})
	for k, r := range changed {
		switch was := strings.HasPrefix(r.Reason, string(crawl.ReasonForgotten)); {
		case err != nil:
		case was:
			s.changes++
			err = s.tx.Bucket(bucketNested).Delete([]byte(k))
			o.DataDue = time.Time{}
		default:
			r.State, r.Reason = crawl.ProbeRefused, string(crawl.ReasonForgotten)
			err = s.putNested([]byte(k), r)
		}
	}
	return err
}

// nestedInfos is what is known of an origin's nested files.
func (s *shard) nestedInfos(h *host, o canon.Origin) (all []crawl.NestedInfo) {
	_ = s.eachNested(h, o, func(k []byte, r *nested) error {
		all = append(all, crawl.NestedInfo{URL: string(k[4:]), State: r.State.String(), Reason: r.Reason})
		return nil
	})
	return all
}

// dropNested forgets the nested files of an origin: what is asked for and was not answered, and until when answers hold.
func (s *shard) dropNested(h *host, o canon.Origin, now time.Time) error {
	var keys [][]byte
	err := s.eachNested(h, o, func(k []byte, _ *nested) error { keys = append(keys, slices.Clone(k)); return nil })
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
	shifted := map[string][]byte{}
	err := b.ForEach(func(k, v []byte) error {
		var r nested
		if err := r.decode(k, v); err != nil {
			return fmt.Errorf("%w: %w", errUnreadable, err)
		}
		r.Due = r.Due.Add(d)
		v, err := json.Marshal(&r)
		shifted[string(k)] = v
		return err
	})
	for k, v := range shifted {
		if err == nil {
			err = b.Put([]byte(k), v)
		}
	}
	return err
}
