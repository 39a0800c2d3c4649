package dispatch

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	rand "math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/polite"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/internal/frontier/times"
	"github.com/curtsy/curtsy/internal/frontier/urls"
	"github.com/curtsy/curtsy/internal/likeness"
	"github.com/curtsy/curtsy/pkg/canon"
)

const (
	comparedAtOnce = 4 // how many pages of an origin are requested for a comparison at once
	// leastSample is how many pages are compared, if the robot brought that many. A fetcher that
	// died has lost its sample, and then it is taken from what is known of the pages.
	leastSample = 8
	sampleRead  = 32 << 10 // how many URLs are read for such a sample
)

// checks compare what mobile robots brought with what the sites serve.
type checks struct{ *records }

// sample is the record of a page that is compared.
type sample struct {
	URL      canon.URL `json:"url"`
	Brought  content   `json:"brought"`
	Served   *content  `json:"served,omitempty"` // by the site, before the second request
	Failures int       `json:"failures,omitempty"`
	Requests int       `json:"requests,omitempty"` // that are over
	Due      time.Time `json:"due,omitzero"`       // not requested before
}

// content is what is compared of a page.
type content struct {
	Status     int    `json:"status,omitempty"` // 0: of a page that a robot brought
	Digest     uint64 `json:"digest,omitempty"`
	Likeness   uint64 `json:"likeness,omitempty"`
	Directives uint8  `json:"directives,omitempty"`
	Type       string `json:"type,omitempty"`
	// Known: Directives and Type are known.
	Known bool `json:"known,omitempty"`
}

// Times shows the times of the record to see.
func (r *sample) Times(see times.See) { see(&r.Due, times.Waits) }

// page reports that the content is that of a page.
func (c *content) page() bool { return c.Status == 0 || c.Status >= 200 && c.Status <= 299 }

// same reports that two contents are the same page, except for what may change with each request.
func (c *content) same(o *content) bool {
	if !c.page() || !o.page() {
		return !c.page() && !o.page() // whatever it answers, the site has no such page
	}
	if c.Known && o.Known && c.Directives != o.Directives {
		return false
	}
	return c.Digest != 0 && c.Digest == o.Digest || likeness.Alike(c.Likeness, o.Likeness)
}

// sampleKey is the key of a page that is compared.
func sampleKey(site *Site, n int) []byte {
	return binary.BigEndian.AppendUint16(append(slices.Clone(site.key), 0), uint16(n))
}

func (s *checks) readSample(site *Site, n int) (r sample, err error) {
	v := s.ledger.Tx.Bucket(store.BucketDispatchSamples).Get(sampleKey(site, n))
	if err := json.Unmarshal(v, &r); err != nil {
		return r, fmt.Errorf("%w: a page of %s that is compared: %w", store.ErrRecord, site.origin(), err)
	}
	return r, nil
}

func (s *checks) putSample(site *Site, n int, r *sample) error {
	v, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return s.ledger.Put(store.BucketDispatchSamples, sampleKey(site, n), v)
}

// begin begins to compare a sample of the pages that a robot brought. It returns false if
// there is nothing to compare.
func (s *checks) begin(h *hosts.Host, i int, site *Site, o *Out, list []crawl.DispatchSample, now time.Time) (begun bool, err error) {
	c := &Check{N: o.N, Visit: o.Visit, About: o.About, Server: o.Server, Began: latestOf(o.Began, o.Queued)}
	taken := map[canon.URL]bool{}
	add := func(u canon.URL, brought content) error {
		if taken[u] || u.Origin() != site.origin() || !below(u, o.About) || len(taken) >= crawl.MaxDispatchSamples {
			return nil
		}
		taken[u] = true
		c.Sampled++
		return s.putSample(site, c.Sampled-1, &sample{URL: u, Brought: brought})
	}
	for _, d := range list {
		if err := add(d.URL, content{Digest: d.Digest, Likeness: d.Likeness, Directives: d.Directives, Type: d.Type, Known: d.Type != ""}); err != nil {
			return false, err
		}
	}
	if brought := o.Pages + o.Unchanged; len(taken) < int(min(brought, leastSample)) {
		more, err := s.sampleOf(h, uint8(i), o.Visit, int(min(max(leastSample, (brought+99)/100), crawl.MaxDispatchSamples)))
		if err != nil {
			return false, err
		}
		for _, r := range more {
			if err := add(r.URL, content{Digest: r.Digest, Likeness: r.Likeness}); err != nil {
				return false, err
			}
		}
	}
	if c.Sampled == 0 {
		return false, nil
	}
	site.Check = c
	h.Origins[i].BeginDispatch(time.Time{}) // the pages of the origin do not wait
	return true, s.more(h, i, site, now)
}

// sampleOf takes some of the stored pages of an origin that a visit reported.
func (s *checks) sampleOf(h *hosts.Host, i uint8, id crawl.VisitID, most int) (list []urls.Record, err error) {
	c := s.ledger.Records().Cursor()
	seen := 0
	n := 0
	for k, v := c.Seek(store.URLKey(nil, h.ID, 0)); k != nil && store.KeyHost(k) == h.ID && n < sampleRead; k, v = c.Next() {
		n++
		r, err := urls.DecodeRecord(k, v)
		if err != nil {
			return nil, err
		}
		if r.Origin != i || r.Visit != id || r.Class != crawl.Stored {
			continue
		}
		if seen++; len(list) < most {
			list = append(list, r)
		} else if at := rand.IntN(seen); at < most {
			list[at] = r
		}
	}
	return list, nil
}

// more requests further pages of the sample, and ends the comparison after the last. It
// writes the record.
func (s *checks) more(h *hosts.Host, i int, site *Site, now time.Time) error {
	c := site.Check
	if len(c.Asked) > 0 && now.Sub(c.AskedAt) >= GiveUp { // their answers are lost
		for _, n := range c.Asked {
			if err := s.later(site, n, now); err != nil {
				return err
			}
		}
		c.Asked = nil
	}
	for len(c.Asked) < comparedAtOnce && len(h.Aux) < hosts.MaxAux/2 {
		n, err := s.nextSample(site, now)
		if err != nil {
			return err
		}
		if n < 0 {
			break
		}
		r, err := s.readSample(site, n)
		if err != nil {
			return err
		}
		if s.ledger.Judge.Forgotten.Has(r.URL) {
			c.Unclear++
			continue
		}
		c.Asked, c.AskedAt = append(c.Asked, n), now
		if err := s.features.AddAux(s.verification(site, &r), now); err != nil {
			return err
		}
	}
	if len(c.Asked) == 0 && len(c.Waiting) == 0 && c.Next >= c.Sampled {
		return s.conclude(h, i, site, now)
	}
	site.wakeAt(now)
	return s.put(site)
}

// nextSample returns the number of a page that is to be requested now, and takes it from those that
// wait; -1: there is none.
func (s *checks) nextSample(site *Site, now time.Time) (int, error) {
	c := site.Check
	if len(c.Waiting) > 0 && !now.Before(c.Due) {
		c.Due = time.Time{}
		due := -1
		for _, n := range c.Waiting {
			r, err := s.readSample(site, n)
			if err != nil {
				return -1, err
			}
			switch {
			case due < 0 && !now.Before(r.Due):
				due = n
			case c.Due.IsZero() || r.Due.Before(c.Due):
				c.Due = r.Due
			}
		}
		if due >= 0 {
			c.Waiting = slices.DeleteFunc(c.Waiting, func(n int) bool { return n == due })
			return due, nil
		}
	}
	if c.Next < c.Sampled {
		c.Next++
		return c.Next - 1, nil
	}
	return -1, nil
}

// later has a page that could not be fetched requested once more, or gives it up.
func (s *checks) later(site *Site, n int, now time.Time) error {
	r, err := s.readSample(site, n)
	if err != nil {
		return err
	}
	if r.Failures++; r.Failures >= polite.RetryVerify.Tries {
		site.Check.Unclear++
		return nil
	}
	r.Due = now.Add(polite.RetryVerify.After(r.Failures))
	return s.wait(site, n, &r)
}

// wait adds a page to those that are requested once more.
func (s *checks) wait(site *Site, n int, r *sample) error {
	c := site.Check
	r.Requests++
	if len(c.Waiting) == 0 || c.Due.IsZero() || r.Due.Before(c.Due) {
		c.Due = r.Due
	}
	c.Waiting = append(c.Waiting, n)
	return s.putSample(site, n, r)
}

// requestBit is the first bit of a Hop that counts the earlier requests for a page. The bits below
// are the number of the dispatch.
const requestBit = 24

// verification is the request that fetches a page for the comparison. Each request for a page
// differs from the one before by its Hop: what was reported of that one may arrive again, and must
// neither withdraw this one nor count as its answer.
func (s *checks) verification(site *Site, r *sample) crawl.AuxRequest {
	hop := site.Check.N | r.Requests<<requestBit
	return crawl.AuxRequest{Kind: crawl.AuxVerify, URL: r.URL, Origin: site.origin(), Hop: hop, ReplyShard: s.ledger.ID}
}

// answer applies what the site served for a page that is compared, if that is still awaited.
func (s *checks) answer(a *crawl.Answer, _, now time.Time) error {
	h, err := s.ledger.HostNamed(a.Aux.Origin.Host)
	if h == nil || err != nil {
		return err
	}
	i, known := h.OriginIndex(a.Aux.Origin)
	if !known {
		return nil
	}
	site, err := s.site(h, i)
	if err != nil || site.Check == nil {
		return err
	}
	for at, n := range site.Check.Asked {
		r, err := s.readSample(site, n)
		if err != nil {
			return err
		}
		if e := s.verification(site, &r); e.URL != a.Aux.URL || e.Hop != a.Aux.Hop {
			continue
		}
		site.Check.Asked = slices.Delete(site.Check.Asked, at, at+1)
		return s.one(h, i, site, n, &r, &a.Sample, now)
	}
	return nil
}

// one compares a page.
func (s *checks) one(h *hosts.Host, i int, site *Site, n int, r *sample, got *crawl.Sample, now time.Time) error {
	c := site.Check
	served := content{Status: got.Status, Digest: got.Digest, Likeness: got.Likeness, Directives: got.Directives, Type: strings.Clone(got.Type), Known: true}
	result := ""
	switch {
	case got.Status == 0 || got.Status == 429 || got.Status >= 500:
		if err := s.later(site, n, now); err != nil {
			return err
		}
	case r.Brought.same(&served):
		// Another media type alone is no other page, but what it is taken for is not confirmed.
		if result = "confirmed"; r.Brought.Known && r.Brought.Type != served.Type {
			result = "unclear"
		}
	case got.Modified.After(c.Began): // it was changed since
		result = "unclear"
	case r.Served == nil: // it may be another page each time
		r.Served, r.Due = &served, now
		if err := s.wait(site, n, r); err != nil {
			return err
		}
	case r.Served.same(&served):
		s.ledger.Metrics.Compared.WithLabelValues("differs").Inc()
		return s.drop(h, i, site, r.URL.PathQuery()+" is another page than the one that it sent: "+difference(&r.Brought, &served), now)
	default:
		result = "unclear"
	}
	switch result {
	case "confirmed":
		c.Confirmed++
		s.ledger.Meta.CountDispatches(store.DispatchCounts{Confirmed: 1})
	case "unclear":
		c.Unclear++
	}
	if result != "" {
		s.ledger.Metrics.Compared.WithLabelValues(result).Inc()
	}
	return s.more(h, i, site, now)
}

// difference describes for people how a page differs from the one that was sent.
func difference(sent, served *content) string {
	switch {
	case !served.page():
		return fmt.Sprintf("the site answers with status %d", served.Status)
	case sent.Known && sent.Directives != served.Directives:
		return "its robots directives differ"
	}
	return "its content differs"
}

// conclude ends a comparison in which no page differed. If fewer than half of the pages could
// be confirmed, the server is dropped as well.
func (s *checks) conclude(h *hosts.Host, i int, site *Site, now time.Time) error {
	c := site.Check
	if 2*c.Confirmed < c.Sampled {
		return s.drop(h, i, site, fmt.Sprintf("what it sent could not be verified: of %d pages, %d were confirmed", c.Sampled, c.Confirmed), now)
	}
	for j := range site.Bundles {
		if b := &site.Bundles[j]; b.Visit == c.Visit {
			b.Verified = true
		}
	}
	return s.end(h, i, site, now)
}

// end ends the comparison, whether or not all pages were compared, and writes the record.
func (s *checks) end(h *hosts.Host, i int, site *Site, now time.Time) error {
	c := site.Check
	if p := site.path(c.About, c.Server); p != nil {
		p.Compared = c.Compared
	}
	for _, n := range c.Asked {
		r, err := s.readSample(site, n)
		if err != nil {
			return err
		}
		if err := s.features.DropAux(h, s.verification(site, &r), now); err != nil {
			return err
		}
	}
	for n := range c.Sampled {
		if err := s.ledger.Drop(store.BucketDispatchSamples, sampleKey(site, n)); err != nil {
			return err
		}
	}
	site.Check = nil
	h.Origins[i].DispatchEnded()
	if err := s.refresh(h, i, site, now); err != nil {
		return err
	}
	return s.put(site)
}
