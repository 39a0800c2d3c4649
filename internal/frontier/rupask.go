package frontier

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/rup"
)

// discover has an origin, whose robots.txt was just had, asked for /rupinfo.txt, unless that was done lately: once per lifetime, and
// after the Host claim is settled (protocols §7).
func (s *shard) discover(h *host, i int, now time.Time) error {
	o := &h.Origins[i]
	if !s.j.rupOn() || o.Ready == 0 && o.Again == 0 || now.Before(o.RUPDue) || s.sites[o.Origin] != nil || s.j.updatesOff(o.Origin) {
		return nil
	}
	if all, _ := s.j.forgotten.Host(h.Name); all {
		return nil
	}
	if m := o.Mirror; m.mirrored() || m != nil && m.Claim == crawl.ClaimTarget {
		return nil
	}
	return s.askSite(&rupSite{h: h, i: i}, rupInfo, now)
}

// wantOf says what is to be asked of a site now, or when to look again; a zero time means when something happens.
func (s *shard) wantOf(r *rupSite, now time.Time) (what int, at time.Time) {
	if all, _ := s.j.forgotten.Host(r.h.Name); all {
		return rupNothing, at
	}
	if r.Ask != rupNothing || r.h.Origins[r.i].Mirror.mirrored() {
		return rupNothing, now.Add(rupRetry)
	}
	if what, at = s.wantNow(r, now); what == rupNothing {
		return what, at
	}
	from := r.Retry
	if i, ok := r.h.originIndex(r.url(what).Origin()); ok { // whose robots.txt would be asked for, were it not to be waited for
		from = latest(from, r.h.Origins[i].from(now))
	}
	if now.Before(from) {
		return rupNothing, from
	}
	return what, at
}

func (s *shard) wantNow(r *rupSite, now time.Time) (what int, at time.Time) {
	// due says whether a time has come, and else when to look again.
	due := func(t time.Time) bool {
		if now.Before(t) && (at.IsZero() || t.Before(at)) {
			at = t
		}
		return !now.Before(t)
	}
	off := s.unwanted(r)
	mail := r.Register && s.j.spec.UpdatesMail != "" && len(s.secret) > 0 && r.N < rupAddresses
	switch {
	case off && !r.registered():
	case off:
		if due(r.ModifyAt) {
			return rupUnregister, at
		}
	case due(r.InfoDue):
		return rupInfo, at
	case r.CGI == "":
	case r.registered() && s.outdated(r) && due(r.ModifyAt):
		return rupModify, at
	case r.registered():
		if r.Next != rupNothing {
			return r.Next, at
		}
		due(r.Tick)
	case mail && due(r.RegisterAt):
		return rupRegister, at
	case r.polled() && due(r.Poll):
		return rupIndex, at
	}
	return rupNothing, at
}

// unwanted reports whether a site is to tell us nothing, or nothing by mail although it does.
func (s *shard) unwanted(r *rupSite) bool {
	return !s.j.rupOn() || s.j.updatesOff(r.origin()) || r.registered() && s.j.spec.UpdatesMail == ""
}

// outdated reports whether a site knows us by other wishes than those of now.
func (s *shard) outdated(r *rupSite) bool {
	return s.prefers(r) || s.moved(r)
}

// prefers reports whether the latency that is to be had from a site is another than the one agreed on.
func (s *shard) prefers(r *rupSite) bool {
	l, offered := s.latencyOf(r)
	return offered && l != r.Agreed
}

// moved reports whether the site mails to an address of another mailbox than ours.
func (s *shard) moved(r *rupSite) bool {
	local, domain, ok := strings.Cut(s.j.spec.UpdatesMail, "@")
	return ok && len(s.secret) > 0 && r.N < rupAddresses && !(strings.HasPrefix(r.Address, local+"+") && strings.HasSuffix(r.Address, "@"+domain))
}

// sitesUpkeep does what is due of sites. It waits until the log is read: that may have the answers.
func (s *shard) sitesUpkeep(now time.Time) error {
	if !s.caughtUp || s.frozen || s.tx == nil || s.broken != nil || s.sitesDue.IsZero() || now.Before(s.sitesDue) {
		return nil
	}
	s.sitesDue = time.Time{}
	for _, o := range slices.SortedFunc(maps.Keys(s.sites), compareOrigins) {
		if err := s.siteStep(s.sites[o], now); err != nil {
			return s.fail(err)
		}
	}
	if soon := now.Add(rupTick); !s.sitesDue.IsZero() && s.sitesDue.Before(soon) {
		s.sitesDue = soon
	}
	return nil
}

const rupTick = time.Second // how often upkeep is looked at

func compareOrigins(a, b canon.Origin) int {
	return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Scheme, b.Scheme), cmp.Compare(a.Port, b.Port))
}

// siteStep lets time pass for one site.
func (s *shard) siteStep(r *rupSite, now time.Time) error {
	if r.registered() && s.j.rupOn() && !r.h.Origins[r.i].Mirror.mirrored() && !now.Before(r.Tick) {
		if err := s.seqSteps(r, r.Seq.Tick(now, r.terms()), now); err != nil {
			return err
		}
	}
	if e, ok := s.siteErrand(r); ok && !r.h.Origins[r.i].Mirror.mirrored() {
		s.wakeSites(now.Add(rupRetry))
		return s.addErrand(e, now) // if it is not there any more
	}
	what, at := s.wantOf(r, now)
	switch what {
	case rupNothing:
		s.wakeSites(at)
		return nil
	case rupRegister, rupModify:
		r.Trial = ""
		r.TrialLatency, r.Named = s.latencyOf(r)
		if what == rupRegister || s.moved(r) {
			r.Trial = s.addresses().For(r.origin(), r.N) // a new one each time: an answer that is lost must not block us for ever
			r.N++
		}
	case rupIndex:
		if r.registered() {
			break
		}
		span, ok := rup.SpanOf(now.Sub(r.Index))
		if !ok || span.Days() > r.Span.Days() { // it does not know that far back
			r.Index, r.Poll = now, now.Add(s.pollEvery(r))
			return s.reindexSite(r, now)
		}
		r.Query = span
	}
	return s.askSite(r, what, now)
}

// pollEvery is how often a site is asked what changed. Spans are whole days: a little less than the latency keeps them from reaching
// back a day more than that, or further than the site remembers.
func (s *shard) pollEvery(r *rupSite) time.Duration {
	latency, _ := s.latencyOf(r)
	d := min(latency.Duration(), r.Span.Duration())
	return d - d/24
}

// seqSteps does what the numbers of a site's reports call for.
func (s *shard) seqSteps(r *rupSite, steps []rup.Step, now time.Time) error {
	for _, step := range steps {
		switch step.Do {
		case rup.DoAsk:
			r.Next = rupSequence
		case rup.DoIndex:
			r.Next, r.Query = rupIndex, step.Span
		case rup.DoReindex:
			if err := s.reindexSite(r, now); err != nil {
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
func (r *rupSite) deregister() {
	r.Address, r.Key, r.Since, r.Agreed, r.Seq, r.Tick, r.Next = "", "", time.Time{}, rup.Latency{}, nil, time.Time{}, rupNothing
}

// grantRUP puts into errands what is posted to a RUP-CGI. Those not wanted any more are dropped.
func (s *shard) grantRUP(h *host, errands []crawl.Errand, now time.Time) (left []crawl.Errand, err error) {
	h.first = false
	for _, e := range errands {
		if e.Kind != crawl.ErrandRUP {
			left = append(left, e)
			continue
		}
		r := s.sites[e.Origin]
		if r == nil || r.h != h || r.Ask != e.Hop || h.Origins[r.i].Mirror.mirrored() {
			if err := s.dropErrand(h, e, now); err != nil {
				return nil, err
			}
			continue
		}
		e.Form = r.form()
		left = append(left, e)
	}
	return left, nil
}

// form is what is posted for the question under way; empty for /rupinfo.txt.
func (r *rupSite) form() string {
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
	case rupSequence:
		q.Action = rup.GetSequenceNumber
	case rupIndex:
		q.Action, q.Span = rup.GetIndex, r.Query
		if !r.registered() {
			q.Credentials = rup.Credentials{}
		}
	}
	return q.Form()
}
