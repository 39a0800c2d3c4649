package frontier

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// What `curtsy forget` takes out, Spec.Forgotten, becomes refused: forgotten, whatever it was; what it lets in again is queued.
// A new URL is judged when it comes (judge), a result that comes for a forgotten one says nothing any more (forgottenResult); what is
// known already is gone through by a pass, host after host.

// keyForgotten holds Spec.Forgotten as it was when hosts were listed for the pass last.
var keyForgotten = []byte("forgotten")

// beginForgetting lists the hosts that another Spec.Forgotten concerns for the pass.
func (s *shard) beginForgetting() error {
	text, err := json.Marshal(s.j.spec.Forgotten)
	if err != nil {
		return err
	}
	meta := s.tx.Bucket(bucketMeta)
	last := meta.Get(keyForgotten)
	if bytes.Equal(last, text) || last == nil && len(s.j.spec.Forgotten) == 0 {
		return nil
	}
	var was []string
	if last != nil {
		if err := json.Unmarshal(last, &was); err != nil {
			return err
		}
	}
	for _, e := range differing(was, s.j.spec.Forgotten) {
		if h := s.hosts[forgottenHost(e)]; h != nil {
			if err := s.tx.Bucket(bucketForget).Put(h.ID.append(nil), binary.BigEndian.AppendUint64(nil, 0)); err != nil {
				return err
			}
		}
	}
	s.changes++
	return meta.Put(keyForgotten, text)
}

// differing returns what is in one of two lists only.
func differing(a, b []string) (d []string) {
	in := map[string]bool{}
	for _, e := range a {
		in[e] = true
	}
	for _, e := range b {
		if in[e] {
			delete(in, e)
		} else {
			d = append(d, e)
		}
	}
	for e := range in {
		d = append(d, e)
	}
	return d
}

// forgottenHost is the host that an entry of Spec.Forgotten is about.
func forgottenHost(entry string) canon.Host {
	if strings.Contains(entry, "://") {
		return canon.URL(entry).Host()
	}
	return canon.Host(entry)
}

// forgetting reports whether there are hosts to go through.
func (s *shard) forgetting() bool {
	b := s.tx.Bucket(bucketForget)
	if b == nil {
		return false // an older file, opened for reading
	}
	k, _ := b.Cursor().First()
	return k != nil
}

func (s *shard) forgetSome(now time.Time) (more bool, err error) {
	hosts := s.tx.Bucket(bucketForget)
	k, v := hosts.Cursor().First()
	if k == nil {
		return false, nil
	}
	id, from := slices.Clone(k), slices.Concat(k, v)
	h := s.byID[keyHost(id)]
	next, err := s.stretch(from, passStretch, func(of *host, _ []byte, r *record) (bool, error) {
		if of != h {
			return false, nil
		}
		return s.forgetOne(h, r, now)
	})
	if err != nil {
		return false, err
	}
	s.changes++
	if next != nil && keyHost(next) == keyHost(id) {
		err = hosts.Put(id, next[4:])
	} else {
		err = hosts.Delete(id)
		for i := range h.Origins {
			s.judgeData(&h.Origins[i])
			err = errors.Join(err, s.judgeNested(h, &h.Origins[i]))
		}
		s.touch(h)
		s.log.Info("what was forgotten of a host, or is let in again, is judged", "host", h.Name)
	}
	if err != nil {
		return false, err
	}
	s.reschedule(h, now)
	return s.forgetting(), nil
}

// judgeData judges an origin's /data.txt: what was read of one that is forgotten is gone from the catalogue, and one that is let in
// again is due. The caller touches the host.
func (s *shard) judgeData(o *origin) {
	u, err := o.Origin.URL("/data.txt")
	if err != nil {
		return
	}
	switch forgotten := s.j.forgotten.Has(u); {
	case forgotten && o.Data != crawl.ProbeNone:
		o.Data, o.DataReason, o.DataOn = crawl.ProbeRefused, string(crawl.ReasonForgotten), ""
	case !forgotten && o.Data == crawl.ProbeRefused && strings.HasPrefix(o.DataReason, string(crawl.ReasonForgotten)):
		o.Data, o.DataReason, o.DataDue = crawl.ProbeNone, "", time.Time{}
	}
}

// forgetOne judges a URL by what is forgotten. The caller writes its record if it changed.
func (s *shard) forgetOne(h *host, r *record, now time.Time) (changed bool, err error) {
	is := r.Class == crawl.Refused && r.Reason == crawl.ReasonForgotten
	switch want := s.j.forgotten.Has(r.URL); {
	case want == is:
		return false, nil
	case is:
		return true, s.refetch(h, r, now)
	}
	if err := s.uncount(h, r); err != nil {
		return false, err
	}
	r.held, r.again, r.Due = held{}, again{}, time.Time{}
	r.Class, r.Reason, r.Detail, r.Status, r.Line, r.NoSnippet = crawl.Refused, crawl.ReasonForgotten, "", 0, 0, false
	s.count(r, +1)
	s.logLine(r, nil)
	return true, nil
}

// forgottenResult is what a result counts as whose URL was forgotten while it was fetched.
func forgottenResult(res *crawl.Result) *crawl.Result {
	return &crawl.Result{URL: res.URL, Class: crawl.Refused, Reason: crawl.ReasonForgotten, Bytes: res.Bytes, Took: res.Took}
}

// forgottenBy is the entry of Spec.Forgotten that u was forgotten by.
func (j *judge) forgottenBy(u canon.URL) string {
	for _, e := range j.spec.Forgotten {
		if string(u.Host()) == e || strings.Contains(e, "://") && strings.HasPrefix(string(u), e) {
			return e
		}
	}
	return ""
}
