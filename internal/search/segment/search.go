package segment

import (
	"encoding/binary"
	"math/bits"
)

// searchHash returns the first of n records that begins with a number not less than hash. Records
// are size bytes apart and sorted.
//
// Hashes are distributed evenly, so the position of a hash can be estimated: two guesses come
// within a few records of it. Binary search would take a dozen steps, each to a line of memory that
// is not in the cache. Whatever the numbers are, this takes at most twice the steps of binary
// search.
func searchHash(b []byte, size, n int, hash uint64) int {
	if n == 0 {
		return 0
	}
	at := func(i int) uint64 { return binary.LittleEndian.Uint64(b[size*i:]) }
	high, _ := bits.Mul64(hash, uint64(n))
	guess := int(high)
	if v := at(guess); v < hash {
		off, _ := bits.Mul64(hash-v, uint64(n))
		guess = min(guess+int(off), n-1)
	} else {
		off, _ := bits.Mul64(v-hash, uint64(n))
		guess = max(guess-int(off), 0)
	}
	// The result is after lo and not after hi.
	lo, hi := -1, n
	if at(guess) < hash {
		lo = guess
		for step := 2; lo+step < n; step *= 2 {
			if at(lo+step) >= hash {
				hi = lo + step
				break
			}
			lo += step
		}
	} else {
		hi = guess
		for step := 2; hi-step >= 0; step *= 2 {
			if at(hi-step) < hash {
				lo = hi - step
				break
			}
			hi -= step
		}
	}
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; at(mid) < hash {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}
