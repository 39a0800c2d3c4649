package crawl

import "math"

// SpecEffect is what another spec would make of a shard: an answer to "judge" from a frontier,
// about its URLs, and to "judge-links" from an indexer, about the links of its pages.
type SpecEffect struct {
	Known   int64  `json:"known"`   // URLs, or pages
	Looked  int64  `json:"looked"`  // at so many of them: fewer where there are too many
	Refuses int64  `json:"refuses"` // queued URLs that it refuses, of those looked at
	Adds    Sketch `json:"adds"`    // URLs that it lets in
}

// Merge adds what another shard says.
func (j *SpecEffect) Merge(other SpecEffect) {
	j.Known, j.Looked, j.Refuses = j.Known+other.Known, j.Looked+other.Looked, j.Refuses+other.Refuses
	j.Adds.Merge(other.Adds)
}

// scale is by how much what was found is multiplied where not all was looked at.
func (j *SpecEffect) scale() float64 {
	if j.Looked == 0 {
		return 1
	}
	return max(float64(j.Known)/float64(j.Looked), 1)
}

// Preview is what another spec would make of a crawl at once. What URLs let in lead to comes on
// top.
type Preview struct {
	Adds, Refuses int64
	About         bool // they are estimates
	// LinksUncounted says that links of stored pages will be read again and add more: those who
	// hold the pages did not say how many.
	LinksUncounted bool
}

// NewPreview puts together what frontiers and indexers say. URLs that both know count once.
func NewPreview(urls, links SpecEffect) Preview {
	u, l := urls.scale(), links.scale()
	both := urls.Adds.Count() + links.Adds.Count()
	union := urls.Adds
	union.Least = append([]uint64(nil), urls.Adds.Least...)
	union.Merge(links.Adds)
	twice := max(both-union.Count(), 0)
	adds := urls.Adds.Count()*u + links.Adds.Count()*l - twice*min(u, l)
	return Preview{
		Adds: int64(math.Round(adds)), Refuses: int64(math.Round(float64(urls.Refuses) * u)),
		About: u > 1 || l > 1 || !union.Exact(),
	}
}
