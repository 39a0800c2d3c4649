package publish

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/klauspost/compress/s2"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/metrics"
	"github.com/curtsy/curtsy/pkg/canon"
)

// sink takes pages in, and remembers their messages.
type sink struct {
	Sink
	messages [][]byte
}

func (s *sink) SendPages(_ context.Context, _ int, pages []byte) (bool, error) {
	s.messages = append(s.messages, append([]byte(nil), pages...))
	return false, nil
}

// What visits gather does not grow with the pages they fetch: a page that would make it more than
// maxBatch has what is there sent first, and a larger page goes alone.
func TestGatheredPages(t *testing.T) {
	gathered(t, 0, maxBatch)
	gathered(t, 32<<10, 32<<10)
}

// gathered gathers pages of several visits. limit is what set, as Options.MaxBatch, means.
func gathered(t *testing.T, set, limit int) {
	t.Helper()
	met, err := metrics.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	const visits, pages, head = 3, 400, 200 // head: more than what a page has beside its body
	sent := make([]*sink, visits)
	all := make([]*Publisher, visits)
	for i := range all {
		sent[i] = new(sink)
		all[i] = New(Options{Sink: sent[i], Context: t.Context(), Shards: 1, MaxBatch: set, Metrics: met, Log: slog.New(slog.DiscardHandler)}, new(Buffers))
	}
	rnd, body := rand.New(rand.NewPCG(1, 2)), make([]byte, maxPacked)
	sizes := make(map[canon.URL]int)
	most := 0
	for n := range pages {
		gathered := 0
		for i, v := range all {
			p := crawl.Page{URL: canon.URL(fmt.Sprintf("http://h%d.test/%d", i, n)), Status: 200, Encoding: crawl.EncodingS2, Body: body[:rnd.IntN(20<<10)]}
			switch n {
			case pages / 2: // alone as much as all visits may gather, and more
				p.Body = body
			case pages/2 + 1:
				p.Body = body[:limit-head]
			}
			sizes[p.URL] = len(p.Body)
			v.Page(&p)
			if got := len(v.buf.batch); v.buf.pages > 1 && got > limit+head {
				t.Fatalf("%d pages are gathered and %d bytes, want at most %d", v.buf.pages, got, limit)
			} else if v.buf.pages > 1 {
				gathered += got
			}
		}
		most = max(most, gathered)
	}
	if most > visits*(limit+head) || most < visits*limit/2 {
		t.Errorf("all visits gathered %d bytes at most, want a little less than %d", most, visits*limit)
	}
	arrived := 0
	for i, v := range all {
		v.FlushPages()
		for _, m := range sent[i].messages {
			got, err := crawl.DecodePages(m)
			if err != nil || len(got) > 1 && len(m) > limit+head {
				t.Fatalf("a message of %d bytes with %d pages: %v", len(m), len(got), err)
			}
			for _, p := range got {
				if len(p.Body) != sizes[p.URL] {
					t.Errorf("%s arrived with %d bytes, want %d", p.URL, len(p.Body), sizes[p.URL])
				}
				arrived++
			}
		}
		v.buf.Tidy()
		if cap(v.buf.batch) > 2*maxBatch {
			t.Errorf("the buffers keep %d bytes for the next visit", cap(v.buf.batch))
		}
	}
	if arrived != visits*pages {
		t.Errorf("%d pages arrived, want %d", arrived, visits*pages)
	}
}

// Visits share buffers for compressed pages, but never while a page is in one that was not added to
// a batch yet, whatever is published before it.
func TestPackedPagesAreApart(t *testing.T) {
	met, err := metrics.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	sent := new(sink)
	visit := func() *Publisher {
		return New(Options{Sink: sent, Context: t.Context(), Shards: 1, Metrics: met, Log: slog.New(slog.DiscardHandler)}, new(Buffers))
	}
	a, b := visit(), visit()
	want := map[canon.URL]string{}
	pack := func(v *Publisher, i int) *crawl.Page {
		u := canon.URL(fmt.Sprintf("http://h.test/%d", i))
		want[u] = strings.Repeat(string(u), 1+i)
		p := &crawl.Page{URL: u, Status: 200}
		v.Pack(p, []byte(want[u]))
		return p
	}
	for i := range 20 {
		first := pack(a, 10*i)
		a.Page(&crawl.Page{URL: first.URL + "/capture", Status: 200}) // it has no body
		a.Page(&crawl.Page{URL: first.URL + "/own", Status: 200, Encoding: crawl.EncodingS2, Body: []byte{0}})
		second := pack(b, 10*i+1)
		a.Page(first)
		third := pack(a, 10*i+2)
		b.Page(second)
		a.Page(third)
		if a.buf.packed != nil || b.buf.packed != nil {
			t.Fatal("a visit keeps the buffer of a page that is in its batch")
		}
	}
	large := pack(a, 20_000)
	a.Page(large)
	a.FlushPages()
	b.FlushPages()
	arrived := 0
	for _, m := range sent.messages {
		pages, err := crawl.DecodePages(m)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range pages {
			if want[p.URL] == "" {
				continue
			}
			arrived++
			if got, err := s2.Decode(nil, p.Body); err != nil || string(got) != want[p.URL] {
				t.Errorf("%s arrived as %.40q, %v", p.URL, got, err)
			}
		}
	}
	if arrived != len(want) {
		t.Errorf("%d pages arrived, want %d", arrived, len(want))
	}
}
