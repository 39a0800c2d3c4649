package crawl

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"slices"
)

// SpecEffect estimates the effect of another spec on a shard: on its URLs (questions.Judge), or on
// the links of its pages (questions.JudgeLinks).
type SpecEffect struct {
	Known   int64  `json:"known"`   // URLs or pages of the shard
	Looked  int64  `json:"looked"`  // how many of them were examined
	Refuses int64  `json:"refuses"` // examined URLs that are queued now, and would be refused
	Adds    Sketch `json:"adds"`    // URLs that would be added
}

// Merge adds the effect on another shard.
func (j *SpecEffect) Merge(other SpecEffect) {
	j.Known, j.Looked, j.Refuses = j.Known+other.Known, j.Looked+other.Looked, j.Refuses+other.Refuses
	j.Adds.Merge(other.Adds)
}

// scale is the factor for the counts if not everything was examined.
func (j *SpecEffect) scale() float64 {
	if j.Looked == 0 {
		return 1
	}
	return max(float64(j.Known)/float64(j.Looked), 1)
}

// Preview estimates the immediate effect of another spec on a crawl. It does not include URLs that
// the added URLs lead to.
type Preview struct {
	Adds, Refuses int64
	About         bool // the numbers are estimates
	// LinksUncounted: the links of stored pages will be read again and add more URLs, but indexers
	// did not answer how many.
	LinksUncounted bool
}

// NewPreview merges the effects on URLs and on links. URLs in both are counted once.
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

// SketchSize is how many hashes a Sketch keeps: up to so many texts it counts exactly, beyond with
// a standard error of under 2 %.
const SketchSize = 4096

// Sketch counts distinct texts in bounded memory: it keeps the least of their hashes (k minimum
// values). Those of several shards merge. The zero value is empty. Not safe for concurrent use.
type Sketch struct {
	Least []uint64 `json:"least,omitempty"` // ascending, at most SketchSize
}

// Add counts a text, once however often it is added.
func (s *Sketch) Add(text string) {
	sum := sha256.Sum256([]byte(text))
	s.add(binary.BigEndian.Uint64(sum[:]))
}

func (s *Sketch) add(h uint64) {
	i, had := slices.BinarySearch(s.Least, h)
	if had || i >= SketchSize {
		return
	}
	s.Least = slices.Insert(s.Least, i, h)
	s.Least = s.Least[:min(len(s.Least), SketchSize)]
}

// Merge adds what another counted.
func (s *Sketch) Merge(other Sketch) {
	for _, h := range other.Least {
		s.add(h)
	}
}

// Exact reports that Count is no estimate.
func (s *Sketch) Exact() bool { return len(s.Least) < SketchSize }

// Count is how many distinct texts were added.
func (s *Sketch) Count() float64 {
	if s.Exact() {
		return float64(len(s.Least))
	}
	return (SketchSize - 1) / (float64(s.Least[SketchSize-1]) / math.MaxUint64)
}
