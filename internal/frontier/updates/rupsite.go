package updates

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/times"
	"github.com/curtsy/curtsy/internal/updates"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/rup"
)

// A site that publishes /rupinfo.txt tells what changed on it (protocols §6): by mail once we have
// registered, or when it is asked. Its record is here, in the shard of its host. It is changed by
// events and, once the log is read, by time; whatever is wanted of the site is an errand of its
// host, one at a time. Reports are hints: they bring fetches forward and do nothing else.

// What a site is asked. An errand carries it in Hop, so that an answer is not taken for another's.
const (
	RupNothing = iota
	rupInfo    // its /rupinfo.txt
	rupRegister
	rupUnregister
	rupModify
	rupSequence
	rupIndex
	rupConfirm // that our address wants reports, as it was asked by mail
)

var rupActions = [...]string{"", "/rupinfo.txt", "Register", "Unregister", "ModifyPreferences", "GetSequenceNumber", "GetIndex", "confirmation"}

const (
	rupFresh      = 24 * time.Hour     // how long a /rupinfo.txt is used that does not say
	rupFreshLeast = time.Hour          // whatever it says
	rupFreshMost  = 7 * 24 * time.Hour // likewise
	rupAbsent     = 7 * 24 * time.Hour // until a site without RUP is asked once more
	rupRefused    = 7 * 24 * time.Hour // until a request is made anew that was refused
	// After trouble that may pass; doubled each time, up to rupFresh.
	rupRetry = time.Hour
	// Registrations of one site, one after the other: updates looks for no more.
	rupAddresses = 1000
	// Latencies after which a page is looked at all the same (protocols §7).
	rupPeriod     = 4
	rupPeriodMost = 30 * 24 * time.Hour
)

// Site is the record of one site that has RUP, or is being asked whether it has.
type RUPSite struct {
	H *hosts.Host `json:"-"`
	I int         `json:"-"` // of its origin

	Info     time.Time  `json:"info,omitzero"` // when /rupinfo.txt was read
	InfoDue  time.Time  `json:"info_due,omitzero"`
	CGI      canon.URL  `json:"cgi,omitempty"`      // empty: nothing can be asked
	Register bool       `json:"register,omitempty"` // registering is possible
	Units    []rup.Unit `json:"units,omitempty"`    // of latency that it offers
	// How far back it can tell; zero: it cannot be asked.
	Span   rup.Span `json:"span,omitzero"`
	Reason string   `json:"reason,omitempty"` // for people: what did not work out last

	Ask   int       `json:"ask,omitempty"` // the question under way
	Asked time.Time `json:"asked,omitzero"`
	Next  int       `json:"next,omitempty"`  // the question that Seq wants asked
	Query rup.Span  `json:"query,omitzero"`  // of rupIndex
	Tries int       `json:"tries,omitempty"` // failures in a row that may pass
	Retry time.Time `json:"retry,omitzero"`  // nothing is asked before

	// The registration. The key is shown to nobody.
	Address string `json:"address,omitempty"`
	Key     string `json:"key,omitempty"`
	N       int    `json:"n,omitempty"` // addresses given away so far
	// The address of the registration, or change, under way.
	Trial        string      `json:"trial,omitempty"`
	TrialLatency rup.Latency `json:"trial_latency,omitzero"`
	// What Confirming was asked to post to; empty: nothing.
	Confirm    canon.URL `json:"confirm,omitempty"`
	Confirming string    `json:"confirming,omitempty"` // the address that was asked
	// It may be told TrialLatency: it offers that.
	Named      bool        `json:"named,omitempty"`
	Agreed     rup.Latency `json:"agreed,omitzero"` // the latency the site has been told
	Since      time.Time   `json:"since,omitzero"`  // of the registration
	RegisterAt time.Time   `json:"register_at,omitzero"`
	Refusals   int         `json:"refusals,omitempty"` // of Register, in a row
	ModifyAt   time.Time   `json:"modify_at,omitzero"`

	Seq  *rup.State `json:"seq,omitempty"`
	Tick time.Time  `json:"tick,omitzero"` // when Seq wants to be called again
	// Without a registration: up to when we know what changed.
	Index time.Time `json:"index,omitzero"`
	Poll  time.Time `json:"poll,omitzero"` // likewise: when to ask again
	// Covered is since when nothing that changed was missed: what was fetched later has not changed
	// unless a report said so.
	Covered time.Time `json:"covered,omitzero"`
	Good    time.Time `json:"good,omitzero"` // when the last report in sequence came

	Report   rupReport `json:"report,omitzero"`    // the last one applied
	Gaps     int64     `json:"gaps,omitempty"`     // reports that were found missing, in all
	Requests int64     `json:"requests,omitempty"` // that it was sent, pages apart
	// Full re-crawls, since what changed could not be had.
	Whole int64 `json:"whole,omitempty"`
	// Reports to another address than it was told, and entries that are not its own.
	Strange int64     `json:"strange,omitempty"`
	WholeAt time.Time `json:"whole_at,omitzero"` // when the last began
	// While pages are planned for a full re-crawl: the key to go on from.
	Anew []byte `json:"anew,omitempty"`
}

// UpdatesFeature asks sites what changed on them.
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
		Times:  hosts.InRecords[RUPSite](hosts.BucketRUP),
	}
}

// report is what is remembered of a report.
type rupReport struct {
	Number  uint64    `json:"number,omitempty"`
	Index   bool      `json:"index,omitempty"`
	At      time.Time `json:"at,omitzero"`
	Entries int64     `json:"entries,omitempty"`
	Refused int64     `json:"refused,omitempty"`
	// Of all reports so far.
	Reports  int64 `json:"reports,omitempty"`
	Reported int64 `json:"told,omitempty"`   // entries
	Sooner   int64 `json:"sooner,omitempty"` // URLs that were brought forward, or were new
}

// Origin is the origin the site is known by.
func (r *RUPSite) Origin() canon.Origin { return r.H.Origins[r.I].Origin }

// Registered reports whether the site may mail us reports.
func (r *RUPSite) Registered() bool { return r.Key != "" }

// Polled reports whether it tells when asked.
func (r *RUPSite) Polled() bool {
	return !r.Registered() && r.CGI != "" && r.Span != (rup.Span{}) && !r.Index.IsZero()
}

// terms are what the reports of a registration are held against.
func (r *RUPSite) terms() rup.Terms { return rup.Terms{Latency: r.Agreed, MaxQuerySpan: r.Span} }

// addresses makes the addresses that sites are told.
func (s *RUPSites) addresses() updates.Addresses {
	return updates.Addresses{Mailbox: s.ledger.Judge.Spec.UpdatesMail, Secret: s.Secret}
}

func rupKey(h *hosts.Host, o canon.Origin) []byte { return append(h.ID.Append(nil), o.String()...) }

// putSite writes a site's record, and has upkeep look at it when its time comes.
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
	return s.ledger.Put(hosts.BucketRUP, rupKey(r.H, r.Origin()), v)
}

// dropSite forgets a site.
func (s *RUPSites) dropSite(r *RUPSite) error {
	delete(s.Sites, r.Origin())
	return s.ledger.Drop(hosts.BucketRUP, rupKey(r.H, r.Origin()))
}

func (s *RUPSites) loadSites(at time.Time) {
	if !at.IsZero() && (s.SitesDue.IsZero() || at.Before(s.SitesDue)) {
		s.SitesDue = at
	}
}

// Load reads the sites' records from a file just opened.
func (s *RUPSites) Load(now time.Time) error {
	s.Sites, s.SitesDue = map[canon.Origin]*RUPSite{}, now
	b := s.ledger.Tx.Bucket(hosts.BucketRUP)
	if b == nil {
		return nil // a file from before there were any, opened for reading only
	}
	return b.ForEach(func(k, v []byte) error {
		r := new(RUPSite)
		if err := json.Unmarshal(v, r); err != nil {
			return fmt.Errorf("site %q: %w", k[4:], err)
		}
		h, err := s.ledger.HostWith(hosts.KeyHost(k))
		if err != nil {
			return err
		}
		if h == nil {
			return hosts.ErrRecord
		}
		i := slices.IndexFunc(h.Origins, func(o hosts.Origin) bool { return o.Origin.String() == string(k[4:]) })
		if i < 0 {
			return hosts.ErrRecord
		}
		r.H, r.I = h, i
		s.Sites[r.Origin()] = r
		s.replanning = s.replanning || r.Anew != nil // to be gone on with
		return nil
	})
}

// Knows reports whether there is a record of a site of h.
func (s *RUPSites) Knows(h *hosts.Host) bool {
	return len(s.Sites) > 0 && slices.ContainsFunc(h.Origins, func(o hosts.Origin) bool { return s.Sites[o.Origin] != nil })
}

// Times shows what is kept of time. Until when it is known what changed on a site gets no later by
// another clock: who asks for less than is missing loses what changed meanwhile.
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

// askSite has a site asked something, in place of what it was asked before.
func (s *RUPSites) askSite(r *RUPSite, what int, now time.Time) error {
	if err := s.endAsk(r, now); err != nil {
		return err
	}
	r.Ask, r.Asked = what, now
	r.H.Quota.Urgent = r.H.Quota.Urgent || what == rupInfo || what == rupRegister
	if err := s.putSite(r, now); err != nil {
		return err
	}
	e, ok := s.siteRequest(r)
	if !ok {
		return nil
	}
	return s.features.AddAux(e, now)
}

// url is where a question is asked.
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

// siteRequest is the errand of the question under way.
func (s *RUPSites) siteRequest(r *RUPSite) (e crawl.AuxRequest, ok bool) {
	u := r.url(r.Ask)
	return crawl.AuxRequest{Kind: crawl.AuxRUP, URL: u, Origin: r.Origin(), Hop: r.Ask, ReplyShard: s.ledger.ID}, u != "" && r.Ask != RupNothing
}

// endAsk ends the question under way. The caller writes the record.
func (s *RUPSites) endAsk(r *RUPSite, now time.Time) error {
	e, ok := s.siteRequest(r)
	r.Ask, r.Asked = RupNothing, time.Time{}
	if !ok {
		return nil
	}
	return s.features.DropAux(r.H, e, now)
}
