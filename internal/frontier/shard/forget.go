package shard

import (
	"bytes"
	"encoding/json"
	"errors"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/judge"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/internal/frontier/urls"
)

// URLs that `curtsy forget` removes (Spec.Forgotten) become refused with the reason forgotten,
// whatever their class was. URLs that it permits again are queued. A new URL is decided about when
// it is found (judge), and a result for a forgotten URL is ignored (ForgottenResult). Known URLs
// are handled by a pass, host by host.

// keyForgotten is the key of Spec.Forgotten as it was when hosts were last listed for the pass.
var keyForgotten = []byte("forgotten")

// beginForgetting lists the hosts for the pass that a change of Spec.Forgotten concerns.
func (s *Passes) beginForgetting() error {
	text, err := json.Marshal(s.ledger.Judge.Spec.Forgotten)
	if err != nil {
		return err
	}
	meta := s.ledger.Tx.Bucket(store.BucketMeta)
	last := meta.Get(keyForgotten)
	if bytes.Equal(last, text) || last == nil && len(s.ledger.Judge.Spec.Forgotten) == 0 {
		return nil
	}
	var was []string
	if last != nil {
		if err := json.Unmarshal(last, &was); err != nil {
			return err
		}
	}
	for _, e := range differing(was, s.ledger.Judge.Spec.Forgotten) {
		h, err := s.ledger.HostNamed(judge.ForgottenHost(e))
		if err == nil && h != nil {
			err = s.passOver(store.BucketForget, h)
		}
		if err != nil {
			return err
		}
	}
	return s.ledger.Put(store.BucketMeta, keyForgotten, text)
}

// differing returns the elements that only one of two lists contains.
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

// forgetSome is the pass over the URLs of hosts that a change of Spec.Forgotten concerns.
func (s *Passes) forgetSome(now time.Time) (more bool, err error) {
	return s.hostPass(store.BucketForget, s.forgetOne, func(h *hosts.Host) (err error) {
		for i := range h.Origins {
			s.datafiles.JudgeData(&h.Origins[i])
			err = errors.Join(err, s.datafiles.JudgeNested(h, &h.Origins[i], now))
		}
		s.ledger.MarkDirty(h)
		s.ledger.Log.Info("all URLs of a forgotten or restored host were checked", "host", h.Name)
		return err
	})
}

// forgetOne decides about a URL by what is forgotten. The caller writes its record if it changed.
func (s *Passes) forgetOne(h *hosts.Host, r *urls.Record) (changed bool, err error) {
	is := r.Class == crawl.Refused && r.Reason == crawl.ReasonForgotten
	switch want := s.ledger.Judge.Forgotten.Has(r.URL); {
	case want == is:
		return false, nil
	case is:
		return true, s.mirrors.Refetch(h, r)
	}
	r.AnswerForgotten()
	return true, s.urls.SetState(h, r, urls.Verdict{Class: crawl.Refused, Reason: crawl.ReasonForgotten, Blank: true})
}

// ForgottenResult replaces the result of a URL that was forgotten while it was fetched.
func ForgottenResult(res *crawl.Result) *crawl.Result {
	return &crawl.Result{URL: res.URL, Class: crawl.Refused, Reason: crawl.ReasonForgotten, Bytes: res.Bytes, Took: res.Took}
}
