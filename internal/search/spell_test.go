package search

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestDistance(t *testing.T) {
	var d distance
	for _, c := range []struct {
		a, b string
		want int
	}{{"kitten", "kitten", 0}, {"kitten", "kiten", 1}, {"kitten", "ktiten", 1}, {"kitten", "sitting", 3}, {"ab", "ba", 1}, {"häuser", "hauser", 1}, {"", "ab", 2}} {
		if got := d.between([]rune(c.a), []rune(c.b), 3); got != c.want {
			t.Errorf("%s, %s: %d, want %d", c.a, c.b, got, c.want)
		}
	}
	if got := d.between([]rune("abcdefgh"), []rune("zyxwvuts"), 2); got <= 2 {
		t.Errorf("far apart: %d", got)
	}
}

// The comparison of letters only rejects words whose distance is too large.
func TestMayBeNear(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	var d distance
	letter := func() rune { return []rune("abcdefghijklmnopqrstuvwxyzäéßжш漢")[rng.IntN(32)] }
	far := 0
	for range 20_000 {
		a := make([]rune, 4+rng.IntN(9))
		for i := range a {
			a[i] = letter()
		}
		b := slices.Clone(a)
		for range rng.IntN(4) {
			switch i := rng.IntN(len(b) - 1); rng.IntN(4) {
			case 0:
				b[i] = letter()
			case 1:
				b = slices.Delete(b, i, i+1)
			case 2:
				b = slices.Insert(b, i, letter())
			default:
				b[i], b[i+1] = b[i+1], b[i]
			}
			if len(b) < 2 {
				break
			}
		}
		for most := 1; most <= 2; most++ {
			near := mayBeNear(lettersOf(a), lettersOf(b), most)
			if !near && d.between(a, b, most) <= most {
				t.Fatalf("%q and %q differ by %d at most, but are not near", string(a), string(b), most)
			}
			if !near {
				far++
			}
		}
	}
	if far == 0 {
		t.Error("all words are near each other")
	}
}
