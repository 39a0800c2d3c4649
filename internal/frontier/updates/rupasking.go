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

// beginUpdates has all origins asked for /rupinfo.txt once updates are wanted.
func (s *RUPSites) beginUpdates() error {
	switch on := s.ledger.Judge.WantsUpdates(); {
	case on == s.ledger.Meta.Updates:
	case on:
		s.features.AskAll(func() { s.ledger.AskedUpdates(s.ledger.Judge.WantsUpdates()) })
	default:
		s.ledger.AskedUpdates(false)
	}
	return nil
}

// askUpdates asks an origin for /rupinfo.txt, unless that was done lately: once per lifetime, and
// after the Host claim is settled (protocols §7). While its robots.txt cannot be asked for, it is
// not asked: it will be once that was read.
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

// WantOf says what is to be asked of a site now, or when to look again; a zero time means when
// something happens.
func (s *RUPSites) WantOf(r *RUPSite, now time.Time) (what int, at time.Time) {
	if all, _ := s.ledger.Judge.Forgotten.Host(r.H.Name); all {
		return RupNothing, at
	}
	if r.Ask != RupNothing || r.H.Origins[r.I].Mirror.Mirrored() {
		return RupNothing, now.Add(rupRetry)
	}
	if what, at = s.WantNow(r, now); what == RupNothing {
		return what, at
	}
	from := r.Retry
	// Whose robots.txt would be asked for, were it not to be waited for.
	if i, ok := r.H.OriginIndex(r.url(what).Origin()); ok {
		from = mirror.Latest(from, polite.From(&r.H.Origins[i], now))
	}
	if now.Before(from) {
		return RupNothing, from
	}
	return what, at
}

// WantNow is what a site is asked for now.
func (s *RUPSites) WantNow(r *RUPSite, now time.Time) (what int, at time.Time) {
	// due says whether a time has come, and else when to look again.
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

// unwanted reports whether a site is to tell us nothing, or nothing by mail although it does.
func (s *RUPSites) unwanted(r *RUPSite) bool {
	return !s.ledger.Judge.WantsUpdates() || s.ledger.Judge.UpdatesOff(r.Origin()) || r.Registered() && s.ledger.Judge.Spec.UpdatesMail == ""
}

// outdated reports whether a site knows us by other wishes than those of now.
func (s *RUPSites) outdated(r *RUPSite) bool {
	return s.prefers(r) || s.moved(r)
}

// prefers reports whether the latency that is to be had from a site is another than the one agreed
// on.
func (s *RUPSites) prefers(r *RUPSite) bool {
	l, offered := s.latencyOf(r)
	return offered && l != r.Agreed
}

// moved reports whether the site mails to an address of another mailbox than ours.
func (s *RUPSites) moved(r *RUPSite) bool {
	local, domain, ok := strings.Cut(s.ledger.Judge.Spec.UpdatesMail, "@")
	return ok && len(s.Secret) > 0 && r.N < rupAddresses && !(strings.HasPrefix(r.Address, local+"+") && strings.HasSuffix(r.Address, "@"+domain))
}

// Upkeep does what is due of sites. It waits until the log is read: that may have the answers.
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

const rupTick = time.Second // how often upkeep is looked at

func compareOrigins(a, b canon.Origin) int {
	return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Scheme, b.Scheme), cmp.Compare(a.Port, b.Port))
}

// siteStep lets time pass for one site.
func (s *RUPSites) siteStep(r *RUPSite, now time.Time) error {
	if r.Registered() && s.ledger.Judge.WantsUpdates() && !r.H.Origins[r.I].Mirror.Mirrored() && !now.Before(r.Tick) {
		if err := s.seqSteps(r, r.Seq.Tick(now, r.terms()), now); err != nil {
			return err
		}
	}
	if e, ok := s.siteRequest(r); ok && !r.H.Origins[r.I].Mirror.Mirrored() {
		s.loadSites(now.Add(rupRetry))
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
			// A new one each time: an answer that is lost must not block us for ever.
			r.Trial = s.addresses().For(r.Origin(), r.N)
			r.N++
		}
	case rupIndex:
		if r.Registered() {
			break
		}
		span, ok := rup.SpanOf(now.Sub(r.Index))
		if !ok || span.Days() > r.Span.Days() { // it does not know that far back
			r.Index, r.Poll = now, now.Add(s.pollEvery(r))
			return s.Reindex(r, now)
		}
		r.Query = span
	}
	return s.askSite(r, what, now)
}

// pollEvery is how often a site is asked what changed. Spans are whole days: a little less than the
// latency keeps them from reaching back a day more than that, or further than the site remembers.
func (s *RUPSites) pollEvery(r *RUPSite) time.Duration {
	latency, _ := s.latencyOf(r)
	d := min(latency.Duration(), r.Span.Duration())
	return d - d/24
}

// seqSteps does what the numbers of a site's reports call for.
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

// deregister forgets a registration.
func (r *RUPSite) deregister() {
	r.Address, r.Key, r.Since, r.Agreed, r.Seq, r.Tick, r.Next = "", "", time.Time{}, rup.Latency{}, nil, time.Time{}, RupNothing
	r.Confirm, r.Confirming = "", ""
}

// dressAsk puts into an errand what is posted to a RUP-CGI. One that is not wanted any more is
// dropped.
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

// form is what is posted for the question under way; empty for /rupinfo.txt.
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
