package updates

import (
	"crypto/subtle"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/internal/frontier/urls"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/rup"
)

// ApplyReport applies a report, or a part of one. Parts of a mailed report are applied if the
// report's number is to be applied. The sequence state advances only with the last part, so a
// report that a crash interrupted is applied again when it arrives again.
func (s *RUPSites) ApplyReport(rep *crawl.Report, now time.Time) error {
	r := s.Sites[rep.Origin]
	if r == nil || !s.ledger.Judge.WantsUpdates() || r.H.Origins[r.I].Mirror.Mirrored() {
		return nil
	}
	if rep.Index {
		if r.Ask != rupIndex {
			return nil // not requested, or applied already
		}
		if err := s.report(r, rep, now); err != nil {
			return err
		}
		if rep.Part == rep.Parts-1 {
			s.ledger.Metrics.Reports.WithLabelValues("fetched").Inc()
		}
		return s.putSite(r, now)
	}
	if rep.Confirm != "" {
		return s.askedToConfirm(r, rep, now)
	}
	if !r.Registered() || subtle.ConstantTimeCompare([]byte(rep.Address), []byte(r.Address)) != 1 || rep.Number > math.MaxInt64 {
		r.Strange++
		s.ledger.Metrics.Reports.WithLabelValues("refused").Inc()
		s.ledger.Log.Warn("a report was sent to an address that its site was not given, or no longer has: ignored", "site", rep.Origin.String(), "number", rep.Number)
		return s.putSite(r, now)
	}
	seq := r.Seq
	if rep.Part < rep.Parts-1 { // a copy, to see what will be done without changing anything
		copied := *seq
		copied.Missing, copied.Held = slices.Clone(seq.Missing), slices.Clone(seq.Held)
		seq = &copied
	}
	last := seq.Last
	received := rep.Received
	if received.After(now) {
		received = now
	}
	steps := seq.Report(now, r.terms(), int64(rep.Number), received, rep.Truncated)
	outcome := "ignored"
	if slices.ContainsFunc(steps, func(st rup.Step) bool { return st.Do == rup.DoApply && st.Number == int64(rep.Number) }) {
		if err := s.report(r, rep, now); err != nil {
			return err
		}
		outcome = "applied"
	}
	if seq != r.Seq {
		return s.putSite(r, now)
	}
	if slices.ContainsFunc(steps, func(st rup.Step) bool { return st.Do == rup.DoHold && st.Number == int64(rep.Number) }) {
		outcome = "held"
	}
	s.ledger.Metrics.Reports.WithLabelValues(outcome).Inc()
	if seq.Last > last+1 {
		r.Gaps += seq.Last - last - 1
	}
	if len(seq.Missing) == 0 && seq.Last > last {
		r.Good = now
	}
	return s.seqSteps(r, steps, now)
}

// askedToConfirm records that a site asks us to confirm that we want its reports, if we do. The
// mail may arrive before the answer to the request to which it refers. The mail is authentic if it
// came to an address that only this site was given. At worst it makes us send one POST to the
// site's own host, if that host's robots.txt permits it.
func (s *RUPSites) askedToConfirm(r *RUPSite, rep *crawl.Report, now time.Time) error {
	same := func(a string) bool { return a != "" && subtle.ConstantTimeCompare([]byte(rep.Address), []byte(a)) == 1 }
	if !same(r.Address) && !same(r.Trial) || rep.Confirm.Host() != r.H.Name || !strings.Contains(string(rep.Confirm), "?") {
		r.Strange++
		return s.putSite(r, now)
	}
	if r.Ask == rupConfirm {
		return nil // the question has arrived twice
	}
	r.Confirm, r.Confirming = rep.Confirm, strings.Clone(rep.Address)
	return s.putSite(r, now)
}

// report applies the entries of a report as hints, if they are pages of the site itself.
func (s *RUPSites) report(r *RUPSite, rep *crawl.Report, now time.Time) error {
	before := s.recrawl.Sooner
	for i := range rep.Links {
		l := rep.Links[i]
		if l.Source = crawl.SourceRUP; len(l.Mods) != len(l.URLs) {
			l.Mods = slices.Repeat([]int64{rep.Received.Unix()}, len(l.URLs))
		}
		if k := slices.IndexFunc(l.URLs, func(u canon.URL) bool { return u.Origin() != rep.Origin }); k >= 0 {
			own := crawl.Links{FoundOn: l.FoundOn, Depth: l.Depth, Source: l.Source, Gone: l.Gone}
			for j, u := range l.URLs {
				if u.Origin() == rep.Origin {
					own.URLs, own.Mods = append(own.URLs, u), append(own.Mods, l.Mods[j])
				} else {
					r.Strange++
				}
			}
			l = own
		}
		r.Report.Reported += int64(len(l.URLs))
		if rep.Part == 0 && i == 0 {
			r.Report.Entries = 0
		}
		r.Report.Entries += int64(len(l.URLs))
		if err := s.ledger.Accept(&l, now); err != nil {
			return err
		}
	}
	r.Report.Sooner += s.recrawl.Sooner - before
	if rep.Part == rep.Parts-1 {
		r.Report.Number, r.Report.Index, r.Report.At, r.Report.Refused = rep.Number, rep.Index, now, int64(rep.Refused)
		r.Report.Reports++
	}
	return nil
}

// ApplyGone plans to check pages that were reported as gone. A 404 then is the second sign, and
// their copies are deleted. Pages without a stored copy are ignored.
func (s *RUPSites) ApplyGone(l *crawl.Links) error {
	least, _ := s.recrawl.Bounds()
	for i, u := range l.URLs {
		h, err := s.ledger.HostNamed(u.Host())
		if err != nil {
			return err
		}
		if h == nil || s.recrawl.ModOf(l, i) == 0 {
			continue
		}
		k, v := s.urls.Lookup(h, s.ledger.CleanURL(u))
		if v == nil {
			continue
		}
		r, err := urls.DecodeRecord(k, v)
		if err != nil {
			return err
		}
		if r.Class != crawl.Stored || r.Next == 0 || r.Gone || (l.Mods[i]+1)*1000 <= r.FetchedAt {
			continue
		}
		r.ReportedGone()
		if err := s.urls.PlanHint(h, &r, r.FetchedAt/1000+int64(least/time.Second), crawl.SourceRUP); err != nil {
			return err
		}
		s.recrawl.CountSooner()
		if err := s.urls.PutURL(k, &r); err != nil {
			return err
		}
	}
	return nil
}

// VouchedUntil is the time (Unix s) until which a page that is due need not be fetched, because its
// site would have reported a change; 0: it must be fetched. The limit is four latencies without a
// report, and 30 days in any case (formats §7).
func (s *RUPSites) VouchedUntil(h *hosts.Host, rec *urls.Record) int64 {
	r := s.Sites[h.Origins[rec.Origin].Origin]
	if r == nil || rec.Class != crawl.Stored || rec.Pace == urls.PaceNow || rec.Pace == urls.PaceHint || !s.ledger.Judge.WantsUpdates() || !r.Registered() && !r.Polled() {
		return 0
	}
	if rec.FetchedAt < r.WholeAt.UnixMilli() && !r.WholeAt.IsZero() {
		return 0 // all pages of the site are to be fetched again
	}
	latency, _ := s.latencyOf(r)
	if r.Registered() {
		latency = r.Agreed
	}
	period := min(rupPeriod*latency.Duration(), rupPeriodMost)
	last := rec.FetchedAt / 1000
	until := last + int64(rupPeriodMost/time.Second)
	if !r.Covered.IsZero() && rec.FetchedAt >= r.Covered.UnixMilli() {
		last = max(last, r.Good.Unix()) // no report since then has named it, so it has not changed
	}
	return min(last+int64(period/time.Second), until)
}

// Reindex plans to fetch all pages of a site again, because the changes on it cannot be determined
// (formats §6.3). The pages are planned in stretches.
func (s *RUPSites) Reindex(r *RUPSite, now time.Time) error {
	s.ledger.Log.Info("a site cannot report what changed: all its pages are fetched again", "site", r.Origin().String())
	r.Whole++
	r.Covered, r.Good, r.WholeAt = now, now, now
	r.Anew = r.H.ID.Append(nil)
	s.replanning = true
	return s.putSite(r, now)
}

// replanSome is a pass that plans the pages of sites whose pages are all to be fetched again.
func (s *RUPSites) replanSome(now time.Time) (more bool, err error) {
	if !s.replanning {
		return false, nil
	}
	for _, r := range s.Sites {
		if r.Anew == nil {
			continue
		}
		next, err := s.urls.Stretch(r.Anew, store.PassStretch, func(h *hosts.Host, _ []byte, rec *urls.Record) (bool, error) {
			soon := rec.Next <= now.Unix() && (rec.Pace == urls.PaceNow || rec.Pace == urls.PaceHint)
			if h != r.H || int(rec.Origin) != r.I || soon || rec.FetchedAt >= r.Covered.UnixMilli() || !s.recrawl.Wanted(rec) {
				return false, nil
			}
			// Earlier information does not count, because changes since then were not reported.
			err := s.urls.PlanAt(h, rec, now.Unix(), urls.PaceNow)
			return true, err
		})
		if err != nil {
			return false, err
		}
		if next != nil && store.KeyHost(next) != r.H.ID {
			next = nil
		}
		r.Anew = next
		return true, s.putSite(r, now)
	}
	s.replanning = false
	return false, nil
}
