package segment

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// page is what the tests know about a page.
type page struct {
	facts Facts
	words []placed
	links []textLink
}

type placed struct {
	word string
	pos  uint32
}

type textLink struct {
	url  string
	text []string
}

func randomPages(r *rand.Rand, n int) (all []page) {
	word := func() string { return fmt.Sprintf("w%d", int(r.ExpFloat64()*40)) }
	for i := range n {
		p := page{facts: Facts{
			Page: uint64(1000 - i), URL: fmt.Sprintf("http://h/%d", i), Narrow: [Narrows]string{"h", []string{"en", "de", ""}[i%3], "text/html"},
			Listing: uint8(i), Expires: int64(i) * 7, Date: int32(i) - 3, Digest: uint64(i) << 40, Text: 1 << 63, Sim: uint64(i) << 33,
			Words: [Fields]uint32{1, 2, 3, uint32(i), 5},
		}}
		for k := range r.IntN(4) { // some pages have none
			p.facts.Properties = append(p.facts.Properties, Property{fmt.Sprintf("f%d", k), fmt.Sprintf("v%d", r.IntN(9))})
		}
		at := uint32(0)
		for k := range uint32(r.IntN(5)) {
			at += uint32(r.IntN(300))
			p.facts.Sections = append(p.facts.Sections, Section{k * 2, at, uint32(r.IntN(200))})
		}
		for f := range Fields {
			pos := f.Start()
			for range r.IntN([Fields]int{5, 3, 10, 400, 20}[f]) {
				p.words = append(p.words, placed{word(), pos})
				pos += uint32(r.IntN(3)) // a name and its first word have the same position
			}
		}
		for range r.IntN(6) {
			p.links = append(p.links, textLink{fmt.Sprintf("http://h/%d", r.IntN(n)), []string{word(), word()}})
		}
		all = append(all, p)
	}
	return all
}

func build(b *Builder, all []page) []byte {
	for _, p := range all {
		b.Page(p.facts, 3)
		for _, w := range p.words {
			b.word(w.word, w.pos)
		}
		for _, l := range p.links {
			b.Link(Hash(l.url))
			for _, w := range l.text {
				b.linkTo(w)
			}
		}
	}
	return b.Finish(keys)
}

// word adds one word.
func (b *Builder) word(word string, pos uint32) {
	var t Term
	long := t.Set([]byte(word), nil)
	b.Add([]Term{t}, long, pos, nil)
}

// linkTo adds a word of a link.
func (b *Builder) linkTo(word string) {
	var t Term
	long := t.Set([]byte(word), nil)
	b.AddToLink([]Term{t}, long)
}

// keys gives each word its length as a key, and some words another key.
func keys(word []byte, langs uint32, emit func([]byte)) {
	emit(fmt.Appendf(nil, "len%d", len(word)))
	if word[len(word)-1] == '7' {
		emit([]byte("seven"))
		emit([]byte("seven"))
	}
}

// compare checks that a segment has exactly these pages, in this order.
func compare(t *testing.T, raw []byte, all []page) {
	t.Helper()
	s, err := Open(raw)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
	if int(s.Len()) != len(all) || s.Size() != len(raw) {
		t.Fatalf("%d pages, want %d", s.Len(), len(all))
	}
	type at struct{ page, pos uint32 }
	words, pairs := map[string][]at{}, map[string]map[[2]uint64]bool{}
	linking := map[uint64]map[uint32]bool{}
	for i, p := range all {
		i := uint32(i)
		if got := s.Facts(i); !reflect.DeepEqual(got, p.facts) {
			t.Fatalf("facts of %d: %+v, want %+v", i, got, p.facts)
		}
		if k, ok := s.Find(p.facts.Page); !ok || k != i {
			t.Fatalf("page %d is at %d, %v; want %d", p.facts.Page, k, ok, i)
		}
		if k, ok := s.FindURL(Hash(p.facts.URL)); !ok || k != i {
			t.Fatalf("%s is at %d, %v; want %d", p.facts.URL, k, ok, i)
		}
		if string(s.URL(i)) != p.facts.URL || s.Value(s.Narrow(i, Type)) != p.facts.Narrow[Type] || s.Listing(i) != p.facts.Listing || s.Words(i, Heads) != p.facts.Words[Heads] ||
			s.Expires(i) != p.facts.Expires || s.Date(i) != p.facts.Date {
			t.Fatalf("facts of %d, one by one", i)
		}
		for _, w := range p.words {
			words[w.word] = append(words[w.word], at{i, w.pos})
		}
		for _, l := range p.links {
			h := Hash(l.url)
			if linking[h] == nil {
				linking[h] = map[uint32]bool{}
			}
			linking[h][i] = true
			for _, w := range l.text {
				if pairs[w] == nil {
					pairs[w] = map[[2]uint64]bool{}
				}
				pairs[w][[2]uint64{uint64(i), h}] = true
				words[w] = append(words[w], nil...)
			}
		}
	}
	if _, ok := s.Find(77_777); ok {
		t.Error("found a page that is not there")
	}
	var names []string
	sevens := map[string]bool{}
	for word, unread := range s.Beginning([]byte("w")) {
		e := unread.Entry()
		names = append(names, string(word))
		if strings.HasSuffix(string(word), "7") {
			sevens[string(word)] = true
		}
		var got []at
		var places []uint32
		var some []Posting
		buffer := make([]Posting, 1+len(word)%3)
		for p := e.Postings(); ; {
			part := p.Some(buffer)
			if len(part) == 0 {
				break
			}
			some = append(some, part...)
		}
		n := uint32(0)
		for p := e.Postings(); p.Next(); n++ {
			if i := int(n); i >= len(some) || some[i] != (Posting{p.Page, p.Body, p.Mask}) {
				t.Fatalf("%s: page %d of %v is not %+v", word, i, some, p)
			}
			mask, body := uint8(0), uint32(0)
			if places = p.Places(places[:0]); n%3 == 1 {
				continue // after positions that were skipped, the next ones are found nevertheless
			}
			var others []uint32
			for i, pos := range places {
				// Every second is usually not a position of the word
				others = append(others, pos+uint32(i%2))
			}
			slices.Sort(others)
			among := slices.DeleteFunc(slices.Clone(places), func(pos uint32) bool { return !slices.Contains(others, pos) })
			if got := p.PlacesAmong(nil, others); !slices.Equal(got, among) || len(p.PlacesAmong(nil, nil)) > 0 {
				t.Fatalf("%s in page %d: %v among %v are %v", word, p.Page, places, others, got)
			}
			for _, pos := range places {
				got = append(got, at{p.Page, pos})
				switch f := FieldAt(pos); f {
				case Body:
					body++
				case Around:
					mask |= MaskAround
				default:
					mask |= 1 << f
				}
			}
			if mask != p.Mask || body != p.Body {
				t.Fatalf("%s in page %d: mask %b, body %d; want %b, %d", word, p.Page, p.Mask, p.Body, mask, body)
			}
		}
		if n != e.Pages {
			t.Fatalf("%s: %d pages, stated as %d", word, n, e.Pages)
		}
		var want []at
		k, last := -1, uint32(1<<31)
		for _, a := range words[string(word)] {
			if a.page != last {
				k, last = k+1, a.page
			}
			if k%3 != 1 {
				want = append(want, a)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%s is at %v; want %v", word, got, want)
		}
		links := map[[2]uint64]bool{}
		for p, target := range e.LinkPairs() {
			links[[2]uint64{uint64(p), s.Target(target)}] = true
		}
		if !maps.Equal(links, pairs[string(word)]) || int(e.Pairs) != len(links) {
			t.Fatalf("%s links %v; want %v", word, links, pairs[string(word)])
		}
		if _, ok := s.Word(word); !ok {
			t.Fatalf("%s is not found by itself", word)
		}
	}
	want := map[string]bool{}
	for w := range words {
		want[w] = true
	}
	for w := range pairs {
		want[w] = true
	}
	if sorted := slices.Sorted(maps.Keys(want)); !slices.Equal(sorted, names) {
		t.Fatalf("words %v, want %v", names, sorted)
	}
	got := map[string]bool{}
	for word := range s.WithKey([]byte("seven")) {
		got[string(word)] = true
	}
	if !maps.Equal(got, sevens) {
		t.Fatalf("sevens %v, want %v", got, sevens)
	}
	for h, by := range linking {
		n, ok := s.FindTarget(h)
		if !ok || s.Target(n) != h || int(s.Linking(n)) != len(by) {
			t.Fatalf("%d pages link to a target, want %d", s.Linking(n), len(by))
		}
		if got := slices.Collect(s.LinkingPages(n)); !slices.Equal(got, slices.Sorted(maps.Keys(by))) {
			t.Fatalf("pages %v link, want %v", got, by)
		}
		i, ok := s.Led(n)
		if k, found := s.FindURL(h); ok != found || ok && i != k {
			t.Fatalf("a target leads to %d, %v; want %d, %v", i, ok, k, found)
		}
	}
	if int(s.targetCount) != len(linking) {
		t.Fatalf("%d targets, want %d", s.targetCount, len(linking))
	}
}

func TestBuild(t *testing.T) {
	var b Builder
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		all := randomPages(r, r.IntN(40))
		compare(t, build(&b, all), all)
	}
}

// A merged segment equals the one that would have been built from the remaining pages.
func TestMerge(t *testing.T) {
	var b Builder
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 2))
		all := randomPages(r, 1+r.IntN(60))
		var from []Source
		var left []page
		for remaining := all; len(remaining) > 0; {
			n := 1 + r.IntN(len(remaining))
			part := remaining[:n]
			remaining = remaining[n:]
			s, err := Open(build(&b, part))
			if err != nil {
				t.Fatal(err)
			}
			src := Source{Segment: s}
			if r.IntN(2) == 0 {
				dead := make([]bool, n)
				for i := range dead {
					dead[i] = r.IntN(3) == 0
				}
				src.Deleted = func(p uint32) bool { return dead[p] }
				for i, p := range part {
					if !dead[i] {
						left = append(left, p)
					}
				}
			} else {
				left = append(left, part...)
			}
			from = append(from, src)
		}
		merged := Merge(from)
		compare(t, merged, left)
		if want := build(&b, left); !bytes.Equal(merged, want) {
			t.Fatalf("seed %d: merged %d bytes, built %d", seed, len(merged), len(want))
		}
	}
}

// A merge allocates its memory at once: nothing is copied repeatedly in order to grow.
func TestMergeMemory(t *testing.T) {
	var b Builder
	var from []Source
	for seed := range uint64(8) {
		s, err := Open(build(&b, randomPages(rand.New(rand.NewPCG(seed, 3)), 200)))
		if err != nil {
			t.Fatal(err)
		}
		from = append(from, Source{Segment: s})
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	raw := Merge(from)
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 6*uint64(len(raw)) {
		t.Errorf("%d bytes were allocated for a segment of %d", took, len(raw))
	} else {
		t.Logf("%.2f of the segment's bytes", float64(took)/float64(len(raw)))
	}
}

// Words that are too long for the dictionary are left out; those that just fit are kept.
func TestLongWords(t *testing.T) {
	var b Builder
	fits, long := strings.Repeat("w", maxKey), strings.Repeat("w", maxKey+1)
	all := []page{{facts: Facts{URL: "http://h/"}, words: []placed{{fits, 0}}, links: []textLink{{"http://h/", []string{fits}}}}}
	raw := build(&b, []page{{facts: Facts{URL: "http://h/"}, words: []placed{{fits, 0}, {long, 1}},
		links: []textLink{{"http://h/", []string{fits, long}}}}})
	compare(t, raw, all)
}

// A page has at most MaxProperties, and a segment has none of the pages of another one.
func TestProperties(t *testing.T) {
	var b Builder
	facts := Facts{URL: "http://h/"}
	for i := range MaxProperties + 1 {
		facts.Properties = append(facts.Properties, Property{"f", fmt.Sprint(i)})
	}
	b.Page(facts, 0)
	s, err := Open(b.Finish(func([]byte, uint32, func([]byte)) {}))
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Facts(0).Properties; !slices.Equal(got, facts.Properties[:MaxProperties]) || s.PropertyNames() != 1 || s.PropertyValues() != MaxProperties {
		t.Errorf("%d properties, from %v to %v", len(got), got[0], got[len(got)-1])
	}
	b.Page(Facts{URL: "http://h/"}, 0)
	if s, err = Open(b.Finish(func([]byte, uint32, func([]byte)) {})); err != nil || s.HasProperties() || len(s.PagesProperties(nil, 0)) > 0 {
		t.Errorf("a segment has properties of the one before it, %v", err)
	}
}

// Bytes that are not a segment are refused; a segment with one changed bit does not pass Check.
func TestDamage(t *testing.T) {
	var b Builder
	raw := build(&b, randomPages(rand.New(rand.NewPCG(1, 3)), 10))
	for _, cut := range []int{0, 7, headSize - 1, headSize, len(raw) / 2} {
		if _, err := Open(raw[:cut]); err == nil {
			t.Errorf("%d of %d bytes open", cut, len(raw))
		}
	}
	for i := 0; i < len(raw); i += 13 {
		bad := bytes.Clone(raw)
		bad[i] ^= 4
		if s, err := Open(bad); err == nil && s.Check() == nil {
			t.Errorf("a bit of byte %d is turned over, and nobody sees it", i)
		}
	}
}

// Targets whose upper bits are equal are distinguished.
func TestTargetsAlike(t *testing.T) {
	var b Builder
	const high = 0xABCD << 48
	want := map[uint64][]uint32{high | 1: {0, 2}, high | 2: {1}, high | 5: {0, 1, 2}, 7: {1}}
	for page := range uint32(3) {
		b.Page(Facts{Page: uint64(page), URL: fmt.Sprintf("http://h/%d", page)}, 0)
		for _, target := range []uint64{high | 5, high | 1, 7, high | 2, high | 1} {
			if slices.Contains(want[target], page) {
				b.Link(target)
				b.linkTo(fmt.Sprintf("to%d", target&0xFF))
			}
		}
	}
	s, err := Open(b.Finish(func([]byte, uint32, func([]byte)) {}))
	if err != nil {
		t.Fatal(err)
	}
	for target, by := range want {
		n, ok := s.FindTarget(target)
		if got := slices.Collect(s.LinkingPages(n)); !ok || !slices.Equal(got, by) {
			t.Errorf("%x: %v link, want %v", target, got, by)
		}
		e, _ := s.Word(fmt.Appendf(nil, "to%d", target&0xFF))
		var pages []uint32
		for page, to := range e.LinkPairs() {
			if pages = append(pages, page); to != n {
				t.Errorf("%x: page %d links to %x by its word", target, page, s.Target(to))
			}
		}
		if !slices.Equal(pages, by) {
			t.Errorf("%x: pages %v link by its word, want %v", target, pages, by)
		}
	}
}
