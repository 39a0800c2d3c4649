package prose

import (
	"slices"
	"strings"
	"testing"
)

func TestPassagesDependOnTheSeedOnly(t *testing.T) {
	a, b := Passages(7), Passages(7)
	if !slices.Equal(a, b) || len(a) != Pool {
		t.Errorf("%d and %d passages from one seed, which differ or are not %d", len(a), len(b), Pool)
	}
	if slices.Equal(a, Passages(8)) {
		t.Error("two seeds make the same text")
	}
}

func TestRareWordsDiffer(t *testing.T) {
	host := map[string]int{}
	for i := range 3000 {
		w := RareWord(1, i)
		if other, ok := host[w]; ok {
			t.Fatalf("hosts %d and %d both have %q", other, i, w)
		}
		host[w] = i
		if slices.Contains(nouns, w) || slices.Contains(adjectives, w) {
			t.Fatalf("%q is an ordinary word", w)
		}
	}
}

func TestFirstWordsCutsAfterAWord(t *testing.T) {
	text := strings.Repeat("lantern ", 20)
	for left := range len(text) + 2 {
		cut := FirstWords(text, left)
		if !strings.HasPrefix(text, cut) || cut != text && (strings.HasSuffix(cut, " ") || text[len(cut)] != ' ') {
			t.Fatalf("%d bytes: %q", left, cut)
		}
		if len(cut) < min(left, len(text)) || len(cut) < 40 {
			t.Fatalf("%d bytes: only %d", left, len(cut))
		}
	}
}
