package updates

import (
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
)

// Info is the public information about a site.
func (s *RUPSites) Info(r *RUPSite) crawl.UpdatesInfo {
	info := crawl.UpdatesInfo{
		Site: r.Origin().String(), Source: crawl.SourceRUP.String(), Channel: "none", State: s.updatesState(r), Reason: r.Reason,
		MaxQuerySpan: r.Span.String(), Gaps: r.Gaps, Recrawls: r.Whole, Strange: r.Strange,
		Reports: r.Report.Reports, Reported: r.Report.Reported, Sooner: r.Report.Sooner, Requests: r.Requests,
	}
	latency, _ := s.latencyOf(r)
	switch {
	case r.Registered():
		info.Channel, info.Since, latency = "mail", hosts.At(r.Since), r.Agreed
		info.LastSequence = uint64(max(r.Seq.Last, 0))
		for _, g := range r.Seq.Missing {
			info.Missing += g.Last - g.First + 1
		}
		info.Next = hosts.At(r.Tick)
	case r.Polled():
		info.Channel, info.Since, info.Next = "poll", hosts.At(r.Covered), hosts.At(r.Poll)
	}
	if r.CGI != "" {
		info.Latency = latency.String()
	}
	if l := r.Report; !l.At.IsZero() {
		info.LastReport = &crawl.UpdatesReport{Number: l.Number, At: l.At.UTC(), Entries: l.Entries, Refused: l.Refused}
	}
	return info
}

// updatesState is the state of a site in one word.
func (s *RUPSites) updatesState(r *RUPSite) string {
	off := s.unwanted(r)
	switch {
	case r.H.Origins[r.I].Mirror.Mirrored():
		return "mirror"
	case off && r.Registered():
		return "unregistering"
	case off:
		return "off"
	case r.Registered() && (r.Seq.Doing != "" || r.Next != RupNothing):
		return "recovering"
	case r.Registered():
		return "registered"
	case r.CGI == "":
		return "asking"
	case r.Ask == rupRegister:
		return "registering"
	case r.Polled():
		return "polled"
	case r.Register && s.ledger.Judge.Spec.UpdatesMail != "":
		return "refused"
	}
	return "unused" // the site offers nothing that is of use without mail
}
