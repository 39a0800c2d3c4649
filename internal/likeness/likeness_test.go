package likeness

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"strings"
	"testing"
)

func words(r *rand.Rand, n int) []string {
	w := make([]string, n)
	for i := range w {
		w[i] = fmt.Sprintf("w%d", r.IntN(5000))
	}
	return w
}

func page(w []string) []byte {
	return []byte("<!doctype html><title>x</title><script>var a = " + fmt.Sprint(len(w)) + "</script><p>" + strings.Join(w, " <b>,</b>\n") + "</p>")
}

func TestAlike(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	missed, taken, worst := 0, 0, 64
	for range 500 {
		a := words(r, 400)
		b := append([]string(nil), a...)
		for range 2 { // a date, a name
			b[r.IntN(len(b))] = "other"
		}
		ha, hb := OfHTML(page(a)), OfHTML(page(b))
		if !Alike(ha, hb) {
			missed++
		}
		hc := OfHTML(page(words(r, 400)))
		worst = min(worst, bits.OnesCount64(ha^hc))
		// Another text in the same frame is another page.
		d := append(append([]string(nil), a[:200]...), words(r, 200)...)
		if Alike(ha, hc) || Alike(ha, OfHTML(page(d))) {
			taken++
		}
	}
	if missed > 5 || taken > 0 {
		t.Errorf("of 500 pairs with two words changed %d are not alike; %d different ones are", missed, taken)
	}
	t.Logf("unrelated texts differ in at least %d bits; %d near ones missed", worst, missed)
}

func TestMarkupDoesNotCount(t *testing.T) {
	text := strings.Repeat("the quick brown fox jumps over a lazy dog ", 5)
	a := OfHTML([]byte("<p>" + text + "<style>p{color:red}</style>"))
	b := OfHTML([]byte("<div class=x><h1>" + strings.ToUpper(text) + "</h1></div><script>if (a<b) c()</script>"))
	if a == 0 || a != b || a != OfText([]byte(text)) {
		t.Errorf("%x, %x and %x", a, b, OfText([]byte(text)))
	}
}

func TestTooLittle(t *testing.T) {
	few := strings.Repeat("word ", minWords-1)
	if h := OfText([]byte(few)); h != 0 || Alike(h, h) {
		t.Errorf("%d words: %x", minWords-1, h)
	}
	if h := OfText([]byte(few + "more")); h == 0 || !Alike(h, h) {
		t.Errorf("%d words: %x", minWords, h)
	}
	long := []byte(strings.Repeat("a b ", maxBytes))
	if OfText(long) != OfText(long[:maxBytes]) {
		t.Error("more than the limit is read")
	}
}
