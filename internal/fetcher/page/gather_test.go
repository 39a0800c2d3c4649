package page

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/document"
	"github.com/curtsy/curtsy/internal/document/documenttest"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/internal/fetcher/wiretest"
	"github.com/curtsy/curtsy/internal/htmlscan"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/pkg/canon"
)

// slowSink is a log that stores an event ten seconds after it came.
type slowSink struct {
	shelf
	mu     sync.Mutex // guards the fields below
	now    int64      // memory of the links in the events that are being stored
	most   int64      // the most that it was
	events int
	links  int
}

func (s *slowSink) AppendEvent(_ context.Context, _ int, data []byte) error {
	ev, err := crawl.DecodeEvent(data)
	if err != nil {
		s.t.Error(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n := int64(0)
	for _, l := range ev.Links {
		n += memoryOf(l.URLs)
		s.links += len(l.URLs)
	}
	s.events++
	s.now += n
	s.most = max(s.most, s.now)
	s.mu.Unlock()
	time.Sleep(10 * time.Second)
	s.mu.Lock()
	s.now -= n
	return nil
}

// linksOrigin serves pages with as many links as their path says.
func linksOrigin(t *testing.T) (addr string) {
	return wiretest.HTTP(t, simnet.Of(t), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.Atoi(r.URL.Path[1:])
		if err != nil {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "<a href=/%016x>x</a>\n", i)
		}
		io.WriteString(w, b.String())
	})).Listener.Addr().String()
}

func fetch(t *testing.T, p *Pages, url string) {
	t.Helper()
	if r := p.Fetch(&crawl.VisitURL{URL: canon.URL(url)}); r.Class != crawl.Stored {
		t.Errorf("%s: %+v", url, r)
	}
}

// Many visits find pages of 10,000 links at the same time, and their events are stored slowly. What
// they gather is never more than the memory for it. All of them are published in the end, all
// memory is returned, and no visit keeps tables beyond the ordinary size.
func TestGatheredLinksAreBounded(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		const visits, memory = 24, 256 << 20
		addr := linksOrigin(t)
		client := wire.NewClient(wire.Options{Dial: simnet.Of(t).Dial, PageMemory: memory})
		t.Cleanup(client.Close)
		sink := &slowSink{shelf: shelf{t: t}}
		var wg sync.WaitGroup
		for i := range visits {
			p := newPagesOf(t, client, canon.Host(fmt.Sprintf("h%d.test", i)), sink, addr)
			wg.Go(func() {
				for range 2 {
					fetch(t, p, fmt.Sprintf("http://h%d.test/%d", i, htmlscan.MaxLinks))
				}
				// What the publisher has now is published with the outcome.
				p.Requests.Session.Release()
			})
		}
		wg.Wait()
		if sink.links != visits*htmlscan.MaxLinks*2 { // again, because it is too much to remember
			t.Errorf("%d links were published, not %d", sink.links, visits*htmlscan.MaxLinks*2)
		}
		if sink.most > memory/8 || sink.most < memory/32 {
			t.Errorf("%d MiB of links were in memory at the same time, and there are %d MiB for them", sink.most>>20, memory/8>>20)
		}
		if !client.MemoryUnused() {
			t.Error("some memory was not returned")
		}
	})
}

// A page of ordinary size needs none of the memory for what pages gather. One with a link more
// waits for it.
func TestOrdinaryPagesGatherAtOnce(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		addr := linksOrigin(t)
		client := wire.NewClient(wire.Options{Dial: simnet.Of(t).Dial})
		t.Cleanup(client.Close)
		other := newPagesOf(t, client, "other.test", &shelf{t: t}, addr)
		for links, waits := range map[int]bool{htmlscan.OrdinaryLinks: false, htmlscan.OrdinaryLinks + 1: true} {
			if err := other.Requests.Session.Memory.Gather(1 << 40); err != nil {
				t.Fatal(err)
			}
			sink := &shelf{t: t}
			p := newPagesOf(t, client, host, sink, addr)
			returned := make(chan struct{})
			time.AfterFunc(time.Minute, func() {
				other.Requests.Session.Memory.Gathered(0)
				close(returned)
			})
			start := time.Now()
			fetch(t, p, fmt.Sprintf("http://h.test/%d", links))
			if waited := time.Since(start) >= time.Minute; waited != waits {
				t.Errorf("%d links: waited %v", links, waited)
			}
			p.Publisher.FlushPages()
			if len(sink.pages) != 1 {
				t.Errorf("%d links: %d pages", links, len(sink.pages))
			}
			<-returned
		}
	})
}

// A visit that ends while it waits for memory returns its page, which is fetched again.
func TestVisitEndsBeforeItGathers(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		addr := linksOrigin(t)
		client := wire.NewClient(wire.Options{Dial: simnet.Of(t).Dial})
		t.Cleanup(client.Close)
		other := newPagesOf(t, client, "other.test", &shelf{t: t}, addr)
		if err := other.Requests.Session.Memory.Gather(1 << 40); err != nil {
			t.Fatal(err)
		}
		sink := &shelf{t: t}
		p := newPagesOf(t, client, host, sink, addr)
		time.AfterFunc(time.Minute, p.Requests.Session.Lease.End)
		r := p.Fetch(&crawl.VisitURL{URL: "http://h.test/9999"})
		if p.Publisher.FlushPages(); r.Class != crawl.Returned || len(sink.pages) != 0 {
			t.Errorf("%+v, %d pages", r, len(sink.pages))
		}
	})
}

// A short document with a long text waits for memory for its text, and a short one with a short
// text does not.
func TestLongTextOfDocument(t *testing.T) {
	for text, waits := range map[string]bool{"short": false, strings.Repeat("A long text. ", 30_000): true} {
		simnet.Test(t, func(t *testing.T) {
			body := documenttest.Content{Title: "T", Text: text}.ODT()
			addr := wiretest.HTTP(t, simnet.Of(t), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", document.ODT)
				_, _ = w.Write(body)
			})).Listener.Addr().String()
			client := wire.NewClient(wire.Options{Dial: simnet.Of(t).Dial})
			t.Cleanup(client.Close)
			other := newPagesOf(t, client, "other.test", &shelf{t: t}, addr)
			if err := other.Requests.Session.Memory.Gather(1 << 40); err != nil {
				t.Fatal(err)
			}
			p := newPagesOf(t, client, host, &shelf{t: t}, addr)
			start := time.Now()
			returned := make(chan struct{})
			time.AfterFunc(time.Minute, func() {
				other.Requests.Session.Memory.Gathered(0)
				close(returned)
			})
			u := &crawl.VisitURL{URL: "http://h.test/a.odt"}
			var r crawl.Result
			p.keepDocument(u, &wire.Answer{Status: 200, Header: http.Header{}, Body: body}, document.ODT, &r)
			if waited := time.Since(start) >= time.Minute; r.Class != crawl.Stored || waited != waits {
				t.Errorf("a text of %d bytes: %+v, waited %v", len(text), r, waited)
			}
			<-returned
			if !client.MemoryUnused() {
				t.Error("some memory was not returned")
			}
		})
	}
}
