package wellknown

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/internal/frontier/times"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/datatxt"
)

// A data.txt may lead to others on its origin, one in each directory of datasets (docs/formats.md
// §5.4). The visit that reads it offers them as auxiliary requests. Each is requested when a file
// that leads to it has been read and its last result is too old. The record stores until when the
// result is valid. So a file to which no other leads is not requested any more.

// MaxNested is the maximum number of known nested data.txt files of one origin.
const MaxNested = 100

// nestedKey is the key of a nested file: host id, URL.
func nestedKey(id store.HostID, u canon.URL) []byte { return append(id.Append(nil), u...) }

// Nested is the record of a nested file.
type Nested struct {
	Due    time.Time        `json:"due"` // no request before
	State  crawl.ProbeState `json:"state,omitempty"`
	Reason string           `json:"reason,omitempty"`
}

// Times shows the times of the record to see.
func (r *Nested) Times(see times.See) { see(&r.Due, times.Waits) }

func (s *DataFiles) nestedRecord(key []byte) (r Nested, known bool, err error) {
	v := s.ledger.Tx.Bucket(store.BucketNested).Get(key)
	if v == nil {
		return r, false, nil
	}
	return r, true, r.decode(key, v)
}

func (r *Nested) decode(key, v []byte) error {
	if err := json.Unmarshal(v, r); err != nil {
		return fmt.Errorf("nested data.txt %q: %w", key[4:], err)
	}
	return nil
}

func (s *DataFiles) putNested(key []byte, r Nested) error {
	v, err := json.Marshal(&r)
	if err != nil {
		return err
	}
	return s.ledger.Put(store.BucketNested, key, v)
}

// wantNested accepts the request for a nested file that is due.
func (s *DataFiles) wantNested(e *crawl.AuxRequest, now time.Time) (*hosts.Host, error) {
	h, err := s.features.NewAux(e, now)
	if h == nil || err != nil {
		return nil, err
	}
	if due, err := s.nestedDue(h, e, now); !due || err != nil {
		return nil, err
	}
	return h, nil
}

// nestedDue decides whether a nested file is to be requested now, and notes it. Repeated offers
// cause one request. A forgotten file is never due, although a data.txt may still name it.
func (s *DataFiles) nestedDue(h *hosts.Host, e *crawl.AuxRequest, now time.Time) (due bool, err error) {
	i, ok := h.OriginIndex(e.Origin)
	if !ok || e.URL.Origin() != e.Origin || e.Hop < 1 || e.Hop > datatxt.MaxNesting || h.Origins[i].Mirror.Mirrored() || s.ledger.Judge.Forgotten.Has(e.URL) {
		return false, nil
	}
	if slices.ContainsFunc(h.Aux, func(x crawl.AuxRequest) bool { return x.Kind == crawl.AuxNested && x.URL == e.URL }) {
		return false, nil
	}
	key := nestedKey(h.ID, e.URL)
	r, known, err := s.nestedRecord(key)
	if err != nil || known && now.Before(r.Due) {
		return false, err
	}
	if !known {
		if ok, err := s.capacityForNested(h, e.Origin, now); !ok || err != nil {
			return false, err
		}
	}
	r.Due = now.Add(minProbeFresh) // if this request is lost, the file may be offered again then
	return true, s.putNested(key, r)
}

// capacityForNested makes space for another nested file of an origin, by removing one whose result
// is too old.
func (s *DataFiles) capacityForNested(h *hosts.Host, o canon.Origin, now time.Time) (bool, error) {
	n, past := 0, []byte(nil)
	err := s.EachNested(h, o, func(k []byte, r *Nested) error {
		if n++; past == nil && !now.Before(r.Due) {
			past = slices.Clone(k)
		}
		return nil
	})
	switch {
	case err != nil || n < MaxNested:
		return err == nil, err
	case past == nil:
		s.ledger.Log.Info("too many nested data.txt files", "origin", o.String(), "limit", MaxNested)
		return false, nil
	}
	return true, s.ledger.Drop(store.BucketNested, past)
}

// EachNested calls fn for each nested data.txt of an origin.
func (s *DataFiles) EachNested(h *hosts.Host, o canon.Origin, fn func(key []byte, r *Nested) error) error {
	b := s.ledger.Tx.Bucket(store.BucketNested)
	if b == nil {
		return nil // a file from a version without this bucket, opened for reading only
	}
	prefix := nestedKey(h.ID, canon.URL(o.String()+"/"))
	c := b.Cursor()
	for k, v := c.Seek(prefix); bytes.HasPrefix(k, prefix); k, v = c.Next() {
		var r Nested
		if err := r.decode(k, v); err != nil {
			return err
		}
		if err := fn(k, &r); err != nil {
			return err
		}
	}
	return nil
}

// answer applies the result of requesting a nested file. A second call has no effect.
func (s *DataFiles) answer(a *crawl.Answer, at time.Time) error {
	h, err := s.ledger.HostNamed(a.Aux.URL.Host())
	if h == nil || err != nil {
		return err
	}
	key := nestedKey(h.ID, a.Aux.URL)
	if _, known, err := s.nestedRecord(key); !known || err != nil {
		return err
	}
	p := a.Probe
	if s.ledger.Judge.Forgotten.Has(a.Aux.URL) { // while it was requested
		p.State, p.Reason = crawl.ProbeRefused, string(crawl.ReasonForgotten)
	}
	return s.putNested(key, Nested{Due: at.Add(min(max(p.Fresh, minProbeFresh), maxProbeFresh)), State: p.State, Reason: strings.Clone(crawl.ShortDetail(p.Reason))})
}

// JudgeNested decides about the nested files of an origin as JudgeData does about its own. Data of
// forgotten files is removed from the catalogue, and requests for them are dropped. Files that are
// permitted again become due, with the file that leads to them. The caller marks the host as
// changed.
func (s *DataFiles) JudgeNested(h *hosts.Host, o *hosts.Origin, now time.Time) error {
	changed := map[string]Nested{}
	err := s.EachNested(h, o.Origin, func(k []byte, r *Nested) error {
		was := strings.HasPrefix(r.Reason, string(crawl.ReasonForgotten))
		if is := s.ledger.Judge.Forgotten.Has(canon.URL(k[4:])); is != was {
			changed[string(k)] = *r
		}
		return nil
	})
	for k, r := range changed {
		switch was := strings.HasPrefix(r.Reason, string(crawl.ReasonForgotten)); {
		case err != nil:
		case was:
			err = s.ledger.Drop(store.BucketNested, []byte(k))
			o.ExpireData()
		default:
			r.State, r.Reason = crawl.ProbeRefused, string(crawl.ReasonForgotten)
			err = s.putNested([]byte(k), r)
		}
	}
	if err != nil {
		return err
	}
	return s.dropNestedRequests(h, now, func(e *crawl.AuxRequest) bool {
		return e.Origin == o.Origin && s.ledger.Judge.Forgotten.Has(e.URL)
	})
}

// NestedInfos is what is known of an origin's nested files.
func (s *DataFiles) NestedInfos(h *hosts.Host, o canon.Origin) (all []crawl.NestedInfo) {
	_ = s.EachNested(h, o, func(k []byte, r *Nested) error {
		all = append(all, crawl.NestedInfo{URL: string(k[4:]), State: r.State.String(), Reason: r.Reason})
		return nil
	})
	return all
}

// DropNested removes the nested files of an origin: requests that were not answered, and the times
// until which results are valid.
func (s *DataFiles) DropNested(h *hosts.Host, o canon.Origin, now time.Time) error {
	var keys [][]byte
	err := s.EachNested(h, o, func(k []byte, _ *Nested) error { keys = append(keys, slices.Clone(k)); return nil })
	for _, k := range keys {
		if err == nil {
			err = s.ledger.Drop(store.BucketNested, k)
		}
	}
	if err != nil {
		return err
	}
	return s.dropNestedRequests(h, now, func(e *crawl.AuxRequest) bool { return e.Origin == o })
}

// dropNestedRequests drops the requests for such nested files of a host.
func (s *DataFiles) dropNestedRequests(h *hosts.Host, now time.Time, such func(e *crawl.AuxRequest) bool) error {
	for _, e := range slices.Clone(h.Aux) {
		if e.Kind != crawl.AuxNested || !such(&e) {
			continue
		}
		if err := s.features.DropAux(h, e, now); err != nil {
			return err
		}
	}
	return nil
}
