// Package indexnow takes in what is submitted by IndexNow as a site (signals.md §6 row 33): a word
// of somebody unknown, until the site itself is seen to have the key it came with. The key file is
// asked for as any URL of the site, under its rules and delays, three times a day at most; what
// waits for it is bounded. What is proved then is a hint, as a RUP report is (protocols §6.5): no
// page is asked for sooner than the site's delay allows, and nothing is erased on its word.
package indexnow

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/features"
	"github.com/curtsy/curtsy/internal/frontier/ledger"
	"github.com/curtsy/curtsy/internal/frontier/polite"
	"github.com/curtsy/curtsy/internal/frontier/times"
	"github.com/curtsy/curtsy/pkg/canon"
)

// What is kept of one origin at most, and how often it is asked.
const (
	MaxWaiting = 3       // keys that wait to be proved
	MaxURLs    = 10_000  // URLs that wait with one
	MaxBytes   = 1 << 20 // of these
	MaxTries   = 3       // key files asked for in a day

	KeyLife  = 7 * 24 * time.Hour // for which a key that was seen is believed
	day      = 24 * time.Hour
	WaitLife = 7 * 24 * time.Hour // after which what waits is forgotten
)

// IndexNow is what one shard knows of submissions.
type IndexNow struct {
	features *features.Features
	ledger   *ledger.Ledger
}

// New returns it for one shard.
func New(f *features.Features, l *ledger.Ledger) *IndexNow { return &IndexNow{f, l} }

// Feature has key files asked for, and answers taken in.
func (s *IndexNow) Feature() features.Feature {
	return features.Feature{
		Errands: map[crawl.ErrandKind]features.ErrandKind{
			crawl.ErrandIndexNow: {From: polite.PageFrom, Answer: s.answer},
		},
		Times: ledger.InRecords[Record](ledger.BucketIndexNow),
	}
}

// Record is what is known of an origin as one that tells.
type Record struct {
	Key    string    `json:"key,omitempty"` // that it was seen to have
	KeyURL canon.URL `json:"key_url,omitempty"`
	Until  time.Time `json:"until,omitzero"` // that is believed
	// When key files were asked for, the last day.
	Tries   []time.Time `json:"tries,omitempty"`
	Waiting []Waiting   `json:"waiting,omitempty"`

	Told    int64     `json:"told,omitempty"`    // URLs that were taken as hints
	Refused int64     `json:"refused,omitempty"` // URLs that were not
	Reason  string    `json:"reason,omitempty"`  // for people: why, the last time
	At      time.Time `json:"at,omitzero"`       // of the last submission
}

// Waiting is what waits for a key to be proved.
type Waiting struct {
	Key    string      `json:"key"`
	KeyURL canon.URL   `json:"key_url"`
	At     time.Time   `json:"at"` // when the first of it came
	URLs   []canon.URL `json:"urls"`
}

// Times shows what the record keeps of time.
func (r *Record) Times(see times.See) {
	see(&r.Until, times.Waits)
	see(&r.At, times.Happened)
	for i := range r.Tries {
		see(&r.Tries[i], times.Happened)
	}
	for i := range r.Waiting {
		see(&r.Waiting[i].At, times.Happened)
	}
}

// Apply takes in a submission. Applied again it adds nothing.
func (s *IndexNow) Apply(t *crawl.IndexNow, now time.Time) error {
	h, err := s.ledger.HostNamed(t.Origin.Host)
	if h == nil || err != nil {
		return err // no site of this crawl
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
	r.Tries = slices.DeleteFunc(r.Tries, func(at time.Time) bool { return now.Sub(at) >= day })
	r.Waiting = slices.DeleteFunc(r.Waiting, func(w Waiting) bool { return now.Sub(w.At) >= WaitLife })
	own := make([]canon.URL, 0, len(t.URLs))
	for _, u := range t.URLs {
		if u.Origin() == t.Origin {
			own = append(own, u)
		} else {
			r.Refused++
		}
	}
	k := slices.IndexFunc(r.Waiting, func(w Waiting) bool { return w.Key == t.Key && w.KeyURL == t.KeyURL })
	switch {
	case r.Key == t.Key && r.KeyURL == t.KeyURL && now.Before(r.Until):
		if err := s.tell(r, own, t.Received, now); err != nil {
			return err
		}
	case k >= 0:
		r.wait(k, own)
	case len(r.Waiting) >= MaxWaiting || len(r.Tries) >= MaxTries:
		r.Refused += int64(len(own))
		r.Reason = fmt.Sprintf("its key files were asked for %d times within a day", MaxTries)
	default:
		r.Tries = append(r.Tries, now)
		r.Waiting = append(r.Waiting, Waiting{Key: strings.Clone(t.Key), KeyURL: clone(t.KeyURL), At: now})
		r.wait(len(r.Waiting)-1, own)
		if err := s.features.AddErrand(crawl.Errand{Kind: crawl.ErrandIndexNow, URL: t.KeyURL, Origin: t.Origin, ReplyShard: s.ledger.ID}, now); err != nil {
			return err
		}
	}
	return s.put(h, t.Origin, r)
}

// wait adds URLs to what waits with a key.
func (r *Record) wait(k int, urls []canon.URL) {
	w := &r.Waiting[k]
	seen, size := make(map[canon.URL]bool, len(w.URLs)), 0
	for _, u := range w.URLs {
		seen[u], size = true, size+len(u)
	}
	for _, u := range urls {
		switch {
		case seen[u]:
		case len(w.URLs) >= MaxURLs || size+len(u) > MaxBytes:
			r.Refused++
			r.Reason = "more URLs than are kept until the key is proved"
		default:
			seen[u], size = true, size+len(u)
			w.URLs = append(w.URLs, clone(u))
		}
	}
}

// answer takes in what a key file holds: what waits for it is believed or dropped. Applied again it
// changes nothing.
func (s *IndexNow) answer(a *crawl.Answer, at, now time.Time) error {
	h, err := s.ledger.HostNamed(a.Errand.Origin.Host)
	if h == nil || err != nil || a.KeyFile == nil {
		return err
	}
	r, err := s.Of(h, a.Errand.Origin)
	if err != nil {
		return err
	}
	var asked []Waiting
	r.Waiting = slices.DeleteFunc(r.Waiting, func(w Waiting) bool {
		if w.KeyURL == a.Errand.URL {
			asked = append(asked, w)
		}
		return w.KeyURL == a.Errand.URL
	})
	for _, w := range asked {
		if a.KeyFile.Key != w.Key {
			r.Refused += int64(len(w.URLs))
			if r.Reason = strings.Clone(crawl.ShortDetail(a.KeyFile.Reason)); r.Reason == "" {
				r.Reason = "its key file holds another key"
			}
			continue
		}
		r.Key, r.KeyURL, r.Until, r.Reason = w.Key, w.KeyURL, at.Add(KeyLife), ""
		if err := s.tell(r, w.URLs, w.At, now); err != nil {
			return err
		}
	}
	if len(asked) == 0 {
		return nil
	}
	return s.put(h, a.Errand.Origin, r)
}

// tell takes URLs of a site that has proved its key for changed when it told of them.
func (s *IndexNow) tell(r *Record, urls []canon.URL, received, now time.Time) error {
	if received.After(now) {
		received = now
	}
	r.Told += int64(len(urls))
	if len(urls) == 0 {
		return nil
	}
	return s.ledger.Accepts(&crawl.Links{FoundOn: r.KeyURL, Depth: 1, Source: crawl.SourceIndexNow, URLs: urls,
		Mods: slices.Repeat([]int64{received.Unix()}, len(urls))}, now)
}

// Of reads the record of an origin; a new one if there is none.
func (s *IndexNow) Of(h *ledger.Host, o canon.Origin) (*Record, error) {
	r := new(Record)
	b := s.ledger.Tx.Bucket(ledger.BucketIndexNow)
	if b == nil {
		return r, nil // a file from before there were any, opened for reading only
	}
	v := b.Get(key(h, o))
	if v == nil {
		return r, nil
	}
	if err := json.Unmarshal(v, r); err != nil {
		return nil, fmt.Errorf("IndexNow record of %s: %w", o, err)
	}
	return r, nil
}

// Info is what `curtsy updates` says of an origin; ok is false for one as which nothing was ever
// submitted.
func (s *IndexNow) Info(h *ledger.Host, o *ledger.Origin) (info crawl.UpdatesInfo, ok bool) {
	r, err := s.Of(h, o.Origin)
	if err != nil || r.At.IsZero() {
		return info, false
	}
	info = crawl.UpdatesInfo{Site: o.Origin.String(), Source: crawl.SourceIndexNow.String(), Channel: "http", State: "refused", Reason: r.Reason,
		Told: r.Told, Strange: r.Refused, Looked: o.Looked, Confirmed: o.Confirmed, LastReport: &crawl.UpdatesReport{At: r.At}}
	switch {
	case len(r.Waiting) > 0:
		info.State = "asking"
	case r.Key != "":
		info.State = "proved"
	}
	return info, true
}

func (s *IndexNow) put(h *ledger.Host, o canon.Origin, r *Record) error {
	v, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return s.ledger.Put(ledger.BucketIndexNow, key(h, o), v)
}

func key(h *ledger.Host, o canon.Origin) []byte { return append(h.ID.Append(nil), o.String()...) }

func clone(u canon.URL) canon.URL { return canon.URL(strings.Clone(string(u))) }
