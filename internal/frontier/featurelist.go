package frontier

import (
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/wellknown"
)

// allFeatures are all features. A new one is added here.
func (s *Shard) allFeatures() []hosts.Feature {
	return []hosts.Feature{
		s.robotsProxy.Feature(),
		s.datafiles.DataFeature(),
		s.mirrors.MirrorsFeature(),
		s.sitemaps.SitemapsFeature(),
		s.rupsites.UpdatesFeature(),
		s.indexnow.Feature(),
		s.feeds.Feature(),
		s.websub.Feature(),
		s.timeline.Feature(),
		wellknown.SecurityTxt(s.features, s.ledger),
		wellknown.LLMSTxt(s.features, s.ledger),
		s.history.Feature(),
	}
}
