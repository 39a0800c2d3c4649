package judge

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/curtsy/curtsy/pkg/canon"
)

// PlanText changes with what says which URLs are asked for again, and when. It is
// empty when none are.
func (j *Judge) PlanText() string {
	s := &j.Spec
	if !s.Refreshes() {
		return ""
	}
	text := fmt.Sprintf("%v|%v|%d|%x", s.RecrawlMin, s.RecrawlMax, s.MaxDepth, s.ScopeHash())
	if s.Every > 0 {
		text += fmt.Sprintf("|%v|%d", s.Every, s.EverySince.Unix())
	}
	return text
}

// WantsUpdates reports whether updates are wanted at all: without re-crawl nothing would come of
// them, and whoever registers should be there when the mail comes.
func (j *Judge) WantsUpdates() bool { return j.Spec.Updates && j.Spec.Recrawl }

// UpdatesOff reports whether the operator wants no updates of a site.
func (j *Judge) UpdatesOff(o canon.Origin) bool {
	return slices.Contains(j.Spec.UpdatesOff, o.String())
}

// LatencyFor is how often a site is to tell: day, week, month, or "" for as often as it offers.
func (j *Judge) LatencyFor(o canon.Origin) string {
	return cmp.Or(j.Spec.UpdatesPrefer[o.String()], j.Spec.UpdatesLatency)
}

// SitemapText changes with what says which sitemaps are read, and what of them. It is empty when
// none are.
func (j *Judge) SitemapText() string {
	if !j.ReadsSitemaps() {
		return ""
	}
	return fmt.Sprintf("%x", j.Spec.ScopeHash())
}

// ReadsSitemaps reports whether sitemaps are read at all: what they name counts as one
// link away from a seed.
func (j *Judge) ReadsSitemaps() bool {
	return j.Spec.Sitemaps && j.Spec.MaxDepth != 0 && j.Spec.Scope != "page"
}
