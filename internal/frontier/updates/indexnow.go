package updates

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/polite"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/internal/frontier/times"
	"github.com/curtsy/curtsy/pkg/canon"
)

// The limits for one origin, and how often it is asked.
const (
	MaxWaiting = 3         // keys that wait to be verified
	MaxURLs    = 10_000    // URLs that wait for one key
	MaxBytes   = 512 << 10 // bytes of these URLs
	// Key files requested in a day; one more for a key that was verified before
	MaxTries = 3
	MaxKeys  = 4 // verified keys, one for each folder

	KeyLife  = 7 * 24 * time.Hour // how long a verified key is believed
	WaitLife = 7 * 24 * time.Hour // how long submissions wait for a key
	day      = 24 * time.Hour
)

// IndexNow is what one shard knows of submissions.
type IndexNow struct {
	features *hosts.Features
	ledger   *hosts.Ledger
	swept    time.Time // when submissions that waited for too long were last removed
}

// NewIndexNow returns the IndexNow of one shard.
func NewIndexNow(f *hosts.Features, l *hosts.Ledger) *IndexNow {
	return &IndexNow{features: f, ledger: l}
}

// Feature requests key files and applies the answers.
func (s *IndexNow) Feature() hosts.Feature {
	return hosts.Feature{
		Aux: map[crawl.AuxKind]hosts.AuxKind{
			crawl.AuxIndexNow: {From: polite.PageFrom, Answer: s.answer},
		},
		Upkeep: s.upkeep,
		Times:  store.InRecords[IndexNowSite](store.BucketIndexNow),
	}
}

// IndexNowSite is what is known of the submissions for an origin. The URLs that wait are stored
// separately, one record for each message, so that the cost of a message does not grow with the
// number of earlier ones.
type IndexNowSite struct {
	Keys []IndexNowProved `json:"keys,omitempty"`
	// When key files were requested in the last day, and when one that was verified before.
	Tries           []time.Time       `json:"tries,omitempty"`
	Renewed         time.Time         `json:"renewed,omitzero"`
	IndexNowWaiting []IndexNowWaiting `json:"waiting,omitempty"`
	N               uint32            `json:"n,omitempty"` // the last number given to a waiting key

	Accepted int64     `json:"told,omitempty"`    // URLs that were accepted as hints
	Refused  int64     `json:"refused,omitempty"` // URLs that were not
	Reason   string    `json:"reason,omitempty"`  // for people: the reason of the last refusal
	At       time.Time `json:"at,omitzero"`       // of the last submission

	Requests int64 `json:"requests,omitempty"` // number of requests for key files
}

// IndexNowProved is a key that the site was found to have.
type IndexNowProved struct {
	Key    string    `json:"key"`
	KeyURL canon.URL `json:"key_url"`
	Until  time.Time `json:"until"` // it is believed until then
}

// IndexNowWaiting is a submission that waits until its key is verified.
type IndexNowWaiting struct {
	Key    string    `json:"key"`
	KeyURL canon.URL `json:"key_url"`
	At     time.Time `json:"at"` // when the first of it arrived
	// When the site's last submission was received, by the receiver's clock
	Last  time.Time `json:"last"`
	N     uint32    `json:"n"` // identifies its URLs
	Parts uint32    `json:"parts"`
	URLs  int       `json:"urls"`
	Bytes int       `json:"bytes"`
	// The key file could not be fetched; it is requested again when more is submitted.
	Failed bool `json:"failed,omitempty"`
}

// Times shows the times of the record to see.
func (r *IndexNowSite) Times(see times.See) {
	see(&r.At, times.Happened)
	see(&r.Renewed, times.Happened)
	for i := range r.Keys {
		see(&r.Keys[i].Until, times.Waits)
	}
	for i := range r.Tries {
		see(&r.Tries[i], times.Happened)
	}
	for i := range r.IndexNowWaiting {
		see(&r.IndexNowWaiting[i].At, times.Happened)
		see(&r.IndexNowWaiting[i].Last, times.Happened)
	}
}

// proved is the index of a key among the verified ones, or -1.
func (r *IndexNowSite) proved(key string, at canon.URL) int {
	return slices.IndexFunc(r.Keys, func(k IndexNowProved) bool { return k.Key == key && k.KeyURL == at })
}

// Apply applies a submission. A second call has no effect.
func (s *IndexNow) Apply(t *crawl.IndexNow, now time.Time) error {
	h, err := s.ledger.HostNamed(t.Origin.Host)
	if h == nil || err != nil {
		return err // not a site of this crawl
	}
	i, ok := h.OriginIndex(t.Origin)
	if !ok || h.Origins[i].Mirror.Mirrored() || t.KeyURL.Origin() != t.Origin || s.ledger.Judge.Forgotten.Has(t.KeyURL) {
		return nil
	}
	r, err := s.Of(h, t.Origin)
	if err != nil {
		return err
	}
	r.At = now
	if _, err := s.age(h, t.Origin, r, now); err != nil {
		return err
	}
	own := make([]canon.URL, 0, len(t.URLs))
	for _, u := range t.URLs {
		if u.Origin() == t.Origin {
			own = append(own, u)
		} else {
			r.Refused++
		}
	}
	received := t.Received
	if received.After(now) {
		received = now
	}
	known := r.proved(t.Key, t.KeyURL)
	if known >= 0 && now.Before(r.Keys[known].Until) {
		if err := s.report(r, t.KeyURL, own, received, now); err != nil {
			return err
		}
		return s.put(h, t.Origin, r)
	}
	k := slices.IndexFunc(r.IndexNowWaiting, func(w IndexNowWaiting) bool { return w.Key == t.Key && w.KeyURL == t.KeyURL })
	if k < 0 || r.IndexNowWaiting[k].Failed {
		asks, why := s.mayAsk(h, r, known, now)
		switch {
		case !asks && k < 0:
			r.Refused, r.Reason = r.Refused+int64(len(own)), why
			return s.put(h, t.Origin, r)
		case asks:
			if k < 0 {
				r.N++
				r.IndexNowWaiting = append(r.IndexNowWaiting, IndexNowWaiting{Key: strings.Clone(t.Key), KeyURL: cloneIndexNow(t.KeyURL), At: now, N: r.N})
				k = len(r.IndexNowWaiting) - 1
			}
			r.IndexNowWaiting[k].Failed = false
			if err := s.features.AddAux(crawl.AuxRequest{Kind: crawl.AuxIndexNow, URL: t.KeyURL, Origin: t.Origin, ReplyShard: s.ledger.ID}, now); err != nil {
				return err
			}
		}
	}
	r.IndexNowWaiting[k].Last = received
	if err := s.wait(h, t.Origin, r, k, own); err != nil {
		return err
	}
	return s.put(h, t.Origin, r)
}

// mayAsk reports whether a key file may be requested now, and counts the request. known is the
// index of its key among those verified before, -1 for none: strangers must not be able to prevent
// a site from renewing its own key.
func (s *IndexNow) mayAsk(h *hosts.Host, r *IndexNowSite, known int, now time.Time) (ok bool, why string) {
	switch {
	case len(h.Aux) >= hosts.MaxAux:
		return false, "too many auxiliary requests for its host"
	case known >= 0 && now.Sub(r.Renewed) >= day:
		r.Renewed = now
		return true, ""
	case len(r.IndexNowWaiting) >= MaxWaiting || len(r.Tries) >= MaxTries:
		return false, fmt.Sprintf("its key files were requested %d times within a day", MaxTries)
	}
	r.Tries = append(r.Tries, now)
	return true, ""
}

// age removes what is too old, and reports whether anything was.
func (s *IndexNow) age(h *hosts.Host, o canon.Origin, r *IndexNowSite, now time.Time) (some bool, err error) {
	r.Tries = slices.DeleteFunc(r.Tries, func(at time.Time) bool { return now.Sub(at) >= day })
	var left []IndexNowWaiting
	for _, w := range r.IndexNowWaiting {
		if now.Sub(w.At) < WaitLife {
			left = append(left, w)
			continue
		}
		r.Refused, r.Reason, some = r.Refused+int64(w.URLs), "its key file could not be requested", true
		if err := s.eachPart(h, o, &w, nil); err != nil {
			return some, err
		}
	}
	r.IndexNowWaiting = left
	return some, nil
}

// upkeep removes submissions once a day that have waited for too long.
func (s *IndexNow) upkeep(now time.Time) error {
	if now.Sub(s.swept) < day || s.ledger.Phase.MayWrite() != nil {
		return nil
	}
	s.swept = now
	type old struct {
		h *hosts.Host
		o canon.Origin
		r IndexNowSite
	}
	var all []old
	err := s.ledger.Tx.Bucket(store.BucketIndexNow).ForEach(func(k, v []byte) error {
		var r IndexNowSite
		if err := json.Unmarshal(v, &r); err != nil {
			return fmt.Errorf("IndexNow record %q: %w", k[4:], err)
		}
		if !slices.ContainsFunc(r.IndexNowWaiting, func(w IndexNowWaiting) bool { return now.Sub(w.At) >= WaitLife }) {
			return nil
		}
		h, err := s.ledger.HostWith(store.KeyHost(k))
		if h == nil || err != nil {
			return err
		}
		if i := slices.IndexFunc(h.Origins, func(o hosts.Origin) bool { return o.Origin.String() == string(k[4:]) }); i >= 0 {
			all = append(all, old{h, h.Origins[i].Origin, r})
		}
		return nil
	})
	for i := range all {
		if err == nil {
			_, err = s.age(all[i].h, all[i].o, &all[i].r, now)
		}
		if err == nil {
			err = s.put(all[i].h, all[i].o, &all[i].r)
		}
	}
	return err
}

// wait adds URLs to those that wait for a key.
func (s *IndexNow) wait(h *hosts.Host, o canon.Origin, r *IndexNowSite, k int, urls []canon.URL) error {
	w := &r.IndexNowWaiting[k]
	n := 0
	for n < len(urls) && w.URLs < MaxURLs && w.Bytes+len(urls[n]) <= MaxBytes {
		w.URLs, w.Bytes = w.URLs+1, w.Bytes+len(urls[n])
		n++
	}
	if n < len(urls) {
		r.Refused += int64(len(urls) - n)
		r.Reason = "too many URLs before the key is proved"
	}
	if n == 0 {
		return nil
	}
	v, err := json.Marshal(urls[:n])
	if err != nil {
		return err
	}
	w.Parts++
	return s.ledger.Put(store.BucketIndexNowURLs, indexNowKey(h, o, w.N, w.Parts), v)
}

// eachPart calls each, unless it is nil, with the waiting URLs, and removes them.
func (s *IndexNow) eachPart(h *hosts.Host, o canon.Origin, w *IndexNowWaiting, each func([]canon.URL) error) error {
	for n := uint32(1); n <= w.Parts; n++ {
		k := indexNowKey(h, o, w.N, n)
		if v := s.ledger.Tx.Bucket(store.BucketIndexNowURLs).Get(k); v != nil && each != nil {
			var urls []canon.URL
			if err := json.Unmarshal(v, &urls); err != nil {
				return fmt.Errorf("IndexNow URLs of %s: %w", o, err)
			}
			if err := each(urls); err != nil {
				return err
			}
		}
		if err := s.ledger.Drop(store.BucketIndexNowURLs, k); err != nil {
			return err
		}
	}
	return nil
}

// answer applies the contents of a key file: submissions that wait for it are accepted or dropped,
// or continue to wait if the file could not be fetched. A second call has no effect.
func (s *IndexNow) answer(a *crawl.Answer, at, now time.Time) error {
	o := a.Aux.Origin
	h, err := s.ledger.HostNamed(o.Host)
	if h == nil || err != nil || a.KeyFile == nil {
		return err
	}
	r, err := s.Of(h, o)
	if err != nil {
		return err
	}
	r.Requests++
	var left []IndexNowWaiting
	for _, w := range r.IndexNowWaiting {
		switch {
		case w.KeyURL != a.Aux.URL:
			left = append(left, w)
			continue
		case a.KeyFile.Again:
			w.Failed, r.Reason = true, strings.Clone(crawl.ShortDetail(a.KeyFile.Reason))
			left = append(left, w)
			continue
		case a.KeyFile.Key != w.Key:
			r.Refused += int64(w.URLs)
			if r.Reason = strings.Clone(crawl.ShortDetail(a.KeyFile.Reason)); r.Reason == "" {
				r.Reason = "its key file contains another key"
			}
			err = s.eachPart(h, o, &w, nil)
		default:
			r.Reason = ""
			r.Keys = slices.DeleteFunc(r.Keys, func(k IndexNowProved) bool { return k.KeyURL == w.KeyURL })
			if len(r.Keys) >= MaxKeys {
				r.Keys = slices.Delete(r.Keys, 0, 1)
			}
			r.Keys = append(r.Keys, IndexNowProved{w.Key, w.KeyURL, at.Add(KeyLife)})
			err = s.eachPart(h, o, &w, func(urls []canon.URL) error { return s.report(r, w.KeyURL, urls, w.Last, now) })
		}
		if err != nil {
			return err
		}
	}
	r.IndexNowWaiting = left
	return s.put(h, o, r)
}

// report applies URLs of a site with a verified key as hints that they changed when they were
// submitted.
func (s *IndexNow) report(r *IndexNowSite, by canon.URL, urls []canon.URL, received, now time.Time) error {
	r.Accepted += int64(len(urls))
	if len(urls) == 0 {
		return nil
	}
	return s.ledger.Accept(&crawl.Links{FoundOn: by, Depth: 1, Source: crawl.SourceIndexNow, URLs: urls,
		Mods: slices.Repeat([]int64{received.Unix()}, len(urls))}, now)
}

// Of reads the record of an origin; a new one if there is none.
func (s *IndexNow) Of(h *hosts.Host, o canon.Origin) (*IndexNowSite, error) {
	r := new(IndexNowSite)
	b := s.ledger.Tx.Bucket(store.BucketIndexNow)
	if b == nil {
		return r, nil // a file from a version without this bucket, opened for reading only
	}
	v := b.Get(indexNowKeyOf(h, o))
	if v == nil {
		return r, nil
	}
	if err := json.Unmarshal(v, r); err != nil {
		return nil, fmt.Errorf("IndexNow record of %s: %w", o, err)
	}
	return r, nil
}

// Info is what `curtsy updates` prints about an origin; ok is false if nothing was ever submitted
// for it.
func (s *IndexNow) Info(h *hosts.Host, o *hosts.Origin) (info crawl.UpdatesInfo, ok bool) {
	r, err := s.Of(h, o.Origin)
	if err != nil || r.At.IsZero() {
		return info, false
	}
	info = crawl.UpdatesInfo{Site: o.Origin.String(), Source: crawl.SourceIndexNow.String(), Channel: "http", State: "refused", Reason: r.Reason,
		Reported: r.Accepted, Strange: r.Refused, Requests: r.Requests, LastReport: &crawl.UpdatesReport{At: r.At}}
	switch {
	case len(r.IndexNowWaiting) > 0:
		info.State = "asking"
	case len(r.Keys) > 0:
		info.State = "proved"
	}
	return info, true
}

func (s *IndexNow) put(h *hosts.Host, o canon.Origin, r *IndexNowSite) error {
	v, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return s.ledger.Put(store.BucketIndexNow, indexNowKeyOf(h, o), v)
}

// indexNowKey is the key of a part of the URLs that wait for the n-th key.
func indexNowKey(h *hosts.Host, o canon.Origin, n, part uint32) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(append(indexNowKeyOf(h, o), 0), n), part)
}

func indexNowKeyOf(h *hosts.Host, o canon.Origin) []byte {
	return append(h.ID.Append(nil), o.String()...)
}

func cloneIndexNow(u canon.URL) canon.URL { return canon.URL(strings.Clone(string(u))) }
