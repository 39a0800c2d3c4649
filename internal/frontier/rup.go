package frontier

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/updates"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/rup"
)

// A site that publishes /rupinfo.txt tells what changed on it (protocols §6): by mail once we have registered, or when it is asked.
// Its record is here, in the shard of its host. It is changed by events and, once the log is read, by time; whatever is wanted of
// the site is an errand of its host, one at a time. Reports are hints: they bring fetches forward and do nothing else.

// What a site is asked. An errand carries it in Hop, so that an answer is not taken for another's.
const (
	rupNothing = iota
	rupInfo    // its /rupinfo.txt
	rupRegister
	rupUnregister
	rupModify
	rupSequence
	rupIndex
)

var rupActions = [...]string{"", "/rupinfo.txt", "Register", "Unregister", "ModifyPreferences", "GetSequenceNumber", "GetIndex"}

const (
	rupFresh      = 24 * time.Hour     // how long a /rupinfo.txt is used that does not say
	rupFreshLeast = time.Hour          // whatever it says
	rupFreshMost  = 7 * 24 * time.Hour // likewise
	rupAbsent     = 7 * 24 * time.Hour // until a site without RUP is asked once more
	rupRefused    = 7 * 24 * time.Hour // until a request is made anew that was refused
	rupRetry      = time.Hour          // after trouble that may pass; doubled each time, up to rupFresh
	rupAddresses  = 1000               // registrations of one site, one after the other: updates looks for no more
	rupPeriod     = 4                  // latencies after which a page is looked at all the same (protocols §7)
	rupPeriodMost = 30 * 24 * time.Hour
)

// rupSite is the record of one site that has RUP, or is being asked whether it has.
type rupSite struct {
	h *host
	i int // of its origin

	Info     time.Time  `json:"info,omitzero"` // when /rupinfo.txt was read
	InfoDue  time.Time  `json:"info_due,omitzero"`
	CGI      canon.URL  `json:"cgi,omitempty"`      // empty: nothing can be asked
	Register bool       `json:"register,omitempty"` // registering is possible
	Units    []rup.Unit `json:"units,omitempty"`    // of latency that it offers
	Span     rup.Span   `json:"span,omitzero"`      // how far back it can tell; zero: it cannot be asked
	Reason   string     `json:"reason,omitempty"`   // for people: what did not work out last

	Ask   int       `json:"ask,omitempty"` // the question under way
	Asked time.Time `json:"asked,omitzero"`
	Next  int       `json:"next,omitempty"`  // the question that Seq wants asked
	Query rup.Span  `json:"query,omitzero"`  // of rupIndex
	Tries int       `json:"tries,omitempty"` // failures in a row that may pass
	Retry time.Time `json:"retry,omitzero"`  // nothing is asked before

	// The registration. The key is shown to nobody.
	Address      string      `json:"address,omitempty"`
	Key          string      `json:"key,omitempty"`
	N            int         `json:"n,omitempty"`     // addresses given away so far
	Trial        string      `json:"trial,omitempty"` // the address of the registration, or change, under way
	TrialLatency rup.Latency `json:"trial_latency,omitzero"`
	Named        bool        `json:"named,omitempty"` // it may be told TrialLatency: it offers that
	Agreed       rup.Latency `json:"agreed,omitzero"` // the latency the site has been told
	Since        time.Time   `json:"since,omitzero"`  // of the registration
	RegisterAt   time.Time   `json:"register_at,omitzero"`
	Refusals     int         `json:"refusals,omitempty"` // of Register, in a row
	ModifyAt     time.Time   `json:"modify_at,omitzero"`

	Seq   *rup.State `json:"seq,omitempty"`
	Tick  time.Time  `json:"tick,omitzero"`  // when Seq wants to be called again
	Index time.Time  `json:"index,omitzero"` // without a registration: up to when we know what changed
	Poll  time.Time  `json:"poll,omitzero"`  // likewise: when to ask again
	// Covered is since when nothing that changed was missed: what was fetched later has not changed unless a report said so.
	Covered time.Time `json:"covered,omitzero"`
	Good    time.Time `json:"good,omitzero"` // when the last report in sequence came

	Report  rupReport `json:"report,omitzero"`   // the last one applied
	Gaps    int64     `json:"gaps,omitempty"`    // reports that were found missing, in all
	Whole   int64     `json:"whole,omitempty"`   // full re-crawls, since what changed could not be had
	Strange int64     `json:"strange,omitempty"` // reports to another address than it was told, and entries that are not its own
	WholeAt time.Time `json:"whole_at,omitzero"` // when the last began
	Anew    []byte    `json:"anew,omitempty"`    // while pages are planned for a full re-crawl: the key to go on from
}

// rupReport is what is remembered of a report.
type rupReport struct {
	Number  uint64    `json:"number,omitempty"`
	Index   bool      `json:"index,omitempty"`
	At      time.Time `json:"at,omitzero"`
	Entries int64     `json:"entries,omitempty"`
	Refused int64     `json:"refused,omitempty"`
	// Of all reports so far.
	Reports int64 `json:"reports,omitempty"`
	Told    int64 `json:"told,omitempty"`   // entries
	Sooner  int64 `json:"sooner,omitempty"` // URLs that were brought forward, or were new
}

func (r *rupSite) origin() canon.Origin { return r.h.Origins[r.i].Origin }

// registered reports whether the site may mail us reports.
func (r *rupSite) registered() bool { return r.Key != "" }

// polled reports whether it tells when asked.
func (r *rupSite) polled() bool {
	return !r.registered() && r.CGI != "" && r.Span != (rup.Span{}) && !r.Index.IsZero()
}

// terms are what the reports of a registration are held against.
func (r *rupSite) terms() rup.Terms { return rup.Terms{Latency: r.Agreed, MaxQuerySpan: r.Span} }

// rupOn reports whether updates are wanted at all: without re-crawl nothing would come of them, and whoever registers should be there
// when the mail comes.
func (j *judge) rupOn() bool { return j.spec.Updates && j.spec.Recrawl }

// updatesOff reports whether the operator wants no updates of a site.
func (j *judge) updatesOff(o canon.Origin) bool {
	return slices.Contains(j.spec.UpdatesOff, o.String())
}

// latencyFor is how often a site is to tell: day, week, month, or "" for as often as it offers.
func (j *judge) latencyFor(o canon.Origin) string {
	return cmp.Or(j.spec.UpdatesPrefer[o.String()], j.spec.UpdatesLatency)
}

// addresses makes the addresses that sites are told.
func (s *shard) addresses() updates.Addresses {
	return updates.Addresses{Mailbox: s.j.spec.UpdatesMail, Secret: s.secret}
}

func rupKey(h *host, o canon.Origin) []byte { return append(h.ID.append(nil), o.String()...) }

// putSite writes a site's record, and has upkeep look at it when its time comes.
func (s *shard) putSite(r *rupSite, now time.Time) error {
	v, err := json.Marshal(r)
	if err != nil {
		return err
	}
	s.sites[r.origin()] = r
	if what, at := s.wantOf(r, now); what != rupNothing {
		s.wakeSites(now)
	} else {
		s.wakeSites(at)
	}
	s.changes++
	return s.tx.Bucket(bucketRUP).Put(rupKey(r.h, r.origin()), v)
}

// dropSite forgets a site.
func (s *shard) dropSite(r *rupSite) error {
	delete(s.sites, r.origin())
	s.changes++
	return s.tx.Bucket(bucketRUP).Delete(rupKey(r.h, r.origin()))
}

func (s *shard) wakeSites(at time.Time) {
	if !at.IsZero() && (s.sitesDue.IsZero() || at.Before(s.sitesDue)) {
		s.sitesDue = at
	}
}

// loadSites reads the sites' records from a file just opened.
func (s *shard) loadSites(now time.Time) error {
	s.sites, s.sitesDue = map[canon.Origin]*rupSite{}, now
	b := s.tx.Bucket(bucketRUP)
	if b == nil {
		return nil // a file from before there were any, opened for reading only
	}
	return b.ForEach(func(k, v []byte) error {
		r := new(rupSite)
		if err := json.Unmarshal(v, r); err != nil {
			return fmt.Errorf("site %q: %w", k[4:], err)
		}
		h := s.byID[keyHost(k)]
		if h == nil {
			return errRecord
		}
		i := slices.IndexFunc(h.Origins, func(o origin) bool { return o.Origin.String() == string(k[4:]) })
		if i < 0 {
			return errRecord
		}
		r.h, r.i = h, i
		s.sites[r.origin()] = r
		s.replanning = s.replanning || r.Anew != nil // to be gone on with
		return nil
	})
}

// shiftSites moves what is kept of sites to another machine's clock (see shiftTimes). Until when it is known what changed on them gets no
// later by that: who asks for less than is missing loses what changed meanwhile.
func shiftSites(tx *bolt.Tx, d time.Duration) error {
	b := tx.Bucket(bucketRUP)
	if b == nil {
		return nil
	}
	type change struct{ k, v []byte }
	var changed []change
	err := b.ForEach(func(k, v []byte) error {
		var r rupSite
		if err := json.Unmarshal(v, &r); err != nil {
			return fmt.Errorf("%w: site %q: %w", errUnreadable, k[4:], err)
		}
		waits := []*time.Time{&r.InfoDue, &r.Retry, &r.RegisterAt, &r.ModifyAt, &r.Tick, &r.Poll}
		known := []*time.Time{&r.Info, &r.Asked, &r.Since, &r.Index, &r.Covered, &r.Good, &r.WholeAt, &r.Report.At}
		if q := r.Seq; q != nil {
			waits = append(waits, &q.Heard, &q.GapAt, &q.Retry)
			known = append(known, &q.Good, &q.New, &q.Begun)
		}
		for _, t := range waits {
			if !t.IsZero() {
				*t = t.Add(d)
			}
		}
		for _, t := range known {
			if !t.IsZero() {
				*t = t.Add(min(d, 0))
			}
		}
		v, err := json.Marshal(&r)
		changed = append(changed, change{bytes.Clone(k), v})
		return err
	})
	for _, c := range changed {
		if err == nil {
			err = b.Put(c.k, c.v)
		}
	}
	return err
}

// askSite has a site asked something, in place of what it was asked before.
func (s *shard) askSite(r *rupSite, what int, now time.Time) error {
	if err := s.endAsk(r, now); err != nil {
		return err
	}
	r.Ask, r.Asked = what, now
	r.h.first = r.h.first || what == rupInfo || what == rupRegister
	if err := s.putSite(r, now); err != nil {
		return err
	}
	e, ok := s.siteErrand(r)
	if !ok {
		return nil
	}
	return s.addErrand(e, now)
}

// url is where a question is asked.
func (r *rupSite) url(what int) canon.URL {
	if what != rupInfo {
		return r.CGI
	}
	u, _ := r.origin().URL("/rupinfo.txt")
	return u
}

// siteErrand is the errand of the question under way.
func (s *shard) siteErrand(r *rupSite) (e crawl.Errand, ok bool) {
	u := r.url(r.Ask)
	return crawl.Errand{Kind: crawl.ErrandRUP, URL: u, Origin: r.origin(), Hop: r.Ask, ReplyShard: s.id}, u != "" && r.Ask != rupNothing
}

// endAsk ends the question under way. The caller writes the record.
func (s *shard) endAsk(r *rupSite, now time.Time) error {
	e, ok := s.siteErrand(r)
	r.Ask, r.Asked = rupNothing, time.Time{}
	if !ok {
		return nil
	}
	return s.dropErrand(r.h, e, now)
}
