package segment

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// Pages with more different words than the table of a page has slots, with words whose Terms have
// the same ends, and with many or distant positions of one word.
func TestPageWords(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	word := func() string {
		n := r.IntN(4000)
		switch n % 4 {
		case 0:
			return fmt.Sprintf("w%d", n) // up to 8 bytes
		case 1:
			return fmt.Sprintf("wwwwwwww%d", n) // up to 16
		case 2:
			return fmt.Sprintf("wwwwwwww-%d-wwwwwwww", n)
		}
		return "w" + strings.Repeat("x", n%60)
	}
	var all []page
	for i := range 6 {
		p := page{facts: Facts{Page: uint64(i), URL: fmt.Sprintf("http://h/%d", i)}}
		pos := Body.Start()
		for range []int{20, 9000, 50, 3 * leastSlots, 0, 700}[i] {
			p.words = append(p.words, placed{word(), pos})
			pos += uint32(1 + r.IntN(3)*r.IntN(3)*r.IntN(700))
		}
		for range 300 { // more than 128 bytes of positions
			p.words = append(p.words, placed{"w", pos})
			pos += uint32(r.IntN(300))
		}
		p.words = append(p.words, placed{"w", Around.Start()}, placed{"w1", Around.Start() + 1<<20})
		all = append(all, p)
	}
	var b Builder
	for range 2 { // the second time with the tables that the first has left
		compare(t, build(&b, all), all)
	}
}

// A word has the languages of all its pages, also if another word took its slot in between.
func TestWordLanguages(t *testing.T) {
	var b Builder
	want := map[string]uint32{}
	for i := range 40 {
		lang := uint8(i % 7)
		b.Page(Facts{Page: uint64(i), URL: fmt.Sprintf("http://h/%d", i)}, lang)
		for k := range 1000 {
			if w := fmt.Sprintf("w%d", k*(i%3+1)); k%(i+1) < 3 {
				b.word(w, Body.Start()+uint32(k))
				want[w] |= 1 << lang
			}
		}
		b.Link(uint64(i))
		b.linkTo("w1")
		want["w1"] |= 1 << lang
	}
	n := 0
	b.Finish(func(word []byte, langs uint32, _ func([]byte)) {
		if n++; langs != want[string(word)] {
			t.Errorf("%s: languages %b, want %b", word, langs, want[string(word)])
		}
	})
	if n != len(want) {
		t.Errorf("%d words, want %d", n, len(want))
	}
}

// Add returns the hashes of all words but wholes, also of words that are too long for a segment,
// and gives each its position.
func TestAdd(t *testing.T) {
	var b Builder
	b.Page(Facts{URL: "http://h/"}, 0)
	var terms []Term
	var long []byte
	for i, word := range []string{"a", "whole", "b", strings.Repeat("c", maxKey+1), "dddddddddddddddddddd", "a"} {
		var term Term
		long = term.Set([]byte(word), long)
		term.Whole = i == 1
		terms = append(terms, term)
	}
	next, hashes := b.Add(terms, long, 70, []uint32{1})
	if next != 75 || fmt.Sprint(hashes) != fmt.Sprint([]uint32{1, HashOf([]byte("a")), HashOf([]byte("b")), HashOf([]byte(strings.Repeat("c", maxKey+1))),
		HashOf([]byte("dddddddddddddddddddd")), HashOf([]byte("a"))}) {
		t.Errorf("next %d, hashes %x", next, hashes)
	}
	s, err := Open(b.Finish(func([]byte, uint32, func([]byte)) {}))
	if err != nil {
		t.Fatal(err)
	}
	for word, want := range map[string]string{"a": "[70 74]", "whole": "[71]", "b": "[71]", "dddddddddddddddddddd": "[73]"} {
		e, _ := s.Word([]byte(word))
		p := e.Postings()
		if !p.Next() {
			t.Errorf("%s is missing", word)
			continue
		}
		if got := fmt.Sprint(p.Places(nil)); got != want {
			t.Errorf("%s is at %s, want %s", word, got, want)
		}
	}
}

// Long words are compared with their text when everything in their Terms is equal.
func TestEqualTerms(t *testing.T) {
	before := seeds
	defer func() { seeds = before }()
	seeds = [2]uint64{20, 5} // with these, a Tail of 20 bytes depends on the last eight alone
	var one, other Term
	one.Set([]byte("wwwwwwww0000wwwwwwww"), nil)
	if other.Set([]byte("wwwwwwww1111wwwwwwww"), nil); one != other {
		t.Fatalf("%+v is not %+v", one, other)
	}
	p := page{facts: Facts{URL: "http://h/"}}
	for i := range 40 {
		p.words = append(p.words, placed{fmt.Sprintf("wwwwwwww%04dwwwwwwww", i%20), Body.Start() + uint32(i)})
	}
	q := p
	q.facts = Facts{Page: 1, URL: "http://h/1"}
	var b Builder
	compare(t, build(&b, []page{p, q}), []page{p, q})
}
