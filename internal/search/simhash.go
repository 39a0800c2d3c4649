package search

import "math/bits"

// simHash makes one number of a text such that texts that are nearly the same have numbers in which
// few bits differ (Charikar's SimHash, over runs of three words). One run in eight is looked at,
// chosen by its hash, so the same run is looked at in all texts: a word more or less changes three
// runs in either.
type simHash struct {
	votes  [64]int32
	last   [2]uint32 // hashes of the two words before
	words  int
	chosen int
}

const (
	// simSample is how many runs there are to one that counts.
	simSample = 8
	// simLeast is how many runs must count for the number to say anything.
	simLeast = 12
	// simDiffer is in how many bits two texts may differ that count as nearly the same: then about
	// one run in fifty differs.
	simDiffer = 3
)

func (s *simHash) add(word uint32) {
	h := (uint64(s.last[0])<<32 | uint64(s.last[1])) ^ uint64(word)*0x9E3779B97F4A7C15
	s.last[0], s.last[1] = s.last[1], word
	if s.words++; s.words < 3 {
		return
	}
	h ^= h >> 29
	h *= 0xBF58476D1CE4E5B9
	h ^= h >> 32
	if h%simSample != 0 {
		return
	}
	s.chosen++
	h *= 0x94D049BB133111EB // the bits that chose it say nothing any more
	h ^= h >> 31
	for i := range s.votes {
		s.votes[i] += int32(h>>i&1)*2 - 1
	}
}

// hash is 0 for a text that is too short.
func (s *simHash) hash() (h uint64) {
	if s.chosen < simLeast {
		return 0
	}
	for i, v := range s.votes {
		if v > 0 {
			h |= 1 << i
		}
	}
	return max(h, 1)
}

// alike reports whether texts with these numbers are nearly the same. 0 is like no number, not even
// another 0.
func alike(a, b uint64) bool { return a != 0 && b != 0 && bits.OnesCount64(a^b) <= simDiffer }
