package publish

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/metrics"
	"github.com/curtsy/curtsy/internal/scope"
	"github.com/curtsy/curtsy/pkg/canon"
)

// linkSink counts the links in the events that it gets.
type linkSink struct {
	sink
	mu             sync.Mutex // guards what follows
	links, largest int
}

func (s *linkSink) AppendEvent(_ context.Context, _ int, data []byte) error {
	ev, err := crawl.DecodeEvent(data)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range ev.Links {
		s.links += len(l.URLs)
	}
	s.largest = max(s.largest, len(data))
	return err
}

// Links wait for the next report of a visit up to a limit. Beyond it they are published at once, in
// messages of a limited size, and the lists that grew for them are not kept.
func TestGatheredLinks(t *testing.T) {
	met, err := metrics.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	in, err := scope.New(scope.Spec{Kind: "any"})
	if err != nil {
		t.Fatal(err)
	}
	const shards = 4
	host := func(i int) string { return fmt.Sprintf("http://h%d.test/", i%97) }
	for _, past := range []int{0, 1} {
		out := new(linkSink)
		p := New(Options{Sink: out, Context: t.Context(), Shards: shards, Scope: in, Metrics: met, Log: slog.New(slog.DiscardHandler)}, new(Buffers))
		var links []canon.URL
		left := maxLinks - shards*(len("http://h.test/")+linkOverhead)
		for i := 0; left > 200; i++ {
			links = append(links, canon.URL(fmt.Sprintf("%s%05d%s", host(i), i, strings.Repeat("l", 64))))
			left -= len(links[i]) + linkOverhead
		}
		short := canon.URL("http://h1.test/")
		links = append(links, short+canon.URL(strings.Repeat("x", left-len(short)-linkOverhead+past)))
		p.Links("http://h.test/", 1, 0, links)
		if want := past * len(links); out.links != want || past == 0 && p.buf.links.bytes != maxLinks {
			t.Errorf("%d of %d links were published, and %d bytes wait of at most %d", out.links, len(links), p.buf.links.bytes, maxLinks)
		}
		p.Report(true, func() Progress { return Progress{} })
		if out.links != len(links) || out.largest > maxLinks+LinksMessage {
			t.Errorf("%d of %d links were published, in messages of at most %d bytes", out.links, len(links), out.largest)
		}
		for i := range p.buf.links.shards {
			s := &p.buf.links.shards[i]
			if cap(s.links) > keepLinks {
				t.Errorf("a list of %d groups is kept", cap(s.links))
			}
			for _, l := range s.links[:cap(s.links)] {
				if cap(l.URLs) > keepLinks {
					t.Errorf("a list of %d links is kept", cap(l.URLs))
				}
			}
		}
	}
}
