package search

import "math/bits"

// simHash computes one number of a text. Texts that are nearly the same have numbers that differ in
// few bits (Charikar's SimHash, over runs of three words). One run in eight is used, chosen by its
// hash, so that the same runs are used in all texts: one word more or less changes three runs in
// either.
type simHash struct {
	ones   [64]int32 // how often each bit was set in the used runs
	adding [8]uint64 // the same for the last runs: one byte for each bit, eight of them in a number
	added  int       // runs in adding
	last   [2]uint32 // hashes of the two preceding words
	words  int
	chosen int
}

const (
	// One of simSample runs is used.
	simSample = 8
	// simLeast is how many runs must be used for the number to be meaningful.
	simLeast = 12
	// simDiffer is in how many bits two texts may differ to count as nearly the same. About one run
	// in fifty differs then.
	simDiffer = 3
)

// add adds the hashes of words that follow one another. On the way it adds them to text as addHash
// does, because the processor can do both at the same time.
func (s *simHash) add(words []uint32, text uint64) uint64 {
	before := uint64(s.last[0])<<32 | uint64(s.last[1])
	skip := max(0, 2-s.words) // words with less than two before them
	for i, word := range words {
		text = addHash(text, word)
		h := before ^ uint64(word)*0x9E3779B97F4A7C15
		before = before<<32 | uint64(word)
		h ^= h >> 29
		h *= 0xBF58476D1CE4E5B9
		h ^= h >> 32
		if h%simSample == 0 && i >= skip {
			s.use(h)
		}
	}
	s.last = [2]uint32{uint32(before >> 32), uint32(before)}
	s.words += len(words)
	return text
}

// use adds a run that was chosen.
func (s *simHash) use(h uint64) {
	s.chosen++
	h *= 0x94D049BB133111EB // the bits that chose the run are the same for all
	h ^= h >> 31
	for i := range s.adding {
		s.adding[i] += spreadBits[byte(h>>(8*i))]
	}
	if s.added++; s.added == 255 {
		s.flush()
	}
}

// flush adds the counts in adding to ones, before a byte overflows.
func (s *simHash) flush() {
	for i := range s.ones {
		s.ones[i] += int32(byte(s.adding[i/8] >> (i % 8 * 8)))
	}
	s.adding, s.added = [8]uint64{}, 0
}

// spreadBits spreads the bits of a byte over eight bytes.
var spreadBits = func() (t [256]uint64) {
	for b := range t {
		for i := range 8 {
			t[b] |= uint64(b>>i&1) << (8 * i)
		}
	}
	return t
}()

// hash is 0 for a text that is too short.
func (s *simHash) hash() (h uint64) {
	if s.chosen < simLeast {
		return 0
	}
	s.flush()
	for i, n := range s.ones {
		if 2*int(n) > s.chosen {
			h |= 1 << i
		}
	}
	return max(h, 1)
}

// alike reports whether texts with these numbers are nearly the same. 0 is not like any number, not
// even another 0.
func alike(a, b uint64) bool { return a != 0 && b != 0 && bits.OnesCount64(a^b) <= simDiffer }
