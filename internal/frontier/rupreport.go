package frontier

import (
	"crypto/subtle"
	"math"
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/rup"
)

// applyReport takes in a report, or a part of one. The parts of a mailed report count if its number is to be applied; the numbers go on
// with the last of them, so that one cut short by a crash is applied anew when it comes again.
func (s *shard) applyReport(rep *crawl.Report, now time.Time) error {
	r := s.sites[rep.Origin]
	if r == nil || !s.j.rupOn() || r.h.Origins[r.i].Mirror.mirrored() {
		return nil
	}
	if rep.Index {
		if r.Ask != rupIndex {
			return nil // not asked for, or replayed
		}
		if err := s.tell(r, rep, now); err != nil {
			return err
		}
		return s.putSite(r, now)
	}
	if !r.registered() || subtle.ConstantTimeCompare([]byte(rep.Address), []byte(r.Address)) != 1 || rep.Number > math.MaxInt64 {
		r.Strange++
		s.log.Warn("a report came to an address that its site was not told, or is not told any more: ignored", "site", rep.Origin.String(), "number", rep.Number)
		return s.putSite(r, now)
	}
	seq := r.Seq
	if rep.Part < rep.Parts-1 { // see what will be done, and change nothing
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
	if slices.ContainsFunc(steps, func(st rup.Step) bool { return st.Do == rup.DoApply && st.Number == int64(rep.Number) }) {
		if err := s.tell(r, rep, now); err != nil {
			return err
		}
	}
	if seq != r.Seq {
		return s.putSite(r, now)
	}
	if seq.Last > last+1 {
		r.Gaps += seq.Last - last - 1
	}
	if len(seq.Missing) == 0 && seq.Last > last {
		r.Good = now
	}
	return s.seqSteps(r, steps, now)
}

// tell takes the entries of a report as hints, those of the site's own pages.
func (s *shard) tell(r *rupSite, rep *crawl.Report, now time.Time) error {
	before := s.sooner
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
		r.Report.Told += int64(len(l.URLs))
		if rep.Part == 0 && i == 0 {
			r.Report.Entries = 0
		}
		r.Report.Entries += int64(len(l.URLs))
		if err := s.applyLinks(&l, now); err != nil {
			return err
		}
	}
	r.Report.Sooner += s.sooner - before
	if rep.Part == rep.Parts-1 {
		r.Report.Number, r.Report.Index, r.Report.At, r.Report.Refused = rep.Number, rep.Index, now, int64(rep.Refused)
		r.Report.Reports++
	}
	return nil
}

// applyGone has pages looked at that are said to be gone: a 404 now is the second sign of it, and their copies go. Those not held mean
// nothing.
func (s *shard) applyGone(l *crawl.Links, now time.Time) error {
	least, _ := s.recrawlBounds()
	for i, u := range l.URLs {
		h := s.hosts[u.Host()]
		if h == nil || s.modOf(l, i) == 0 {
			continue
		}
		k, v := s.lookup(h, s.cleaned(u))
		if v == nil {
			continue
		}
		r, err := decodeRecord(k, v)
		if err != nil {
			return err
		}
		if r.Class != crawl.Stored || r.Next == 0 || r.Gone || (l.Mods[i]+1)*1000 <= r.FetchedAt {
			continue
		}
		r.Gone = true
		if err := s.planAt(h, &r, r.FetchedAt/1000+int64(least/time.Second), paceHint); err != nil {
			return err
		}
		s.sooner++
		s.changes++
		s.reschedule(h, now)
		if err := s.tx.Bucket(bucketURLs).Put(k, r.append(nil)); err != nil {
			return err
		}
	}
	return nil
}

// toldUntil is until when (Unix s) a page that is due need not be asked for, because its site would tell if it had changed; 0: it
// need be. Four latencies without a word are too long, and so are 30 days with any (protocols §7).
func (s *shard) toldUntil(h *host, rec *record) int64 {
	r := s.sites[h.Origins[rec.Origin].Origin]
	if r == nil || rec.Class != crawl.Stored || rec.Pace == paceNow || rec.Pace == paceHint || !s.j.rupOn() || !r.registered() && !r.polled() {
		return 0
	}
	if rec.FetchedAt < r.WholeAt.UnixMilli() && !r.WholeAt.IsZero() {
		return 0 // all of the site is asked for again
	}
	latency, _ := s.latencyOf(r)
	if r.registered() {
		latency = r.Agreed
	}
	period := min(rupPeriod*latency.Duration(), rupPeriodMost)
	last := rec.FetchedAt / 1000
	until := last + int64(rupPeriodMost/time.Second)
	if !r.Covered.IsZero() && rec.FetchedAt >= r.Covered.UnixMilli() {
		last = max(last, r.Good.Unix()) // no report since then has named it: it is as it was
	}
	return min(last+int64(period/time.Second), until)
}

// reindexSite has all pages of a site asked for again: what changed on it cannot be had (§6.3). The pages are planned in stretches.
func (s *shard) reindexSite(r *rupSite, now time.Time) error {
	s.log.Info("a site cannot tell what changed: all its pages are asked for again", "site", r.origin().String())
	r.Whole++
	r.Covered, r.Good, r.WholeAt = now, now, now
	r.Anew = r.h.ID.append(nil)
	s.replanning = true
	return s.putSite(r, now)
}

// replanSome is a pass that plans the pages of sites that are asked for again completely.
func (s *shard) replanSome(now time.Time) (more bool, err error) {
	if !s.replanning {
		return false, nil
	}
	for _, r := range s.sites {
		if r.Anew == nil {
			continue
		}
		next, err := s.stretch(r.Anew, passStretch, func(h *host, _ []byte, rec *record) (bool, error) {
			soon := rec.Next <= now.Unix() && (rec.Pace == paceNow || rec.Pace == paceHint)
			if h != r.h || int(rec.Origin) != r.i || soon || rec.FetchedAt >= r.Covered.UnixMilli() || !s.wanted(rec) {
				return false, nil
			}
			err := s.planAt(h, rec, now.Unix(), paceNow) // whatever was known of it before: nobody has told since
			s.reschedule(h, now)
			return true, err
		})
		if err != nil {
			return false, err
		}
		if next != nil && keyHost(next) != r.h.ID {
			next = nil
		}
		r.Anew = next
		return true, s.putSite(r, now)
	}
	s.replanning = false
	return false, nil
}
