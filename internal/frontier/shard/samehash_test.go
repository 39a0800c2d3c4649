package shard

import (
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/internal/frontier/urls"
	"github.com/curtsy/curtsy/pkg/canon"
)

// The primes of XXH64.
const (
	xxPrime1 uint64 = 11400714785074694791
	xxPrime2 uint64 = 14029467366897019727
)

// sameHash returns 2^n URLs that begin with prefix and have the same SeenHash. XXH64 has no key,
// and each of its four lanes can be inverted: what eight bytes change in one stripe of 32, eight
// bytes of the next stripe undo. They have to be letters of a path too, which takes 65,536 tries.
func sameHash(prefix string, n int) []canon.URL {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	var isLetter [256]bool
	for i := range len(letters) {
		isLetter[letters[i]] = true
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	word := func() (w uint64) {
		for range 8 {
			w = w<<8 | uint64(letters[rnd.IntN(len(letters))])
		}
		return w
	}
	plain := func(w uint64) bool {
		for range 8 {
			if !isLetter[byte(w)] {
				return false
			}
			w >>= 8
		}
		return true
	}
	round := func(acc, in uint64) uint64 { return bits.RotateLeft64(acc+in*xxPrime2, 31) * xxPrime1 }
	inverse := xxPrime2 // of xxPrime2, modulo 2^64, by Newton
	for range 6 {
		inverse *= 2 - xxPrime2*inverse
	}
	for len(prefix)%32 != 0 {
		prefix += "x"
	}
	p1, p2 := xxPrime1, xxPrime2
	lanes := [4]uint64{p1 + p2, p2, 0, -p1}
	for at := 0; at < len(prefix); at += 8 {
		l := at / 8 % 4
		lanes[l] = round(lanes[l], binary.LittleEndian.Uint64([]byte(prefix[at:])))
	}
	all := []string{prefix}
	for made := 0; made < n; {
		var blocks [4][2][2]uint64 // by lane, alternative and stripe
		for l := range 4 {
			var a, b, a2, b2 uint64
			for !plain(b2) {
				a, b, a2 = word(), word(), word()
				b2 = b + (round(lanes[l], a)-round(lanes[l], a2))*inverse
			}
			blocks[l] = [2][2]uint64{{a, b}, {a2, b2}}
			lanes[l] = round(round(lanes[l], a), b)
		}
		kinds := min(4, n-made)
		var longer []string
		for _, s := range all {
			for choice := range 1 << kinds {
				var stripes [64]byte
				for l := range 4 {
					for i, w := range blocks[l][choice>>l&1] {
						binary.LittleEndian.PutUint64(stripes[32*i+8*l:], w)
					}
				}
				longer = append(longer, s+string(stripes[:]))
			}
		}
		all, made = longer, made+kinds
	}
	found := make([]canon.URL, len(all))
	for i, s := range all {
		found[i] = canon.URL(s)
	}
	return found
}

// A site may choose its URLs so that all have the same hash in the seen set. Each of them was
// compared with the texts of all others: offering 8,192 twice took 45 s of CPU, and the limit of
// waiting URLs is 100,000. Beyond urls.MaxSameHash they are left out, which takes 0.2 s.
func TestURLsOfTheSameHash(t *testing.T) {
	inRig(t, spec(), func(r *rig) {
		all := sameHash("http://a.example/", 13)
		for _, u := range all {
			c, err := canon.Parse(string(u))
			if err != nil || c != u || store.SeenHash(u) != store.SeenHash(all[0]) {
				t.Fatalf("%s is another URL (%s, %v), or has another hash", u, c, err)
			}
		}
		r.links(all[:urls.MaxSameHash]...)
		r.wantClass(all[urls.MaxSameHash-1], crawl.Queued, "")
		r.links(all...)
		r.links("http://a.example/other", "http://b.example/")
		if n := r.Ledger.Meta.Counts.Queued; n != urls.MaxSameHash+2 {
			t.Errorf("%d URLs are queued, want %d of the same hash and two others", n, urls.MaxSameHash)
		}
		r.wantClass("http://a.example/other", crawl.Queued, "")
	})
}
