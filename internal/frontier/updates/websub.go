package updates

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	xxhash "github.com/cespare/xxhash/v2"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/polite"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/internal/frontier/times"
	"github.com/curtsy/curtsy/internal/frontier/wellknown"
	"github.com/curtsy/curtsy/internal/websub"
	"github.com/curtsy/curtsy/pkg/canon"
)

// The limits of one shard's subscriptions, and when it asks again.
const (
	MaxPerHub    = 1000 // topics at the hubs of one host
	MaxPerDomain = 16   // topics of one registered domain
	MaxHubs      = 256  // hosts of hubs
	MaxTopics    = 10_000

	// Patience is how long a hub has to verify a request.
	Patience = 6 * time.Hour
	// Refused is the time after which a hub is asked again that refused, or never verified.
	Refused = 7 * 24 * time.Hour
	// Unnamed is the time after which a subscription ends when the feed no longer names the hub.
	Unnamed = 14 * 24 * time.Hour

	tick = time.Second
)

// The requests to a hub.
const (
	nothing = iota
	subscribe
	unsubscribe
)

var webSubModes = [...]string{"", websub.Subscribe, websub.Unsubscribe}

// WebSub are the subscriptions of one shard.
type WebSub struct {
	features *hosts.Features
	feeds    *wellknown.Feeds
	ledger   *hosts.Ledger

	// Secret is the crawl's secret, from which callback addresses and their secrets are derived;
	// nil: there are no subscriptions.
	Secret []byte

	topics  map[canon.URL]*WebSubTopic
	byFeed  map[canon.URL]*WebSubTopic
	hubs    map[canon.Host]int // number of topics at each
	domains map[string]int     // number of topics of each
	due     time.Time          // when the first of them is due; zero: none
	anew    bool               // all must be checked, because the spec has changed
}

// SetSecret sets the secret of the crawl, from which callback addresses and secrets of
// subscriptions are made; nil: nothing is subscribed.
func (s *WebSub) SetSecret(secret []byte) { s.Secret = secret }

// NewWebSub returns the subscriptions of one shard.
func NewWebSub(features *hosts.Features, feeds *wellknown.Feeds, ledger *hosts.Ledger) *WebSub {
	return &WebSub{features: features, feeds: feeds, ledger: ledger}
}

// Feature subscribes to feeds.
func (s *WebSub) Feature() hosts.Feature {
	return hosts.Feature{
		Aux: map[crawl.AuxKind]hosts.AuxKind{
			crawl.AuxWebSub: {Dress: s.dress, Answer: func(a *crawl.Answer, _, now time.Time) error { return s.answer(a, now) }},
		},
		Load:   s.Load,
		Upkeep: s.Upkeep,
		Respec: func() error { s.due, s.anew = time.Now(), true; return nil },
		Times:  store.InRecords[WebSubTopic](store.BucketWebSub),
	}
}

// WebSubTopic is the record of one subscription. It contains neither the callback nor its secret.
type WebSubTopic struct {
	ID    store.HostID `json:"-"` // of the topic's host
	Topic canon.URL    `json:"-"`

	Feed  canon.URL `json:"feed"` // the URL under which it is read
	Hub   canon.URL `json:"hub"`
	Depth int       `json:"depth,omitempty"` // of its entries
	N     int       `json:"n"`               // number of the callback in use
	// A hash of the public URL to which the hub was asked to deliver
	Base  uint64    `json:"base,omitempty"`
	Named time.Time `json:"named"` // approximately when the feed named the hub last

	Ask     int       `json:"ask,omitempty"` // the request that the hub has not verified yet
	Asked   time.Time `json:"asked,omitzero"`
	Until   time.Time `json:"until,omitzero"` // the end of the lease; zero: there is none
	Since   time.Time `json:"since,omitzero"`
	Next    time.Time `json:"next,omitzero"` // nothing is to be done before
	Tries   int       `json:"tries,omitempty"`
	Refused bool      `json:"refused,omitempty"` // the hub's last answer was a refusal
	Reason  string    `json:"reason,omitempty"`

	Requests int64     `json:"requests,omitempty"`
	Reports  int64     `json:"reports,omitempty"` // number of deliveries
	Entries  int64     `json:"told,omitempty"`    // number of entries in them
	Strange  int64     `json:"strange,omitempty"` // deliveries that were not expected
	Last     time.Time `json:"last,omitzero"`     // time of the last delivery
}

// Times shows the times of the record to see.
func (r *WebSubTopic) Times(see times.See) {
	see(&r.Named, times.Happened)
	see(&r.Asked, times.Happened)
	see(&r.Until, times.Waits)
	see(&r.Since, times.Happened)
	see(&r.Next, times.Waits)
	see(&r.Last, times.Happened)
}

func (s *WebSub) callbacks() websub.Callbacks {
	return websub.Callbacks{Base: s.ledger.Judge.Spec.UpdatesWebSub, Secret: s.Secret}
}

// on reports whether subscriptions are wanted at all.
func (s *WebSub) on() bool {
	spec := &s.ledger.Judge.Spec
	return spec.UpdatesWebSub != "" && spec.Updates && spec.ReadsFeeds() && len(s.Secret) > 0
}

// base is a hash of the public URL at which hubs reach us. The URL is no secret, but long.
func (s *WebSub) base() uint64 { return xxhash.Sum64String(s.ledger.Judge.Spec.UpdatesWebSub) }

func (s *WebSub) key(r *WebSubTopic) []byte { return append(r.ID.Append(nil), r.Topic...) }

func (s *WebSub) put(r *WebSubTopic) error {
	v, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if s.due.IsZero() || r.Next.Before(s.due) {
		s.due = r.Next
	}
	return s.ledger.Put(store.BucketWebSub, s.key(r), v)
}

// know adds a topic to those in memory, and counts it.
func (s *WebSub) know(r *WebSubTopic) {
	s.topics[r.Topic], s.byFeed[r.Feed] = r, r
	s.hubs[r.Hub.Host()]++
	s.domains[r.Topic.Host().Registered()]++
}

func (s *WebSub) drop(r *WebSubTopic) error {
	delete(s.topics, r.Topic)
	delete(s.byFeed, r.Feed)
	less(s.hubs, r.Hub.Host())
	less(s.domains, r.Topic.Host().Registered())
	return s.ledger.Drop(store.BucketWebSub, s.key(r))
}

func less[K comparable](m map[K]int, k K) {
	if m[k]--; m[k] <= 0 {
		delete(m, k)
	}
}

// Load reads the records from a file just opened.
func (s *WebSub) Load(now time.Time) error {
	s.topics, s.byFeed = map[canon.URL]*WebSubTopic{}, map[canon.URL]*WebSubTopic{}
	s.hubs, s.domains, s.due = map[canon.Host]int{}, map[string]int{}, now
	b := s.ledger.Tx.Bucket(store.BucketWebSub)
	if b == nil {
		return nil // a file from a version without this bucket, opened for reading only
	}
	return b.ForEach(func(k, v []byte) error {
		r := &WebSubTopic{ID: store.KeyHost(k), Topic: canon.URL(k[4:])}
		if err := json.Unmarshal(v, r); err != nil {
			return fmt.Errorf("%w: subscription %q: %w", store.ErrRecord, k[4:], err)
		}
		if r.Next.After(now.Add(websub.MostLease)) { // a clock that was far ahead wrote it
			r.Next = now
		}
		s.know(r)
		return nil
	})
}

// Names notes that a feed names a hub.
func (s *WebSub) Names(h *hosts.Host, feed canon.URL, depth int, f *crawl.Feed, now time.Time) error {
	if !s.on() || f.Self.Origin() != feed.Origin() || len(f.Self) > websub.MaxTopic {
		return nil
	}
	hub, domain := f.Hub.Host(), f.Self.Host().Registered()
	r := s.topics[f.Self]
	switch {
	case r != nil && r.Hub == f.Hub:
		if now.Sub(r.Named) < 24*time.Hour {
			return nil
		}
		r.Named = now
		return s.put(r)
	case r != nil && (r.Feed != feed || now.Sub(r.Named) < 24*time.Hour):
		// Another feed of the origin, which may belong to somebody else, or one that changes too
		// often.
		return nil
	case r == nil && (len(s.topics) >= MaxTopics || s.domains[domain] >= MaxPerDomain || s.byFeed[feed] != nil):
		return nil
	case s.hubs[hub] >= MaxPerHub || s.hubs[hub] == 0 && len(s.hubs) >= MaxHubs:
		return nil
	case r != nil: // it has moved to another hub, so deliveries of the hub before no longer count
		if r.N >= websub.MaxN {
			return nil
		}
		n := r.N + 1
		if err := s.drop(r); err != nil {
			return err
		}
		r = &WebSubTopic{ID: r.ID, Topic: r.Topic, Feed: r.Feed, N: n, Requests: r.Requests, Reports: r.Reports, Entries: r.Entries}
	default:
		r = &WebSubTopic{ID: h.ID, Topic: canon.URL(strings.Clone(string(f.Self))), Feed: canon.URL(strings.Clone(string(feed))), N: 1}
	}
	r.Hub, r.Depth, r.Named, r.Next = canon.URL(strings.Clone(string(f.Hub))), depth, now, now
	s.know(r)
	return s.put(r)
}

// Pushed reports whether a hub reports a feed's changes.
func (s *WebSub) Pushed(feed canon.URL) bool {
	r := s.byFeed[feed]
	return r != nil && s.on() && !r.Until.IsZero() && time.Now().Before(r.Until)
}

// Upkeep sends requests to hubs that are due. It waits until the log is read, because the log may
// already contain their answers.
func (s *WebSub) Upkeep(now time.Time) error {
	if !s.ledger.Phase.Active() || s.due.IsZero() || now.Before(s.due) {
		return nil
	}
	s.due = time.Time{}
	var failed error
	for _, r := range s.topics {
		if failed == nil && (s.anew || !now.Before(r.Next)) {
			failed = s.step(r, now)
		}
	}
	s.anew = false
	for _, r := range s.topics {
		if s.due.IsZero() || r.Next.Before(s.due) {
			s.due = r.Next
		}
	}
	if soon := now.Add(tick); !s.due.IsZero() && s.due.Before(soon) {
		s.due = soon
	}
	return failed
}

// step does what is due for one topic.
func (s *WebSub) step(r *WebSubTopic, now time.Time) error {
	active := !r.Until.IsZero() && now.Before(r.Until)
	wanted := s.on() && now.Sub(r.Named) < Unnamed && !s.ledger.Judge.Forgotten.Has(r.Topic) && !s.ledger.Judge.Forgotten.Has(r.Hub)
	if h, err := s.ledger.HostWith(r.ID); err != nil {
		return err
	} else if h == nil {
		wanted = false
	} else if i, ok := h.OriginIndex(r.Topic.Origin()); ok && h.Origins[i].Mirror.Mirrored() {
		wanted = false
	}
	if r.Ask != nothing && now.Sub(r.Asked) >= Patience {
		r.Ask, r.Reason = nothing, "the hub did not verify the subscription"
		r.Tries++
	}
	if base := s.base(); wanted && r.Ask == nothing && r.Base != 0 && base != r.Base {
		// The hub delivers to an address that is no longer ours. Until it knows the new one, it
		// reports nothing to us.
		r.Next, r.Until, active = now, time.Time{}, false
	}
	switch {
	case !wanted && (!active && r.Ask != subscribe || r.Tries >= polite.RetryWebSub.Tries || len(s.Secret) == 0 || s.ledger.Judge.Spec.UpdatesWebSub == ""):
		return s.drop(r) // further deliveries of the hub belong to no topic
	case !wanted && r.Ask != unsubscribe:
		return s.ask(r, unsubscribe, now)
	case wanted && now.Before(r.Next):
		return nil
	case r.Ask != nothing: // it waits for the hub
		r.Next = r.Asked.Add(Patience)
		return s.put(r)
	case r.Tries >= polite.RetryWebSub.Tries:
		r.Tries, r.Refused, r.Next = 0, true, now.Add(Refused)
		return s.put(r)
	}
	return s.ask(r, subscribe, now)
}

// ask sends a request to a hub.
func (s *WebSub) ask(r *WebSubTopic, what int, now time.Time) error {
	r.Ask, r.Asked, r.Next, r.Base = what, now, now.Add(Patience), s.base()
	if err := s.put(r); err != nil {
		return err
	}
	e := crawl.AuxRequest{Kind: crawl.AuxWebSub, URL: r.Hub, Origin: r.Topic.Origin(), Hop: 2*r.N + what - subscribe, ReplyShard: s.ledger.ID, About: r.Topic}
	return s.ledger.Send(crawl.ShardOf(r.Hub.Host(), s.ledger.Judge.Spec.Shards), &crawl.Event{Aux: []crawl.AuxRequest{e}})
}

// dress adds the form for a hub to a request. The shard of the hub's host does this, because no
// message contains the callback address and the secret.
func (s *WebSub) dress(h *hosts.Host, now time.Time) func(e *crawl.AuxRequest) (ok bool, err error) {
	return func(e *crawl.AuxRequest) (bool, error) {
		c := s.callbacks()
		if c.Base == "" || len(c.Secret) == 0 || e.About == "" || e.Hop < 2 {
			return false, s.features.DropAux(h, *e, now)
		}
		e.Form = c.Form(webSubModes[subscribe+e.Hop%2], e.About, e.Hop/2)
		return true, nil
	}
}

// of is the topic of an answer or of a hub's request, if the number is current.
func (s *WebSub) of(topic canon.URL, n int) *WebSubTopic {
	if r := s.topics[topic]; r != nil && r.N == n {
		return r
	}
	return nil
}

// answer applies a hub's answer. The hub's consent has no effect before it has verified the
// request.
func (s *WebSub) answer(a *crawl.Answer, now time.Time) error {
	e, m := &a.Aux, &a.RUP
	r := s.of(e.About, e.Hop/2)
	if r == nil || r.Hub != e.URL {
		return nil
	}
	r.Requests++
	// It has verified the request already, or will
	if r.Ask != subscribe+e.Hop%2 || m.Reason == "" {
		return s.put(r)
	}
	r.Ask, r.Reason = nothing, strings.Clone(crawl.ShortDetail(m.Reason))
	r.Tries++
	if !m.Retry {
		r.Tries = polite.RetryWebSub.Tries
	}
	r.Next = now.Add(max(m.RetryAfter, polite.RetryWebSub.After(r.Tries)))
	return s.put(r)
}

// Intends reports whether a hub was sent this request a short time ago. A hub that did not receive
// our confirmation, or got the request twice because a fetcher died, verifies it once more. A
// denial would then end the subscription at the hub although it has just begun, and we would count
// it as active.
func (s *WebSub) Intends(q *crawl.WebSubQuestion, now time.Time) bool {
	r := s.of(canon.URL(q.Topic), q.N)
	if r == nil || now.Sub(r.Asked) >= Patience {
		return false
	}
	if r.Ask == nothing {
		return q.Mode == websub.Subscribe && s.on() && now.Before(r.Until)
	}
	return webSubModes[r.Ask] == q.Mode
}

// Left reports whether the subscription of a verification request has ended permanently: it was
// given up, or its number is no longer in use. While the log is not read yet this is unknown.
func (s *WebSub) Left(q *crawl.WebSubQuestion) bool {
	r := s.topics[canon.URL(q.Topic)]
	return s.ledger.Phase.Active() && (r == nil || q.N < r.N)
}

// Apply applies a hub's request. A second call changes only counts.
func (s *WebSub) Apply(w *crawl.WebSub, now time.Time) error {
	r := s.of(w.Topic, w.N)
	if r == nil {
		return nil
	}
	switch {
	case w.Mode == websub.Subscribe && r.Ask == subscribe:
		lease := w.Lease
		if lease == 0 {
			lease = websub.Lease
		}
		lease = min(max(lease, websub.LeastLease), websub.MostLease)
		if !now.Before(r.Until) {
			r.Since = now
		}
		r.Ask, r.Tries, r.Refused, r.Reason = nothing, 0, false, ""
		r.Until, r.Next = now.Add(lease), now.Add(lease-lease/8)
	case w.Mode == websub.Unsubscribe && r.Ask == unsubscribe:
		return s.drop(r)
	case w.Mode == websub.Denied: // this may also concern an active subscription
		r.Ask, r.Tries, r.Refused, r.Until = nothing, 0, true, time.Time{}
		r.Reason, r.Next = "the hub refuses: "+strings.Clone(crawl.ShortDetail(w.Reason)), now.Add(Refused)
	case w.Mode == crawl.WebSubDeliver:
		return s.deliver(r, w, now)
	default:
		return nil
	}
	return s.put(r)
}

// deliver applies a delivery of a hub: links and hints, as if the feed had been read.
func (s *WebSub) deliver(r *WebSubTopic, w *crawl.WebSub, now time.Time) error {
	if r.Until.IsZero() || now.After(r.Until) || !s.on() {
		r.Strange++
		return s.put(r)
	}
	r.Reports++
	r.Entries += int64(len(w.URLs))
	r.Last = now
	if err := s.put(r); err != nil {
		return err
	}
	h, err := s.ledger.HostWith(r.ID)
	if h == nil || err != nil {
		return err
	}
	l := crawl.Links{FoundOn: r.Feed, Depth: max(r.Depth, 1), Source: crawl.SourceWebSub}
	for i, u := range w.URLs {
		if u.Host() == r.Topic.Host() && i < len(w.Mods) {
			l.URLs, l.Mods = append(l.URLs, u), append(l.Mods, w.Mods[i])
		}
	}
	if len(l.URLs) == 0 {
		return s.feeds.Soon(h, r.Feed, now)
	}
	return s.ledger.Accept(&l, now)
}

// Info is what `curtsy updates` prints about an origin's subscriptions; ok is false if there are
// none.
func (s *WebSub) Info(h *hosts.Host, o *hosts.Origin) (info crawl.UpdatesInfo, ok bool) {
	info = crawl.UpdatesInfo{Site: o.Origin.String(), Source: crawl.SourceWebSub.String(), Channel: "http", State: "refused"}
	n := 0
	for _, r := range s.topics {
		if r.ID != h.ID || r.Topic.Origin() != o.Origin {
			continue
		}
		n++
		switch {
		case !r.Until.IsZero() && time.Now().Before(r.Until):
			info.State, info.Since = "subscribed", hosts.At(r.Since)
		case info.State == "refused" && !r.Refused:
			info.State = "asking"
		}
		if r.Reason != "" {
			info.Reason = r.Reason
		}
		info.Requests, info.Reports, info.Reported, info.Strange = info.Requests+r.Requests, info.Reports+r.Reports, info.Reported+r.Entries, info.Strange+r.Strange
		if !r.Last.IsZero() && (info.LastReport == nil || r.Last.After(info.LastReport.At)) {
			info.LastReport = &crawl.UpdatesReport{At: r.Last.UTC()}
		}
	}
	return info, n > 0
}
