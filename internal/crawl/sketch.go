package crawl

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"slices"
)

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
