package frontier

import (
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// updatesInfos is what `curtsy updates` says of a host: a line for each origin that tells what changed on it, by whatever way.
func (s *shard) updatesInfos(h *host) (list []crawl.UpdatesInfo) {
	for i := range h.Origins {
		o := &h.Origins[i]
		if r := s.sites[o.Origin]; r != nil {
			list = append(list, s.updatesInfo(r))
		} else if info, ok := s.sitemapUpdates(h, o); ok {
			list = append(list, info)
		}
	}
	return list
}

func (s *shard) updatesInfo(r *rupSite) crawl.UpdatesInfo {
	o := &r.h.Origins[r.i]
	info := crawl.UpdatesInfo{
		Site: r.origin().String(), Source: crawl.SourceRUP.String(), Channel: "none", State: s.updatesState(r), Reason: r.Reason,
		MaxQuerySpan: r.Span.String(), Gaps: r.Gaps, Recrawls: r.Whole, Strange: r.Strange,
		Reports: r.Report.Reports, Told: r.Report.Told, Sooner: r.Report.Sooner, Looked: o.Looked, Confirmed: o.Confirmed,
	}
	latency, _ := s.latencyOf(r)
	switch {
	case r.registered():
		info.Channel, info.Since, latency = "mail", at(r.Since), r.Agreed
		info.LastSequence = uint64(max(r.Seq.Last, 0))
		for _, g := range r.Seq.Missing {
			info.Missing += g.Last - g.First + 1
		}
		info.Next = at(r.Tick)
	case r.polled():
		info.Channel, info.Since, info.Next = "poll", at(r.Covered), at(r.Poll)
	}
	if r.CGI != "" {
		info.Latency = latency.String()
	}
	if l := r.Report; !l.At.IsZero() {
		info.LastReport = &crawl.UpdatesReport{Number: l.Number, At: l.At.UTC(), Entries: l.Entries, Refused: l.Refused}
	}
	return info
}

// updatesState is where a site stands, in one word.
func (s *shard) updatesState(r *rupSite) string {
	off := s.unwanted(r)
	switch {
	case r.h.Origins[r.i].Mirror.mirrored():
		return "mirror"
	case off && r.registered():
		return "unregistering"
	case off:
		return "off"
	case r.registered() && (r.Seq.Doing != "" || r.Next != rupNothing):
		return "recovering"
	case r.registered():
		return "registered"
	case r.CGI == "":
		return "asking"
	case r.Ask == rupRegister:
		return "registering"
	case r.polled():
		return "polled"
	case r.Register && s.j.spec.UpdatesMail != "":
		return "refused"
	}
	return "unused" // it offers nothing that is of use without mail
}

// sitemapUpdates is the line of an origin whose sitemaps say when pages changed.
func (s *shard) sitemapUpdates(h *host, o *origin) (info crawl.UpdatesInfo, ok bool) {
	for _, m := range s.sitemapInfos(h, maxSitemapInfos) {
		if m.Origin != o.Origin.String() || m.ReadAt == nil {
			continue
		}
		if info.LastReport == nil || m.ReadAt.After(info.LastReport.At) {
			info.LastReport = &crawl.UpdatesReport{At: *m.ReadAt, Entries: int64(m.Entries), Refused: int64(m.Skipped)}
		}
		info.Reports++
		info.Told += int64(m.Entries)
	}
	info.Site, info.Source, info.Channel, info.State = o.Origin.String(), crawl.SourceSitemap.String(), "poll", "read"
	info.Looked, info.Confirmed = o.Looked, o.Confirmed
	return info, info.Reports > 0
}

func at(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// Updates calls each for every site that tells what changed on it.
func (r *Reader) Updates(each func(crawl.UpdatesInfo) error) error {
	for _, s := range r.shards {
		for _, h := range s.sortedHosts() {
			for _, info := range s.updatesInfos(h) {
				if err := each(info); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// answerUpdates sends what there is to say.
func (f *Frontier) answerUpdates(send func(any) error) error {
	return f.someHosts(func(s *shard, h *host, _ time.Time) []any {
		var list []any
		for _, info := range s.updatesInfos(h) {
			list = append(list, info)
		}
		return list
	}, send)
}
