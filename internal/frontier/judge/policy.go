package judge

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/curtsy/curtsy/pkg/canon"
)

// PlanText changes with the settings that determine which URLs are fetched again, and when. It is
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

// WantsUpdates reports whether updates are wanted at all. Without re-crawl they would have no
// effect, and after registering with a site we should be able to use its mail.
func (j *Judge) WantsUpdates() bool { return j.Spec.Updates && j.Spec.Recrawl }

// UpdatesOff reports whether the operator wants no updates of a site.
func (j *Judge) UpdatesOff(o canon.Origin) bool {
	return slices.Contains(j.Spec.UpdatesOff, o.String())
}

// LatencyFor is how often a site is to report: day, week, month, or "" for as often as it offers.
func (j *Judge) LatencyFor(o canon.Origin) string {
	return cmp.Or(j.Spec.UpdatesPrefer[o.String()], j.Spec.UpdatesLatency)
}

// SitemapText changes with the settings that determine which sitemaps are read, and which of their
// entries. It is empty when none are read.
func (j *Judge) SitemapText() string {
	if !j.ReadsSitemaps() {
		return ""
	}
	return fmt.Sprintf("%x", j.Spec.ScopeHash())
}

// ReadsSitemaps reports whether sitemaps are read at all. Their entries count as one link away from
// a seed.
func (j *Judge) ReadsSitemaps() bool {
	return j.Spec.Sitemaps && j.Spec.MaxDepth != 0 && j.Spec.Scope != "page"
}
