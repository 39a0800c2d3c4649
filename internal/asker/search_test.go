package asker

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/indexer"
	"github.com/curtsy/curtsy/internal/indexer/assignment"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/internal/search"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/queue"
	"github.com/curtsy/curtsy/pkg/queue/embedded"
)

// indexed are the handlers of an indexer that has two shards, with twelve pages each.
func indexed(t *testing.T, shards []int, title string) ask.Handlers {
	t.Helper()
	dir := t.TempDir()
	for _, k := range shards {
		store, err := pages.Open(assignment.PagesFile(dir, k), pages.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var all []pages.Page
		for i := range 12 {
			p := pages.Page{Title: title, Lang: "en"}
			p.Body = fmt.Appendf(nil, "<html lang=en><title>%s</title><body><p>the numbat of shard%d, page%d", title, k, i)
			p.URL, p.Visit = canon.URL(fmt.Sprintf("https://h%d.example/%d", k, i)), crawl.VisitID{Epoch: 1, N: 1}
			p.Status, p.ContentType, p.Charset, p.Size, p.SHA256 = 200, "text/html", "utf-8", int64(len(p.Body)), sha256.Sum256(p.Body)
			all = append(all, p)
		}
		if _, err := store.Put(all); err != nil {
			t.Fatal(err)
		}
		index, err := search.Open(assignment.SearchFile(dir, k), store, search.Options{})
		for n := 1; n > 0 && err == nil; {
			n, err = index.Step(t.Context())
		}
		if err = errors.Join(err, index.Close(), store.Close()); err != nil {
			t.Fatal(err)
		}
	}
	r, err := indexer.OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r.Handlers("x")
}

// mortal makes connections that break when a message with some words comes: who has one is gone
// before it can say anything to that.
type mortal struct {
	server nats.InProcessConnProvider
	words  string
}

func (m mortal) InProcessConn() (net.Conn, error) {
	c, err := m.server.InProcessConn()
	return &mortalConn{Conn: c, words: m.words}, err
}

type mortalConn struct {
	net.Conn
	words, last string
}

func (c *mortalConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	seen := c.last + string(b[:n])
	if strings.Contains(seen, c.words) {
		c.Close()
		return 0, io.EOF
	}
	c.last = seen[max(0, len(seen)-len(c.words)):]
	return n, err
}

// dying is a crawl on a server that two indexers answer for: one has shards 0 and 1 and lives, the
// other has shards 2 and 3 and dies in a step of a search: when it is asked, or, between steps,
// before it can say that it was.
func dying(t *testing.T, s *embedded.Server, name string, lives, dies ask.Handlers, step search.Step, between bool) *Crawl {
	connect := func(server nats.InProcessConnProvider) *nats.Conn {
		nc, err := nats.Connect("", nats.InProcessServer(server), nats.NoReconnect())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(nc.Close)
		return nc
	}
	serve := func(nc *nats.Conn, instance string, shards []int, h ask.Handlers) {
		svc, err := ask.NewService(nc, crawl.Names(name), "indexer", instance, "1.0.0")
		if err == nil {
			err = svc.HandleAll(func() []int { return shards }, h)
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { svc.Stop() })
	}
	serve(connect(s.InProcess()), "lives", []int{0, 1}, lives)
	server := s.InProcess()
	if between {
		server = mortal{server, fmt.Sprintf(`"step":%q`, step)}
	}
	nc := connect(server)
	serve(nc, "dies", []int{2, 3}, ask.Handlers{"search": func(ctx context.Context, req []byte, send func(any) error) error {
		var r struct{ Step search.Step }
		if err := json.Unmarshal(req, &r); err != nil {
			return err
		}
		if r.Step == step {
			nc.Close()
			<-ctx.Done()
			return ctx.Err()
		}
		return dies["search"](ctx, req, send)
	}})
	return Running(&queue.Conn{NC: connect(s.InProcess())}, nil, crawl.Spec{Name: name, Shards: 4})
}

// An indexer that dies in any step of a search, or between two, costs its own hits only, also where
// those would have been the first; and the answer says which shards are missing.
func TestIndexerDiesDuringASearch(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		s, err := embedded.Start(embedded.Options{Dir: t.TempDir(), MaxStore: 1 << 30, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Shutdown)
		lives, dies := indexed(t, []int{0, 1}, "Of animals"), indexed(t, []int{2, 3}, "Numbat")
		for _, step := range []search.Step{"no", search.StepTerms, search.StepSimilar, search.StepWords, search.StepRank, search.StepShow} {
			for _, between := range []bool{false, true} {
				name := fmt.Sprintf("%s-%v", step, between)
				query := "numbat"
				if step == search.StepSimilar {
					query = "numbta"
				}
				r := crawl.SearchRequest{Query: query}
				if step == search.StepWords {
					r = crawl.SearchRequest{Like: "https://h0.example/3"}
				}
				a, err := dying(t, s, name, lives, dies, step, between).Search(t.Context(), r)
				on := map[string]int{}
				for _, h := range a.Hits {
					on[string(canon.URL(h.URL).Host())[:2]]++
				}
				if step == "no" {
					if err != nil || a.Incomplete || on["h2"]+on["h3"] != 10 || a.Total != 48 {
						t.Errorf("nobody dies: %d hits, on %v, %v", a.Total, on, err)
					}
					continue
				}
				if !errors.Is(err, ask.ErrIncomplete) || !a.Incomplete || !slices.Equal(a.Missing, []int{2, 3}) {
					t.Errorf("%s: missing %v, %v", name, a.Missing, err)
				}
				if on["h0"]+on["h1"] != 10 {
					t.Errorf("%s: %d hits, on %v", name, len(a.Hits), on)
				}
			}
		}
	})
}
