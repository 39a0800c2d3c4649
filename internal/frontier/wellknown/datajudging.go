package wellknown

import (
	"strings"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
)

// JudgeData decides about an origin's /data.txt by what is forgotten. Data of a forgotten one is
// removed from the catalogue, and one that is permitted again becomes due. The caller marks the
// host as changed.
func (s *DataFiles) JudgeData(o *hosts.Origin) {
	u, err := o.Origin.URL("/data.txt")
	if err != nil {
		return
	}
	switch forgotten := s.ledger.Judge.Forgotten.Has(u); {
	case forgotten && o.Data != crawl.ProbeNone:
		o.ForgetData()
	case !forgotten && o.Data == crawl.ProbeRefused && strings.HasPrefix(o.DataReason, string(crawl.ReasonForgotten)):
		o.ReadmitData()
	}
}

// disownData makes the indexer drop the data.txt of a mirror, which is not used while it is one
// (formats §7).
func (s *DataFiles) disownData(o *hosts.Origin) {
	if u, err := o.Origin.URL("/data.txt"); err == nil && o.Data == crawl.ProbeRead && o.Mirror.Mirrored() {
		s.ledger.AddAlias(crawl.Page{Kind: crawl.KindData, URL: u, Origin: o.Origin, Deleted: crawl.ReasonMirror})
	}
}
