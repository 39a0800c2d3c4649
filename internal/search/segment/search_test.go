package segment

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"
)

// searchHash finds what a binary search finds, also if the numbers are not distributed like hashes.
func TestSearchHash(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for _, size := range []int{8, 16} {
		for _, n := range []int{0, 1, 2, 3, 10, 1000} {
			for name, number := range map[string]func(i int) uint64{
				"even":     func(int) uint64 { return rng.Uint64() },
				"least":    func(i int) uint64 { return uint64(i / 2) },
				"greatest": func(i int) uint64 { return math.MaxUint64 - uint64(i/3) },
				"two ends": func(i int) uint64 { return uint64(i%2) * (math.MaxUint64 - uint64(i)) },
				"equal":    func(int) uint64 { return 1 << 40 },
			} {
				all := make([]uint64, n)
				for i := range all {
					all[i] = number(i)
				}
				slices.Sort(all)
				b := make([]byte, n*size)
				for i, v := range all {
					binary.LittleEndian.PutUint64(b[i*size:], v)
				}
				ask := []uint64{0, 1, 1 << 40, math.MaxUint64, rng.Uint64(), rng.Uint64()}
				for _, v := range all {
					ask = append(ask, v, v-1, v+1)
				}
				for _, v := range ask {
					want := sort.Search(n, func(i int) bool { return all[i] >= v })
					if got := searchHash(b, size, n, v); got != want {
						t.Fatalf("%s, %d records of %d bytes: %d is at %d, found at %d", name, n, size, v, want, got)
					}
				}
			}
		}
	}
}
