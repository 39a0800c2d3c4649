package updates

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/mirror"
	"github.com/curtsy/curtsy/internal/frontier/polite"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/rup"
)

// beginUpdates asks all origins for /rupinfo.txt once updates are wanted.
func (s *RUPSites) beginUpdates() error {
	switch on := s.ledger.Judge.WantsUpdates(); {
	case on == s.ledger.Meta.Updates:
	case on:
		s.features.AskAll(func() { s.ledger.Meta.AskedUpdates(s.ledger.Judge.WantsUpdates()) })
	default:
		s.ledger.Meta.AskedUpdates(false)
	}
	return nil
}

// askUpdates asks an origin for /rupinfo.txt unless that was done lately: once per lifetime of the
// file, and after its Host claim is resolved (formats §7). An origin whose robots.txt cannot be
// requested now is asked when its robots.txt was read.
func (s *RUPSites) askUpdates(h *hosts.Host, i int, now time.Time) error {
	o := &h.Origins[i]
	if !s.ledger.Judge.WantsUpdates() || o.Ready == 0 && o.Again == 0 || now.Before(o.RUPDue) || s.Sites[o.Origin] != nil || s.ledger.Judge.UpdatesOff(o.Origin) {
		return nil
	}
	if all, _ := s.ledger.Judge.Forgotten.Host(h.Name); all {
		return nil
	}
	if m := o.Mirror; m != nil && m.Claim == crawl.ClaimTarget || polite.From(o, now).After(now) {
		return nil
	}
	return s.askSite(&RUPSite{H: h, I: i}, rupInfo, now)
}

// WantOf returns the next request to a site that may be sent now, or when to check again. The zero
// time means after an event.
func (s *RUPSites) WantOf(r *RUPSite, now time.Time) (what int, at time.Time) {
	if all, _ := s.ledger.Judge.Forgotten.Host(r.H.Name); all {
		return RupNothing, at
	}
	if r.Ask != RupNothing || r.H.Origins[r.I].Mirror.Mirrored() {
		return RupNothing, now.Add(polite.RetryRUP.First)
	}
	if what, at = s.WantNow(r, now); what == RupNothing {
		return what, at
	}
	from := r.Retry
	// The request must wait until the robots.txt of its origin may be requested.
	if i, ok := r.H.OriginIndex(r.url(what).Origin()); ok {
		from = mirror.Latest(from, polite.From(&r.H.Origins[i], now))
	}
	if now.Before(from) {
		return RupNothing, from
	}
	return what, at
}

// WantNow is what a site is to be asked for now, regardless of delays after failures.
func (s *RUPSites) WantNow(r *RUPSite, now time.Time) (what int, at time.Time) {
	// due reports whether t has come. If not, at becomes t if that is earlier.
	due := func(t time.Time) bool {
		if now.Before(t) && (at.IsZero() || t.Before(at)) {
			at = t
		}
		return !now.Before(t)
	}
	off := s.unwanted(r)
	mail := r.Register && s.ledger.Judge.Spec.UpdatesMail != "" && len(s.Secret) > 0 && r.N < rupAddresses
	switch {
	case off && !r.Registered():
	case off:
		if due(r.ModifyAt) {
			return rupUnregister, at
		}
	case due(r.InfoDue):
		return rupInfo, at
	case r.CGI == "":
	case r.Registered() && r.Confirm != "" && r.Confirming == r.Address:
		return rupConfirm, at
	case r.Registered() && s.outdated(r) && due(r.ModifyAt):
		return rupModify, at
	case r.Registered():
		if r.Next != RupNothing {
			return r.Next, at
		}
		due(r.Tick)
	case mail && due(r.RegisterAt):
		return rupRegister, at
	case r.Polled() && due(r.Poll):
		return rupIndex, at
	}
	return RupNothing, at
}

// unwanted reports whether a site is to send us no reports at all, or none by mail although it
// does.
func (s *RUPSites) unwanted(r *RUPSite) bool {
	return !s.ledger.Judge.WantsUpdates() || s.ledger.Judge.UpdatesOff(r.Origin()) || r.Registered() && s.ledger.Judge.Spec.UpdatesMail == ""
}

// outdated reports whether a site has preferences of ours that have changed since.
func (s *RUPSites) outdated(r *RUPSite) bool {
	return s.prefers(r) || s.moved(r)
}

// prefers reports whether we would now choose another latency of the site than the one agreed on.
func (s *RUPSites) prefers(r *RUPSite) bool {
	l, offered := s.latencyOf(r)
	return offered && l != r.Agreed
}

// moved reports whether the site mails to an address of another mailbox than the current one.
func (s *RUPSites) moved(r *RUPSite) bool {
	local, domain, ok := strings.Cut(s.ledger.Judge.Spec.UpdatesMail, "@")
	return ok && len(s.Secret) > 0 && r.N < rupAddresses && !(strings.HasPrefix(r.Address, local+"+") && strings.HasSuffix(r.Address, "@"+domain))
}

// Upkeep handles sites that are due. It waits until the log is read, because the log may already
// contain the answers.
func (s *RUPSites) Upkeep(now time.Time) error {
	if !s.ledger.Phase.Active() || s.SitesDue.IsZero() || now.Before(s.SitesDue) {
		return nil
	}
	s.SitesDue = time.Time{}
	for _, o := range slices.SortedFunc(maps.Keys(s.Sites), compareOrigins) {
		if err := s.siteStep(s.Sites[o], now); err != nil {
			return s.ledger.Fail(err)
		}
	}
	if soon := now.Add(rupTick); !s.SitesDue.IsZero() && s.SitesDue.Before(soon) {
		s.SitesDue = soon
	}
	return nil
}

const rupTick = time.Second // the interval of upkeep

func compareOrigins(a, b canon.Origin) int {
	return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Scheme, b.Scheme), cmp.Compare(a.Port, b.Port))
}

// siteStep does what is due for one site.
func (s *RUPSites) siteStep(r *RUPSite, now time.Time) error {
	if r.Registered() && s.ledger.Judge.WantsUpdates() && !r.H.Origins[r.I].Mirror.Mirrored() && !now.Before(r.Tick) {
		if err := s.seqSteps(r, r.Seq.Tick(now, r.terms()), now); err != nil {
			return err
		}
	}
	if e, ok := s.siteRequest(r); ok && !r.H.Origins[r.I].Mirror.Mirrored() {
		s.loadSites(now.Add(polite.RetryRUP.First))
		return s.features.AddAux(e, now) // if it is not there any more
	}
	what, at := s.WantOf(r, now)
	switch what {
	case RupNothing:
		s.loadSites(at)
		return nil
	case rupRegister, rupModify:
		r.Trial = ""
		r.TrialLatency, r.Named = s.latencyOf(r)
		if what == rupRegister || s.moved(r) {
			// A new address each time: a lost answer must not block us for ever.
			r.Trial = s.addresses().For(r.Origin(), r.N)
			r.N++
		}
	case rupIndex:
		if r.Registered() {
			break
		}
		span, ok := rup.SpanOf(now.Sub(r.Index))
		if !ok || span.Days() > r.Span.Days() { // the site's memory does not reach back that far
			r.Index, r.Poll = now, now.Add(s.pollEvery(r))
			return s.Reindex(r, now)
		}
		r.Query = span
	}
	return s.askSite(r, what, now)
}

// pollEvery is the interval at which a site is asked for its changes. Spans are whole days. A
// little less than the latency prevents a span from being a day longer, or longer than the site's
// memory.
func (s *RUPSites) pollEvery(r *RUPSite) time.Duration {
	latency, _ := s.latencyOf(r)
	d := min(latency.Duration(), r.Span.Duration())
	return d - d/24
}

// seqSteps does what the sequence numbers of a site's reports require.
func (s *RUPSites) seqSteps(r *RUPSite, steps []rup.Step, now time.Time) error {
	for _, step := range steps {
		switch step.Do {
		case rup.DoAsk:
			r.Next = rupSequence
		case rup.DoIndex:
			r.Next, r.Query = rupIndex, step.Span
		case rup.DoReindex:
			if err := s.Reindex(r, now); err != nil {
				return err
			}
		case rup.DoRegister:
			r.deregister()
			r.RegisterAt = now
		case rup.DoWait:
			r.Tick = step.At
		}
	}
	return s.putSite(r, now)
}

// deregister removes a registration.
func (r *RUPSite) deregister() {
	r.Address, r.Key, r.Since, r.Agreed, r.Seq, r.Tick, r.Next = "", "", time.Time{}, rup.Latency{}, nil, time.Time{}, RupNothing
	r.Confirm, r.Confirming = "", ""
}

// dressAsk adds the form for a RUP-CGI to an auxiliary request. A request that is no longer wanted
// is dropped.
func (s *RUPSites) dressAsk(h *hosts.Host, now time.Time) func(e *crawl.AuxRequest) (ok bool, err error) {
	return func(e *crawl.AuxRequest) (bool, error) {
		r := s.Sites[e.Origin]
		if r == nil || r.H != h || r.Ask != e.Hop || h.Origins[r.I].Mirror.Mirrored() {
			return false, s.features.DropAux(h, *e, now)
		}
		e.Form = r.form()
		return true, nil
	}
}

// form is the form of the current request; empty for /rupinfo.txt.
func (r *RUPSite) form() string {
	q := rup.Request{Credentials: rup.Credentials{Email: r.Address, Key: rup.Key(r.Key)}}
	switch r.Ask {
	case rupInfo:
		return ""
	case rupRegister, rupModify:
		q.Action = rup.Register
		if r.Ask == rupModify {
			q.Action = rup.ModifyPreferences
		}
		q.Preferences.Email = r.Trial
		if r.Named {
			q.Preferences.Latency = r.TrialLatency
		}
	case rupUnregister:
		q.Action = rup.Unregister
	case rupConfirm:
		_, query, _ := strings.Cut(string(r.Confirm), "?")
		return query
	case rupSequence:
		q.Action = rup.GetSequenceNumber
	case rupIndex:
		q.Action, q.Span = rup.GetIndex, r.Query
		if !r.Registered() {
			q.Credentials = rup.Credentials{}
		}
	}
	return q.Form()
}
