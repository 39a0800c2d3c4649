package frontier

import (
	"maps"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/wellknown"
)

// allFeatures are all there are. A new one is a line here.
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

// register makes the tables of what the features do.
func (s *Shard) register() {
	s.features.List, s.features.Kinds, s.passes.List = s.allFeatures(), map[crawl.AuxKind]hosts.AuxKind{}, s.passes.CorePasses()
	for i := range s.features.List {
		f := &s.features.List[i]
		maps.Copy(s.features.Kinds, f.Aux)
		if f.Pass.Some != nil {
			s.passes.List = append(s.passes.List, f.Pass)
		}
	}
}
