package updates

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/internal/frontier/times"
	"github.com/curtsy/curtsy/internal/updates"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/rup"
)

// A site that publishes /rupinfo.txt reports its changes (formats §6): by mail after we have
// registered, or when it is asked. Its record is in the shard of its host. Events change the record
// and, once the log is read, time does. Requests to the site are auxiliary requests of its host,
// one at a time. Reports are hints: they make fetches earlier and have no other effect.

// The requests to a site. An auxiliary request has this number in Hop, so that its answer is not
// mistaken for another's.
const (
	RupNothing = iota
	rupInfo    // its /rupinfo.txt
	rupRegister
	rupUnregister
	rupModify
	rupSequence
	rupIndex
	// The confirmation that our address wants reports, for which the site has asked by mail
	rupConfirm
)

var rupActions = [...]string{"", "/rupinfo.txt", "Register", "Unregister", "ModifyPreferences", "GetSequenceNumber", "GetIndex", "confirmation"}

const (
	// How long a /rupinfo.txt without an explicit lifetime is used
	rupFresh      = 24 * time.Hour
	rupFreshLeast = time.Hour          // the least lifetime, whatever it says
	rupFreshMost  = 7 * 24 * time.Hour // the greatest lifetime, whatever it says
	rupAbsent     = 7 * 24 * time.Hour // until a site without RUP is asked again
	rupRefused    = 7 * 24 * time.Hour // until a request that was refused is sent again
	// Limit of successive registrations of one site: updates recognises no more addresses.
	rupAddresses = 1000
	// After this many latencies a page is fetched in any case (formats §7).
	rupPeriod     = 4
	rupPeriodMost = 30 * 24 * time.Hour
)

// RUPSite is the record of one site that has RUP, or is being asked whether it has.
type RUPSite struct {
	H *hosts.Host `json:"-"`
	I int         `json:"-"` // index of its origin

	rupOffer
	Reason string `json:"reason,omitempty"` // for people: the last failure
	rupRequest
	rupRegistration

	Seq  *rup.State `json:"seq,omitempty"`
	Tick time.Time  `json:"tick,omitzero"` // when Seq wants to be called again
	// Without a registration: the time up to which changes are known.
	Index time.Time `json:"index,omitzero"`
	Poll  time.Time `json:"poll,omitzero"` // without a registration: when to ask again
	// Covered is the time since which no change was missed. A page that was fetched later has not
	// changed unless a report named it.
	Covered time.Time `json:"covered,omitzero"`
	Good    time.Time `json:"good,omitzero"` // when the last report in sequence arrived

	Report   rupReport `json:"report,omitzero"`    // the last one applied
	Gaps     int64     `json:"gaps,omitempty"`     // total number of missing reports
	Requests int64     `json:"requests,omitempty"` // requests sent to it, except for pages
	// Complete re-crawls because changes could not be determined.
	Whole int64 `json:"whole,omitempty"`
	// Reports to an address that the site was not given, and entries of other sites.
	Strange int64     `json:"strange,omitempty"`
	WholeAt time.Time `json:"whole_at,omitzero"` // when the last complete re-crawl began
	// While pages are planned for a complete re-crawl: the key with which to continue.
	Anew []byte `json:"anew,omitempty"`
}

// rupOffer is what a site offers in its /rupinfo.txt.
type rupOffer struct {
	Info     time.Time  `json:"info,omitzero"` // when /rupinfo.txt was read
	InfoDue  time.Time  `json:"info_due,omitzero"`
	CGI      canon.URL  `json:"cgi,omitempty"`      // empty: no requests are possible
	Register bool       `json:"register,omitempty"` // it accepts registrations
	Units    []rup.Unit `json:"units,omitempty"`    // units of latency that it offers
	// How far back its index reaches; zero: it has no index.
	Span rup.Span `json:"span,omitzero"`
}

// rupRequest is the current request to a site, and what follows after it.
type rupRequest struct {
	Ask   int       `json:"ask,omitempty"` // the current request
	Asked time.Time `json:"asked,omitzero"`
	Next  int       `json:"next,omitempty"`  // the request that Seq wants next
	Query rup.Span  `json:"query,omitzero"`  // the span for rupIndex
	Tries int       `json:"tries,omitempty"` // temporary failures in a row
	Retry time.Time `json:"retry,omitzero"`  // no request is sent before
}

// rupRegistration is the registration with a site, or the attempts at one. The key is never shown.
type rupRegistration struct {
	Address string `json:"address,omitempty"`
	Key     string `json:"key,omitempty"`
	N       int    `json:"n,omitempty"` // number of addresses given to the site so far
	// The address in the current Register or ModifyPreferences.
	Trial        string      `json:"trial,omitempty"`
	TrialLatency rup.Latency `json:"trial_latency,omitzero"`
	// The URL with which Confirming is to be confirmed; empty: none.
	Confirm canon.URL `json:"confirm,omitempty"`
	// The address whose confirmation was requested
	Confirming string `json:"confirming,omitempty"`
	// The request contains TrialLatency, because the site offers it.
	Named      bool        `json:"named,omitempty"`
	Agreed     rup.Latency `json:"agreed,omitzero"` // the latency that the site has accepted
	Since      time.Time   `json:"since,omitzero"`  // time of the registration
	RegisterAt time.Time   `json:"register_at,omitzero"`
	Refusals   int         `json:"refusals,omitempty"` // refusals of Register, in a row
	ModifyAt   time.Time   `json:"modify_at,omitzero"`
}

// UpdatesFeature asks sites for their changes.
func (s *RUPSites) UpdatesFeature() hosts.Feature {
	return hosts.Feature{
		Aux: map[crawl.AuxKind]hosts.AuxKind{
			crawl.AuxRUP: {Dress: s.dressAsk, Answer: func(a *crawl.Answer, _, now time.Time) error { return s.answer(a, now) }},
		},
		Ask:    s.askUpdates,
		Respec: s.beginUpdates,
		Load:   s.Load,
		Upkeep: s.Upkeep,
		Pass:   hosts.Pass{Some: s.replanSome, Left: func() bool { return s.replanning }},
		Times:  store.InRecords[RUPSite](store.BucketRUP),
	}
}

// rupReport is what is remembered of the last report, with totals.
type rupReport struct {
	Number  uint64    `json:"number,omitempty"`
	Index   bool      `json:"index,omitempty"`
	At      time.Time `json:"at,omitzero"`
	Entries int64     `json:"entries,omitempty"`
	Refused int64     `json:"refused,omitempty"`
	// Totals of all reports so far.
	Reports  int64 `json:"reports,omitempty"`
	Reported int64 `json:"told,omitempty"` // number of entries
	// URLs that are fetched earlier because of a report, or were new
	Sooner int64 `json:"sooner,omitempty"`
}

// Origin is the origin of the site.
func (r *RUPSite) Origin() canon.Origin { return r.H.Origins[r.I].Origin }

// Registered reports whether the site may mail us reports.
func (r *rupRegistration) Registered() bool { return r.Key != "" }

// Polled reports whether the site reports its changes when asked.
func (r *RUPSite) Polled() bool {
	return !r.Registered() && r.CGI != "" && r.Span != (rup.Span{}) && !r.Index.IsZero()
}

// terms are the conditions under which reports of a registration are expected.
func (r *RUPSite) terms() rup.Terms { return rup.Terms{Latency: r.Agreed, MaxQuerySpan: r.Span} }

// addresses generates the mail addresses that sites are given.
func (s *RUPSites) addresses() updates.Addresses {
	return updates.Addresses{Mailbox: s.ledger.Judge.Spec.UpdatesMail, Secret: s.Secret}
}

func rupKey(h *hosts.Host, o canon.Origin) []byte { return append(h.ID.Append(nil), o.String()...) }

// putSite writes a site's record, and makes upkeep handle it when it is due.
func (s *RUPSites) putSite(r *RUPSite, now time.Time) error {
	v, err := json.Marshal(r)
	if err != nil {
		return err
	}
	s.Sites[r.Origin()] = r
	if what, at := s.WantOf(r, now); what != RupNothing {
		s.loadSites(now)
	} else {
		s.loadSites(at)
	}
	return s.ledger.Put(store.BucketRUP, rupKey(r.H, r.Origin()), v)
}

// dropSite removes a site.
func (s *RUPSites) dropSite(r *RUPSite) error {
	delete(s.Sites, r.Origin())
	return s.ledger.Drop(store.BucketRUP, rupKey(r.H, r.Origin()))
}

func (s *RUPSites) loadSites(at time.Time) {
	if !at.IsZero() && (s.SitesDue.IsZero() || at.Before(s.SitesDue)) {
		s.SitesDue = at
	}
}

// Load reads the sites' records from a file just opened.
func (s *RUPSites) Load(now time.Time) error {
	s.Sites, s.SitesDue = map[canon.Origin]*RUPSite{}, now
	b := s.ledger.Tx.Bucket(store.BucketRUP)
	if b == nil {
		return nil // a file from a version without this bucket, opened for reading only
	}
	return b.ForEach(func(k, v []byte) error {
		r := new(RUPSite)
		if err := json.Unmarshal(v, r); err != nil {
			return fmt.Errorf("site %q: %w", k[4:], err)
		}
		h, err := s.ledger.HostWith(store.KeyHost(k))
		if err != nil {
			return err
		}
		if h == nil {
			return store.ErrRecord
		}
		i := slices.IndexFunc(h.Origins, func(o hosts.Origin) bool { return o.Origin.String() == string(k[4:]) })
		if i < 0 {
			return store.ErrRecord
		}
		r.H, r.I = h, i
		s.Sites[r.Origin()] = r
		s.replanning = s.replanning || r.Anew != nil // the pass must be continued
		return nil
	})
}

// Knows reports whether there is a record of a site of h.
func (s *RUPSites) Knows(h *hosts.Host) bool {
	return len(s.Sites) > 0 && slices.ContainsFunc(h.Origins, func(o hosts.Origin) bool { return s.Sites[o.Origin] != nil })
}

// Times shows the times of the record to see. The time up to which changes are known never becomes
// later by a change of the clock, because a request for too short a period would lose changes.
func (r *RUPSite) Times(see times.See) {
	wait := []*time.Time{&r.InfoDue, &r.Retry, &r.RegisterAt, &r.ModifyAt, &r.Tick, &r.Poll}
	since := []*time.Time{&r.Info, &r.Asked, &r.Since, &r.Index, &r.Covered, &r.Good, &r.WholeAt, &r.Report.At}
	if q := r.Seq; q != nil {
		wait = append(wait, &q.Heard, &q.GapAt, &q.Retry)
		since = append(since, &q.Good, &q.New, &q.Begun)
	}
	for _, t := range wait {
		see(t, times.Waits)
	}
	for _, t := range since {
		see(t, times.Known)
	}
}

// askSite sends a request to a site, in place of any earlier one.
func (s *RUPSites) askSite(r *RUPSite, what int, now time.Time) error {
	if err := s.endAsk(r, now); err != nil {
		return err
	}
	r.Ask, r.Asked = what, now
	if what == rupInfo || what == rupRegister {
		r.H.Quota.Hurry()
	}
	if err := s.putSite(r, now); err != nil {
		return err
	}
	e, ok := s.siteRequest(r)
	if !ok {
		return nil
	}
	return s.features.AddAux(e, now)
}

// url is the target of a request.
func (r *RUPSite) url(what int) canon.URL {
	switch what {
	case rupInfo:
	case rupConfirm:
		u, _, _ := strings.Cut(string(r.Confirm), "?")
		return canon.URL(u)
	default:
		return r.CGI
	}
	u, _ := r.Origin().URL("/rupinfo.txt")
	return u
}

// siteRequest is the auxiliary request for the current request.
func (s *RUPSites) siteRequest(r *RUPSite) (e crawl.AuxRequest, ok bool) {
	u := r.url(r.Ask)
	return crawl.AuxRequest{Kind: crawl.AuxRUP, URL: u, Origin: r.Origin(), Hop: r.Ask, ReplyShard: s.ledger.ID}, u != "" && r.Ask != RupNothing
}

// endAsk ends the current request. The caller writes the record.
func (s *RUPSites) endAsk(r *RUPSite, now time.Time) error {
	e, ok := s.siteRequest(r)
	r.Ask, r.Asked = RupNothing, time.Time{}
	if !ok {
		return nil
	}
	return s.features.DropAux(r.H, e, now)
}
