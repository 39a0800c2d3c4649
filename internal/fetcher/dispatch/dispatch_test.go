package dispatch

import (
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/mobile"
	"github.com/curtsy/curtsy/internal/mobile/reading"
	"github.com/curtsy/curtsy/pkg/botauth"
	"github.com/curtsy/curtsy/pkg/canon"
)

// packedResults are so many records as results, cut into frames at random octets.
func packedResults(t testing.TB, r *mathrand.Rand, records int) (packed []byte) {
	t.Helper()
	var b bytes.Buffer
	w := mobile.NewResultWriter(&b)
	for i := range records {
		text := []byte(strings.Repeat(fmt.Sprint("record ", i, " "), 1+r.IntN(3000)))
		for len(text) > 100 && r.IntN(4) > 0 {
			n := min(1+r.IntN(len(text)), mobile.MaxPart)
			w.Part(text[:n], false)
			text = text[n:]
		}
		w.Part(text[:min(len(text), mobile.MaxPart)], true)
		if r.IntN(5) == 0 {
			w.Log([]byte("a line"))
		}
	}
	w.End(mobile.Summary{Outcome: mobile.Done})
	e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for rest := b.Bytes(); len(rest) > 0; {
		n := min(r.IntN(20_000), len(rest)) // a frame may be empty
		packed = append(packed, e.EncodeAll(rest[:n], nil)...)
		rest = rest[n:]
	}
	return packed
}

// readFrom reads results from a position on, up to most records, and returns the position behind
// them.
func readFrom(t testing.TB, packed []byte, offset, skip int64, most int) (records []string, to, behind int64, ended bool) {
	t.Helper()
	decoder, err := newDecoder()
	if err != nil {
		t.Fatal(err)
	}
	defer decoder.Close()
	budget := int64(maxUnpacked)
	s := newStream(bytes.NewReader(packed[offset:]), offset, &budget, decoder)
	if _, err := io.CopyN(io.Discard, s, skip); err != nil {
		t.Fatal(err)
	}
	in := mobile.NewResultReader(s)
	to, behind = offset, skip
	for len(records) < most {
		got, err := in.Next()
		if err != nil {
			t.Fatal(err)
		}
		to, behind = s.position(skip + in.Offset())
		if got.End != nil {
			return records, to, behind, true
		}
		if got.Record != nil {
			records = append(records, string(got.Record))
		}
	}
	return records, to, behind, false
}

// Results can be read on behind each record, and nothing is missing or comes twice.
func TestStreamIsReadOn(t *testing.T) {
	for seed := range uint64(20) {
		r := mathrand.New(mathrand.NewPCG(seed, 1))
		packed := packedResults(t, r, 40)
		whole, _, _, _ := readFrom(t, packed, 0, 0, 1<<30)
		var pieces []string
		offset, skip, ended := int64(0), int64(0), false
		for !ended {
			var some []string
			before := offset
			some, offset, skip, ended = readFrom(t, packed, offset, skip, 1+r.IntN(5))
			if pieces = append(pieces, some...); offset < before {
				t.Fatalf("seed %d: the position went back", seed)
			}
		}
		if len(whole) != 40 || strings.Join(whole, "|") != strings.Join(pieces, "|") {
			t.Errorf("seed %d: %d records at once, %d in pieces", seed, len(whole), len(pieces))
		}
	}
}

// FuzzStream: any octets end with an error or at their end, within the limits, and positions are
// within what was read.
func FuzzStream(f *testing.F) {
	f.Add(packedResults(f, mathrand.New(mathrand.NewPCG(1, 2)), 3))
	f.Add([]byte("\x28\xb5\x2f\xfd\x20\x01\x09\x00\x00\x61"))
	decoder, err := newDecoder()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		budget := int64(1 << 20)
		s := newStream(bytes.NewReader(b), 7, &budget, decoder)
		for in := mobile.NewResultReader(s); ; {
			_, err := in.Next()
			if offset, skip := s.position(in.Offset()); offset < 7 || offset > 7+int64(len(b)) || skip < 0 || skip > s.out {
				t.Fatalf("position %d, %d of %d octets", offset, skip, len(b))
			}
			if err != nil {
				break
			}
		}
		if budget < -mobile.MaxPart {
			t.Errorf("%d octets more than allowed", -budget)
		}
	})
}

// What decompresses to too much is not read on: in all, and in relation to what came.
func TestStreamIsLimited(t *testing.T) {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	zeros := e.EncodeAll(make([]byte, 2<<20), nil)
	decoder, err := newDecoder()
	if err != nil {
		t.Fatal(err)
	}
	defer decoder.Close()
	for name, c := range map[string]struct {
		frames int
		budget int64
		want   error
	}{
		"at the budget":   {2, 4 << 20, nil},
		"over the budget": {2, 4<<20 - 1, errBomb},
		"free of rate":    {31, 1 << 40, nil},
		"over the rate":   {40, 1 << 40, errBomb},
	} {
		s := newStream(bytes.NewReader(bytes.Repeat(zeros, c.frames)), 0, &c.budget, decoder)
		n, err := io.Copy(io.Discard, s)
		if !errors.Is(err, c.want) || c.want == nil && (err != nil || n != int64(c.frames)<<21) {
			t.Errorf("%s: %d octets, %v", name, n, err)
		}
	}
}

// The sample is 1 %, at least 8, at most as many as an answer may have, and of any page.
func TestSample(t *testing.T) {
	for pages, want := range map[int]int{0: 0, 1: 1, 8: 8, 100: 8, 800: 8, 801: 9, 5000: 50, 200_000: crawl.MaxDispatchSamples} {
		var s sample
		for i := range pages {
			s.look(func() crawl.DispatchSample { return crawl.DispatchSample{URL: canon.URL(fmt.Sprint(i))} })
		}
		seen := map[canon.URL]bool{}
		for _, p := range s.all() {
			seen[p.URL] = true
		}
		if len(seen) != want || len(s.all()) != want {
			t.Errorf("%d of %d pages, want %d", len(seen), pages, want)
		}
	}
	early := 0
	for range 400 { // of 16 pages, each is chosen in half of the cases
		var s sample
		for i := range 16 {
			s.look(func() crawl.DispatchSample { return crawl.DispatchSample{Digest: uint64(i)} })
		}
		for _, p := range s.all() {
			if p.Digest == 0 {
				early++
			}
		}
	}
	if early < 120 || early > 280 {
		t.Errorf("the first page was chosen in %d of 400 cases", early)
	}
}

// A plan is asked for in parts, up to a limit.
func TestPlanInParts(t *testing.T) {
	parts := map[string]crawl.DispatchPlan{
		"":  {Wanted: true, Pages: 3, Known: []crawl.KnownPage{{Path: 9}, {Path: 2, Digest: 5}}, Next: []byte("a")},
		"a": {Wanted: true, Pages: 3, Known: []crawl.KnownPage{{Path: 4, Digest: 6, Depth: 2}}, Next: []byte("b")},
		"b": {Wanted: true, Pages: 3},
	}
	c := &carrier{Options: Options{Plan: func(q crawl.DispatchQuery) (crawl.DispatchPlan, error) { return parts[string(q.After)], nil }}}
	p, err := c.ask()
	if err != nil || p.Pages != 3 || len(p.Known) != 3 || p.Known[0].Path != 2 || p.Known[2].Path != 9 {
		t.Fatalf("%+v, %v", p, err)
	}
	if k, ok := p.known(4); !ok || k.Depth != 2 {
		t.Errorf("known(4) = %+v, %v", k, ok)
	}
	if _, ok := p.known(5); ok {
		t.Error("5 is known")
	}
	if table := p.table(); table.Len() != 2 || !table.Has(reading.KnownHashOf(2, 5)) || !table.Has(reading.KnownHashOf(4, 6)) {
		t.Errorf("table %x", table)
	}
	asked := 0
	c.Plan = func(crawl.DispatchQuery) (crawl.DispatchPlan, error) { // it never ends
		asked++
		return crawl.DispatchPlan{Wanted: true, Known: make([]crawl.KnownPage, crawl.MaxKnownPages), Next: []byte("x")}, nil
	}
	if p, err := c.ask(); err != nil || len(p.Known) != maxKnown || asked > maxParts {
		t.Errorf("%d known URLs in %d parts, %v", len(p.Known), asked, err)
	}
	asked = 0
	c.Plan = func(crawl.DispatchQuery) (crawl.DispatchPlan, error) { // nor does this one
		asked++
		return crawl.DispatchPlan{Wanted: true, Next: []byte("x")}, nil
	}
	if _, err := c.ask(); err != nil || asked != maxParts {
		t.Errorf("asked %d times, %v", asked, err)
	}
}

func TestRobot(t *testing.T) {
	key, err := botauth.NewKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for n, good := range map[int]bool{0: false, 1: true, mobile.MaxModule: true, mobile.MaxModule + 1: false} {
		if _, err := NewRobot(key, make([]byte, n)); (err == nil) != good {
			t.Errorf("a module of %d octets: %v", n, err)
		}
	}
	r, err := NewRobot(key, []byte("module"))
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(append(gzipped([]byte("ticket ")), r.packed()...)))
	if err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(z); err != nil || string(b) != "ticket module" {
		t.Errorf("%q, %v", b, err)
	}
	for range atOnce {
		if !r.enter() {
			t.Error("too few places")
		}
	}
	if r.enter() {
		t.Error("too many places")
	}
	if r.leave(); !r.enter() {
		t.Error("a place was not returned")
	}
}
