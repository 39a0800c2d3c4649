package elastic_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/feed"
	"github.com/curtsy/curtsy/internal/feed/elastic/elastictest"
	"github.com/curtsy/curtsy/internal/feed/feedtest"
	"github.com/curtsy/curtsy/internal/simnet"
)

// pages are changes of pages with so many bytes of text each.
func pages(n, bytes int) (list []feed.Change) {
	for i := range n {
		c := feedtest.Page(fmt.Sprintf("https://example.org/%d", i), int64(i+1))
		c.Row.Text = strings.Repeat("x", bytes)
		list = append(list, c)
	}
	return list
}

// Items that a busy server rejects are sent again, and only they.
func TestBusyItems(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		seen := map[string]int{}
		busy := feedtest.Page(b, 0).ID
		server := elastictest.Start(t, simnet.Of(t).Listen, elastictest.Config{Bulk: func(n int) elastictest.Fault {
			return elastictest.Fault{Item: func(id string) int {
				if seen[id]++; id == busy && seen[id] <= 3 {
					return []int{429, 503, 500}[seen[id]-1]
				}
				return 0
			}}
		}})
		s := open(t, server, "", "")
		prepare(t, s)
		begin := time.Now()
		write(t, s, feedtest.Page(a, 1), feedtest.Page(b, 2))
		if len(server.Docs("pages")) != 2 || seen[busy] != 4 || seen[feedtest.Page(a, 0).ID] != 1 {
			t.Errorf("%d documents, %v", len(server.Docs("pages")), seen)
		}
		if waited := time.Since(begin); waited != 3500*time.Millisecond { // 0.5, 1 and 2 s
			t.Errorf("waited %v", waited)
		}
	})
}

// A server that stays busy is an error after some tries, and not a permanent one. It says how long
// to wait.
func TestBusyServer(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		server := elastictest.Start(t, simnet.Of(t).Listen, elastictest.Config{Bulk: func(n int) elastictest.Fault {
			return elastictest.Fault{Status: 429 + n%2*(503-429), RetryAfter: "7"}
		}})
		s := open(t, server, "", "")
		prepare(t, s)
		begin := time.Now()
		_, err := s.Write(t.Context(), batch(feedtest.Page(a, 1)))
		if err == nil || permanent(err) || !strings.Contains(err.Error(), "tried 6 times") {
			t.Errorf("%v", err)
		}
		// Its own waits are 0.5, 1, 2, 4 and 8 s.
		if waited := time.Since(begin); waited != 7*4*time.Second+8*time.Second {
			t.Errorf("waited %v", waited)
		}
	})
}

// A document that does not fit its mapping is refused with the server's reason, one that is too
// long with its size, and the others are stored.
func TestRefused(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		server := elastictest.Start(t, simnet.Of(t).Listen, elastictest.Config{})
		if err := server.MakeIndex("pages", `{"properties": {"title": {"type": "double"}}}`); err != nil {
			t.Fatal(err)
		}
		s := open(t, server, "?part=64KiB", "")
		prepare(t, s)
		list := pages(4, 100)
		for i := range list {
			list[i].Row.Title = "4.5"
		}
		list[1].Row.Title = "Chapter 4"
		list[2].Row.Text = strings.Repeat("x", 64<<10)
		refused, err := s.Write(t.Context(), batch(list...))
		if err != nil || len(refused) != 2 || len(server.Docs("pages")) != 2 {
			t.Fatalf("%v, %v, %d documents", refused, err, len(server.Docs("pages")))
		}
		reasons := map[string]string{}
		for _, r := range refused {
			reasons[r.Change.ID] = r.Reason
		}
		if got := reasons[list[1].ID]; !strings.Contains(got, "document_parsing_exception") || !strings.Contains(got, "[title]") || !strings.Contains(got, "number_format_exception") {
			t.Errorf("%s", got)
		}
		if got := reasons[list[2].ID]; !strings.Contains(got, "may have 64 KiB") {
			t.Errorf("%s", got)
		}
	})
}

// A document of exactly the limit is sent.
func TestLimitOfPart(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		server := elastictest.Start(t, simnet.Of(t).Listen, elastictest.Config{})
		s := open(t, server, "?part=64KiB", "")
		prepare(t, s)
		list := pages(1, 100)
		write(t, s, list...)
		list[0].Row.Text += strings.Repeat("x", 64<<10-int(server.Largest()))
		write(t, s, list...)
		if got := server.Largest(); got != 64<<10 {
			t.Errorf("%d bytes", got)
		}
		list[0].Row.Text += "x"
		if refused, err := s.Write(t.Context(), batch(list...)); err != nil || len(refused) != 1 {
			t.Errorf("%v, %v", refused, err)
		}
		write(t, s, pages(50, 10<<10)...)
		if got := server.Largest(); got > 64<<10 || len(server.Docs("pages")) != 50 {
			t.Errorf("%d bytes, %d documents", got, len(server.Docs("pages")))
		}
	})
}

// Where a server takes less than the limit, parts are halved until they fit, and later ones are
// smaller from the beginning. A single document that does not fit is refused.
func TestTooLarge(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		server := elastictest.Start(t, simnet.Of(t).Listen, elastictest.Config{MaxContentLength: 200 << 10})
		s := open(t, server, "", "")
		prepare(t, s)
		list := append(pages(50, 10<<10), pages(51, 210<<10)[50])
		refused, err := s.Write(t.Context(), batch(list...))
		if err != nil || len(refused) != 1 || refused[0].Change.ID != list[50].ID || !strings.Contains(refused[0].Reason, "http.max_content_length") {
			t.Fatalf("%v, %v", refused, err)
		}
		if got := len(server.Docs("pages")); got != 50 {
			t.Errorf("%d documents", got)
		}
		before := len(server.Requests())
		write(t, s, pages(50, 10<<10)...)
		later := server.Requests()[before:]
		if len(later) < 3 || len(later) > 9 || server.Largest() > 200<<10 {
			t.Errorf("%d requests, the largest has %d bytes", len(later), server.Largest())
		}
	})
}

// Sweep deletes what is left of earlier generations of one shard of one crawl, also what was
// written a moment before. It may run twice.
func TestSweep(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		server := elastictest.Start(t, simnet.Of(t).Listen, elastictest.Config{})
		s := open(t, server, "", "")
		prepare(t, s)
		for i, b := range []feed.Batch{
			{Crawl: "docs", Shard: 1, Generation: 1}, // deleted
			{Crawl: "docs", Shard: 1, Generation: 2},
			{Crawl: "docs", Shard: 2, Generation: 1},
			{Crawl: "news", Shard: 1, Generation: 1},
		} {
			b.Changes = []feed.Change{feedtest.Page(fmt.Sprintf("https://example.org/%d", i), 1)}
			if refused, err := s.Write(t.Context(), b); err != nil || len(refused) > 0 {
				t.Fatal(refused, err)
			}
		}
		for range 2 {
			if err := s.Sweep(t.Context(), "docs", 1, 2); err != nil {
				t.Fatal(err)
			}
			if docs := server.Docs("pages"); len(docs) != 3 || docs[feedtest.Page("https://example.org/0", 1).ID].Version != 0 {
				t.Errorf("%d documents are left", len(docs))
			}
		}
	})
}

// A server that dies within requests and a writer that is killed at any time, for random histories
// of pages: at the end the server has exactly the pages that are stored.
func TestKilled(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			simnet.Test(t, func(t *testing.T) {
				net := simnet.New(simnet.Options{Seed: seed, Latency: 2 * time.Millisecond, Jitter: 8 * time.Millisecond})
				deaths := 0
				server := elastictest.Start(t, net.Listen, elastictest.Config{Bulk: func(n int) elastictest.Fault {
					if n%3 == 0 && deaths < 20 {
						deaths++
						return elastictest.Fault{Die: true, Items: n % 17}
					}
					return elastictest.Fault{}
				}})
				h := feedtest.Random(seed, 3, 300)
				again, err := feedtest.Writer{
					Open:  func() (feed.Sink, error) { return openOn(net, server, "", "") },
					Seed:  seed,
					Alive: 150 * time.Millisecond,
					Pause: func(seconds int) { time.Sleep(time.Duration(seconds) * time.Second) },
				}.Run(t.Context(), h)
				if err != nil {
					t.Fatal(err)
				}
				if deaths != 20 || again < 30 {
					t.Errorf("the server died %d times, and %d batches were sent again", deaths, again)
				}
				compare(t, server, h)
			})
		})
	}
}

func compare(t *testing.T, server *elastictest.Server, h feedtest.History) {
	t.Helper()
	want, docs := h.Want(), server.Docs("pages")
	if len(docs) != len(want) {
		t.Errorf("%d documents, want %d", len(docs), len(want))
	}
	for id, c := range want {
		if d := docs[id]; d.Version != c.Version || !strings.Contains(string(d.Source), fmt.Sprintf(`"text":"Version %d of`, c.Version)) {
			t.Errorf("%s has version %d, want %d", c.Row.URL, docs[id].Version, c.Version)
		}
	}
}

func permanent(err error) bool {
	var p *feed.Permanent
	return errors.As(err, &p)
}
