package shard

import (
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/wellknown"
)

// UpdatesInfos is what `curtsy updates` prints about a host: a line for each origin and each way in
// which it reports changes.
func (s *Account) UpdatesInfos(h *hosts.Host) (list []crawl.UpdatesInfo) {
	for i := range h.Origins {
		o := &h.Origins[i]
		if r := s.rupsites.Sites[o.Origin]; r != nil {
			list = append(list, s.cameOf(h, o, crawl.SourceRUP, s.rupsites.Info(r)))
		}
		if info, ok := s.indexnow.Info(h, o); ok {
			list = append(list, s.cameOf(h, o, crawl.SourceIndexNow, info))
		}
		if info, ok := s.websub.Info(h, o); ok {
			list = append(list, s.cameOf(h, o, crawl.SourceWebSub, info))
		}
		if info, ok := s.feeds.Info(h, o); ok {
			list = append(list, s.cameOf(h, o, crawl.SourceFeed, info))
		}
		if info, ok := s.sitemapUpdates(h, o); ok {
			list = append(list, s.cameOf(h, o, crawl.SourceSitemap, info))
		}
	}
	return list
}

// cameOf adds the accuracy of a channel's reports to its line.
func (s *Account) cameOf(h *hosts.Host, o *hosts.Origin, by crawl.Source, info crawl.UpdatesInfo) crawl.UpdatesInfo {
	c, err := s.recrawl.Channel(h, o, by)
	if err != nil {
		return info
	}
	if by != crawl.SourceRUP {
		info.Sooner = int64(c.Sooner)
	}
	info.Looked, info.Confirmed, info.Wrong = int64(c.Looked), int64(c.Confirmed), int64(c.Looked-c.Confirmed)
	if info.Distrusted = by != crawl.SourceRUP && c.Distrusted(); info.Distrusted && info.Reason == "" {
		info.Reason = "most of the pages it reported as changed had not changed, so its reports are ignored"
	}
	return info
}

// sitemapUpdates is the line of an origin whose sitemaps say when pages changed.
func (s *Account) sitemapUpdates(h *hosts.Host, o *hosts.Origin) (info crawl.UpdatesInfo, ok bool) {
	for _, m := range s.sitemaps.Infos(h, wellknown.MaxSitemapInfos) {
		if m.Origin != o.Origin.String() || m.ReadAt == nil {
			continue
		}
		if info.LastReport == nil || m.ReadAt.After(info.LastReport.At) {
			info.LastReport = &crawl.UpdatesReport{At: *m.ReadAt, Entries: int64(m.Entries), Refused: int64(m.Skipped)}
		}
		info.Reports++
		info.Reported += int64(m.Entries)
		info.Requests += m.Requests
	}
	info.Site, info.Source, info.Channel, info.State = o.Origin.String(), crawl.SourceSitemap.String(), "poll", "read"
	return info, info.Reports > 0
}
