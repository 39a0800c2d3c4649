package updates

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/polite"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/rup"
)

// answer applies a site's answer, if it is awaited. A second call with the same answer has no
// effect.
func (s *RUPSites) answer(a *crawl.Answer, now time.Time) error {
	r := s.Sites[a.Aux.Origin]
	if r == nil || r.Ask == RupNothing || r.Ask != a.Aux.Hop {
		return nil
	}
	if e, ok := s.siteRequest(r); !ok || e.URL != a.Aux.URL {
		return nil
	}
	what, asked, m := r.Ask, r.Asked, &a.RUP
	r.Requests++
	if err := s.endAsk(r, now); err != nil {
		return err
	}
	r.Reason, r.Retry = strings.Clone(crawl.ShortDetail(m.Reason)), time.Time{}
	failed := rupError(m)
	if failed == nil {
		r.Tries = 0
	} else {
		r.Reason = rupActions[what] + ": " + r.Reason
	}
	if rup.Retryable(failed) {
		r.Retry = now.Add(max(m.RetryAfter, polite.RetryRUP.After(r.Tries+1)))
		r.Tries++
	}
	switch what {
	case rupInfo:
		return s.answerInfo(r, m, failed, now)
	case rupRegister:
		s.registeredBy(r, m, failed, now)
	case rupUnregister:
		// If the site refuses to end the registration, it does not know it
		if !rup.Retryable(failed) {
			r.deregister()
		}
	case rupModify:
		switch {
		case failed == nil:
			r.Address, r.Agreed = cmp.Or(r.Trial, r.Address), r.TrialLatency
		case !rup.Retryable(failed):
			r.ModifyAt = now.Add(rupRefused)
		}
	case rupConfirm:
		if !rup.Retryable(failed) {
			r.Confirm, r.Confirming = "", ""
		}
	case rupSequence:
		r.Next, r.Retry = RupNothing, time.Time{} // Seq handles its own retries
		if failed != nil {
			return s.seqSteps(r, r.Seq.AskFailed(now, r.terms(), failed), now)
		}
		return s.seqSteps(r, r.Seq.Answer(now, r.terms(), int64(m.Sequence)), now)
	case rupIndex:
		return s.indexed(r, asked, failed, now)
	}
	return s.putSite(r, now)
}

// rupError is the error of a request that did not succeed.
func rupError(m *crawl.RUP) error {
	switch {
	case m.Reason == "":
		return nil
	// A refusal by robots.txt is no answer of the RUP-CGI, and may end
	case m.Retry || m.Status == 0:
		return &rup.Error{Status: http.StatusServiceUnavailable, Reason: m.Reason, RetryAfter: m.RetryAfter}
	case m.Status == http.StatusOK:
		return errors.Join(rup.ErrMalformed, errors.New(m.Reason))
	}
	return &rup.Error{Status: m.Status, Reason: m.Reason}
}

// answerInfo applies a /rupinfo.txt, or the fact that there is none.
func (s *RUPSites) answerInfo(r *RUPSite, m *crawl.RUP, failed error, now time.Time) error {
	o := &r.H.Origins[r.I]
	if rup.Retryable(failed) {
		r.InfoDue = r.Retry
		return s.putSite(r, now)
	}
	var info *rup.Info
	var cgi canon.URL
	if failed == nil {
		base, err := url.Parse(r.Origin().String() + rup.InfoPath)
		if err != nil {
			return err
		}
		if info, failed = rup.ParseInfo(m.Body, base); failed == nil {
			cgi, failed = canon.Parse(info.CGI)
		}
		if failed == nil && cgi.Host() != r.H.Name {
			failed = rup.ErrNoRUP
		}
	}
	switch {
	case failed == nil:
		r.Info, r.InfoDue = now, now.Add(min(max(cmp.Or(m.Fresh, rupFresh), rupFreshLeast), rupFreshMost))
		r.CGI, r.Register, r.Span = cgi, info.CanRegister() == nil, info.MaxQuerySpan
		r.Units = slices.DeleteFunc(slices.Clone(info.Latency), func(u rup.Unit) bool { return u.Days() == 0 })
		if err := info.CanRegister(); err != nil {
			r.Reason = err.Error()
		}
		if !r.Registered() && r.Span != (rup.Span{}) && r.Index.IsZero() && !now.Before(r.Poll) {
			r.Index, r.Poll, r.Covered = now, now.Add(s.pollEvery(r)), now
		}
	case r.CGI != "": // the site is handled as its last rupinfo.txt said
		r.Reason = failed.Error()
		r.InfoDue = now.Add(rupFresh)
	default:
		o.NoRUP(now.Add(rupAbsent))
		return s.dropSite(r)
	}
	return s.putSite(r, now)
}

// latencyOf chooses among the units that a site offers: the operator's preference, else the
// shortest. offered is false when it offers none. The site chooses then, and a week is a likely
// choice.
func (s *RUPSites) latencyOf(r *RUPSite) (l rup.Latency, offered bool) {
	want := rup.Unit(s.ledger.Judge.LatencyFor(r.Origin()))
	for _, u := range r.Units {
		switch {
		case u.Days() == 0:
		case u == want:
			return rup.Latency{N: 1, Unit: u}, true
		case !offered || u.Days() < l.Days():
			l, offered = rup.Latency{N: 1, Unit: u}, true
		}
	}
	if !offered {
		l = rup.Latency{N: 1, Unit: rup.Week}
	}
	return l, offered
}

// registeredBy applies the answer to Register.
func (s *RUPSites) registeredBy(r *RUPSite, m *crawl.RUP, failed error, now time.Time) {
	switch {
	case failed == nil:
		r.Address, r.Key, r.Since, r.Agreed = r.Trial, strings.Clone(m.Key), now, r.TrialLatency
		r.Seq = rup.NewState(now)
		r.Tick, r.Refusals = now, 0
		r.Covered, r.Good = now, now
		r.Index, r.Poll = time.Time{}, time.Time{}
	case rup.Retryable(failed):
		// Try again with another address, because this one may be registered now.
	case m.Status == http.StatusBadRequest && r.Refusals == 0:
		// The address may be registered by a request whose answer was lost, and its key with it
		// (formats §6.2).
		r.Refusals++
		r.RegisterAt = now.Add(polite.RetryRUP.First)
	default:
		r.Refusals = 0
		r.RegisterAt = now.Add(rupRefused)
	}
	if !r.Registered() && r.Index.IsZero() && r.Span != (rup.Span{}) {
		r.Index, r.Poll, r.Covered = now, now.Add(s.pollEvery(r)), now
	}
}

// indexed applies the result of a GetIndex: its report was applied already, or it failed.
func (s *RUPSites) indexed(r *RUPSite, asked time.Time, failed error, now time.Time) error {
	if r.Registered() {
		r.Next, r.Retry = RupNothing, time.Time{}
		if failed != nil {
			return s.seqSteps(r, r.Seq.IndexFailed(now, r.terms(), failed), now)
		}
		r.Good = now
		return s.seqSteps(r, r.Seq.Indexed(now, r.terms()), now)
	}
	switch {
	case failed == nil:
		r.Index, r.Good, r.Poll = asked, now, now.Add(s.pollEvery(r))
	case !rup.Retryable(failed):
		// The site does not report changes after all, so its pages are fetched again like those of
		// other sites.
		r.Index, r.Poll, r.Covered = time.Time{}, now.Add(rupRefused), time.Time{}
	}
	return s.putSite(r, now)
}
