package account

import (
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/ledger"
	"github.com/curtsy/curtsy/internal/frontier/sitemaps"
)

// UpdatesInfos is what `curtsy updates` says of a host: a line for each origin that tells what
// changed on it, by whatever way.
func (s *Account) UpdatesInfos(h *ledger.Host) (list []crawl.UpdatesInfo) {
	for i := range h.Origins {
		o := &h.Origins[i]
		if r := s.rupsites.Sites[o.Origin]; r != nil {
			list = append(list, s.rupsites.Info(r))
		} else if info, ok := s.sitemapUpdates(h, o); ok {
			list = append(list, info)
		}
		if info, ok := s.indexnow.Info(h, o); ok {
			list = append(list, info)
		}
	}
	return list
}

// sitemapUpdates is the line of an origin whose sitemaps say when pages changed.
func (s *Account) sitemapUpdates(h *ledger.Host, o *ledger.Origin) (info crawl.UpdatesInfo, ok bool) {
	for _, m := range s.sitemaps.Infos(h, sitemaps.MaxSitemapInfos) {
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
