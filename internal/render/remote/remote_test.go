package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"go.uber.org/goleak"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/render"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/internal/simnet/broker"
	"github.com/curtsy/curtsy/pkg/queue/embedded"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a renderer made of a function.
type fake func(ctx context.Context, p *render.Page, fetch render.Fetch) (*render.Result, error)

func (f fake) Render(ctx context.Context, p *render.Page, fetch render.Fetch) (*render.Result, error) {
	return f(ctx, p, fetch)
}

// cluster is a NATS server with fetchers and renderers, each on a line of its own.
type cluster struct {
	t      *testing.T
	server *embedded.Server
}

// run runs a test in a bubble.
func run(t *testing.T, f func(t *testing.T, c *cluster)) {
	simnet.Test(t, func(t *testing.T) { f(t, &cluster{t, broker.Start(t)}) })
}

// fetcher returns the renderer that a fetcher uses, and its line.
func (c *cluster) fetcher(patience time.Duration) (render.Renderer, *broker.Line) {
	line := broker.NewLine(c.server)
	return New(line.Dial(c.t, c.server).NC, ClientOptions{Patience: patience}), line
}

// serve runs a renderer until stop is called or the test ends.
func (c *cluster) serve(slots int, r fake) (line *broker.Line, stop func()) {
	line = broker.NewLine(c.server)
	q := line.Dial(c.t, c.server)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- Serve(ctx, q.NC, r, Options{Slots: slots, Grace: 10 * time.Second, Log: slog.New(slog.DiscardHandler)})
	}()
	stopped := false
	stop = func() {
		if !stopped {
			stopped = true
			cancel()
			if err := <-done; err != nil {
				c.t.Error(err)
			}
		}
	}
	c.t.Cleanup(stop)
	synctest.Wait()
	return line, stop
}

// page is a page with everything that a page may have.
func page(body []byte) *render.Page {
	return &render.Page{
		URL: "https://a.example/p?q=ä", Status: 404, Header: http.Header{"Content-Type": {"text/html"}, "Link": {"<a>", "<b>"}}, Body: body,
		Time: time.Date(2026, 11, 30, 1, 2, 3, 4, time.UTC), UserAgent: "curtsy/1 (+me@example.org)", Load: []render.Kind{render.Image},
		Limits: render.Limits{Requests: 7, Bytes: 1 << 40, Own: time.Second, Work: 2 * time.Second, HTML: 3 << 20},
	}
}

func noRequests(render.Request) render.Response { panic("there is no request") }

// A page, its requests and its result arrive as they were sent.
func TestEverythingArrives(t *testing.T) {
	run(t, func(t *testing.T, c *cluster) {
		want := page([]byte("<p>"))
		request := render.Request{URL: "https://b.example/x.js", Method: "HEAD", Kind: render.Image, Accept: "*/*", Origin: "https://a.example"}
		response := render.Response{Status: 200, Header: http.Header{"X": {"1"}}, Body: []byte("1+1")}
		refused := render.Response{Refused: "robots.txt", Body: []byte{}}
		result := &render.Result{
			HTML: []byte("<p>2"), URL: "https://a.example/new", Links: []string{"https://a.example/l"}, Requests: 1, Bytes: 3, Own: time.Second, Cut: true,
			Omitted: 2, Omissions: []render.Omission{{URL: "https://c.example/", Why: "no"}},
		}
		c.serve(1, func(_ context.Context, p *render.Page, fetch render.Fetch) (*render.Result, error) {
			if !reflect.DeepEqual(p, want) {
				t.Errorf("the page arrives as %+v", p)
			}
			for _, w := range []render.Response{response, refused} {
				if got := fetch(request); !reflect.DeepEqual(got, w) {
					t.Errorf("a response arrives as %+v", got)
				}
			}
			return result, nil
		})
		r, _ := c.fetcher(0)
		n := 0
		got, err := r.Render(t.Context(), want, func(r render.Request) render.Response {
			if r != request {
				t.Errorf("a request arrives as %+v", r)
			}
			if n++; n == 1 {
				return response
			}
			return refused
		})
		if err != nil || !reflect.DeepEqual(got, result) {
			t.Errorf("the result arrives as %+v, %v", got, err)
		}
	})
}

// What went wrong arrives, too.
func TestFailures(t *testing.T) {
	run(t, func(t *testing.T, c *cluster) {
		fail := error(&render.Failed{Why: "endless"})
		c.serve(1, func(context.Context, *render.Page, render.Fetch) (*render.Result, error) { return nil, fail })
		r, _ := c.fetcher(0)
		_, err := r.Render(t.Context(), page(nil), noRequests)
		if failed := (*render.Failed)(nil); !errors.As(err, &failed) || failed.Why != "endless" || errors.Is(err, render.ErrUnavailable) {
			t.Errorf("a page that fails: %v", err)
		}
		fail = fmt.Errorf("%w: the browser does not start", render.ErrUnavailable)
		if _, err = r.Render(t.Context(), page(nil), noRequests); !errors.Is(err, render.ErrUnavailable) || !strings.Contains(err.Error(), "does not start") {
			t.Errorf("a renderer without a browser: %v", err)
		}
	})
}

// A renderer whose browser does not start gets few pages while there is another.
func TestABrokenRendererIsAvoided(t *testing.T) {
	run(t, func(t *testing.T, c *cluster) {
		broken := 0
		c.serve(4, func(context.Context, *render.Page, render.Fetch) (*render.Result, error) {
			broken++
			return nil, render.ErrUnavailable
		})
		c.serve(1, func(context.Context, *render.Page, render.Fetch) (*render.Result, error) {
			time.Sleep(100 * time.Millisecond)
			return new(render.Result), nil
		})
		r, _ := c.fetcher(0)
		rendered := 0
		for began := time.Now(); time.Since(began) < 5*time.Minute; {
			if _, err := r.Render(t.Context(), page(nil), noRequests); err == nil {
				rendered++
			}
		}
		if broken < 4 || broken > 70 || rendered < 2000 {
			t.Errorf("%d pages were rendered, and %d given to the broken renderer", rendered, broken)
		}
	})
}

// Bodies have any length up to the limit. Whatever is longer is the fault of the page.
func TestSizes(t *testing.T) {
	run(t, func(t *testing.T, c *cluster) {
		html := 0
		c.serve(1, func(_ context.Context, p *render.Page, fetch render.Fetch) (*render.Result, error) {
			res := fetch(render.Request{URL: "http://a.example/", Method: "GET", Kind: render.Data})
			links := []string{fmt.Sprint(len(p.Body)), fmt.Sprint(len(res.Body)), res.Refused}
			return &render.Result{HTML: bytes.Repeat([]byte("x"), html), Links: links}, nil
		})
		r, _ := c.fetcher(0)
		for _, n := range []int{0, 1, partBytes - 1, partBytes, partBytes + 1, maxBody} {
			body := bytes.Repeat([]byte("x"), n)
			html = n
			got, err := r.Render(t.Context(), page(body), func(render.Request) render.Response { return render.Response{Body: body} })
			if err != nil || len(got.HTML) != n || got.Links[0] != fmt.Sprint(n) || got.Links[1] != fmt.Sprint(n) {
				t.Fatalf("%d bytes: %v", n, err)
			}
		}
		body := make([]byte, maxBody+1)
		failed := (*render.Failed)(nil)
		html = 0
		if _, err := r.Render(t.Context(), page(body), noRequests); !errors.As(err, &failed) {
			t.Errorf("a page that is too long: %v", err)
		}
		got, err := r.Render(t.Context(), page(nil), func(render.Request) render.Response { return render.Response{Body: body} })
		if err != nil || !strings.Contains(got.Links[2], "too large") {
			t.Errorf("a response that is too long: %+v, %v", got, err)
		}
		html = maxBody + 1
		if _, err := r.Render(t.Context(), page(nil), func(render.Request) render.Response { return render.Response{} }); !errors.As(err, &failed) {
			t.Errorf("a result that is too long: %v", err)
		}
		p := page(nil)
		p.Header.Set("X", strings.Repeat("x", maxHead))
		if _, err := r.Render(t.Context(), p, noRequests); !errors.As(err, &failed) {
			t.Errorf("a page with a long header: %v", err)
		}
	})
}

// Of the links of a page with millions of them, as many arrive as fit.
func TestManyLinks(t *testing.T) {
	run(t, func(t *testing.T, c *cluster) {
		c.serve(1, func(context.Context, *render.Page, render.Fetch) (*render.Result, error) {
			return &render.Result{Links: make([]string, maxHead)}, nil // each is "",
		})
		r, _ := c.fetcher(0)
		if got, err := r.Render(t.Context(), page(nil), noRequests); err != nil || len(got.Links) != maxHead/4 {
			t.Errorf("%v", err)
		}
	})
}

// A renderer that was taken over by a page asks for what no page may ask for.
func TestRequestsAreChecked(t *testing.T) {
	run(t, func(t *testing.T, c *cluster) {
		good := render.Request{URL: "https://a.example/", Method: "GET", Kind: render.Script}
		bad := map[string]func(*render.Request){
			"method":    func(r *render.Request) { r.Method = "POST" },
			"kind":      func(r *render.Request) { r.Kind = render.Media },
			"URL":       func(r *render.Request) { r.URL = "file:///etc/passwd" },
			"long":      func(r *render.Request) { r.URL += strings.Repeat("x", maxURL) },
			"malformed": func(r *render.Request) { r.Accept = "a\r\nCookie: b" },
			"fields":    func(r *render.Request) { r.Origin = strings.Repeat("x", maxText+1) },
		}
		c.serve(1, func(_ context.Context, _ *render.Page, fetch render.Fetch) (*render.Result, error) {
			for what, change := range bad {
				r := good
				change(&r)
				if refused := fetch(r).Refused; !strings.Contains(refused, what) && refused == "" {
					t.Errorf("%s: %q", what, refused)
				}
			}
			for i := range 9 {
				if refused := fetch(good).Refused; (refused != "") != (i >= 7) {
					t.Errorf("request %d: %q", i, refused)
				}
			}
			return new(render.Result), nil
		})
		r, _ := c.fetcher(0)
		n := 0
		if _, err := r.Render(t.Context(), page(nil), func(r render.Request) render.Response {
			n++
			if r != good {
				t.Errorf("%+v is passed on", r)
			}
			return render.Response{}
		}); err != nil || n != 7 {
			t.Errorf("%d requests, %v", n, err)
		}
	})
}

// A session lasts as long as politeness takes, and the slot is in use meanwhile.
func TestSlowFetch(t *testing.T) {
	run(t, func(t *testing.T, c *cluster) {
		c.serve(1, func(_ context.Context, _ *render.Page, fetch render.Fetch) (*render.Result, error) {
			return &render.Result{HTML: fetch(render.Request{URL: "http://a.example/", Method: "GET", Kind: render.Data}).Body}, nil
		})
		r, _ := c.fetcher(0)
		began := time.Now()
		got, err := r.Render(t.Context(), page(nil), func(render.Request) render.Response {
			time.Sleep(5 * time.Minute)
			return render.Response{Body: []byte("late")}
		})
		if err != nil || string(got.HTML) != "late" || time.Since(began) != 5*time.Minute {
			t.Errorf("%+v, %v after %v", got, err, time.Since(began))
		}
	})
}

// While all slots are in use a page waits, and no renderer has more pages than slots. Two renderers
// share the pages.
func TestBusy(t *testing.T) {
	run(t, func(t *testing.T, c *cluster) {
		var counts, running [2]atomic.Int64
		for i := range counts {
			c.serve(2, func(context.Context, *render.Page, render.Fetch) (*render.Result, error) {
				if counts[i].Add(1); running[i].Add(1) > 2 {
					t.Error("a renderer has more pages than slots")
				}
				time.Sleep(time.Second)
				running[i].Add(-1)
				return new(render.Result), nil
			})
		}
		r, _ := c.fetcher(time.Hour)
		done := make(chan error)
		const pages = 80
		began := time.Now()
		for range pages {
			go func() {
				_, err := r.Render(t.Context(), page(nil), noRequests)
				done <- err
			}()
		}
		for range pages {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		// Four slots need 20 s. A page asks once a second, so a slot is free for less than that.
		if took := time.Since(began); took > 40*time.Second || counts[0].Load() < pages/4 || counts[1].Load() < pages/4 {
			t.Errorf("%d and %d pages in %v", counts[0].Load(), counts[1].Load(), took)
		}
	})
}

// Without a renderer a page waits for a while, and no longer than its context.
func TestNobody(t *testing.T) {
	run(t, func(t *testing.T, c *cluster) {
		r, _ := c.fetcher(time.Minute)
		began := time.Now()
		if _, err := r.Render(t.Context(), page(nil), noRequests); !errors.Is(err, render.ErrUnavailable) || time.Since(began) < time.Minute || time.Since(began) > 62*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		began = time.Now()
		if _, err := r.Render(ctx, page(nil), noRequests); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > 10*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		go func() {
			time.Sleep(30 * time.Second)
			c.serve(1, func(context.Context, *render.Page, render.Fetch) (*render.Result, error) {
				return new(render.Result), nil
			})
		}()
		if _, err := r.Render(t.Context(), page(nil), noRequests); err != nil {
			t.Errorf("a renderer that comes later: %v", err)
		}
	})
}

// endless is a renderer that works until its context ends.
type endless struct {
	began, ended chan struct{}
}

func newEndless() *endless { return &endless{make(chan struct{}, 9), make(chan struct{}, 9)} }

func (e *endless) Render(ctx context.Context, _ *render.Page, _ render.Fetch) (*render.Result, error) {
	e.began <- struct{}{}
	<-ctx.Done()
	e.ended <- struct{}{}
	return nil, ctx.Err()
}

// Whoever is killed, or cut off from NATS, leaves the other side free.
func TestKilled(t *testing.T) {
	for _, who := range []string{"renderer", "fetcher", "context", "stopped", "server"} {
		t.Run(who, func(t *testing.T) {
			run(t, func(t *testing.T, c *cluster) {
				e := newEndless()
				far, stop := c.serve(1, e.Render)
				r, near := c.fetcher(time.Minute)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				result := make(chan error, 1)
				go func() {
					_, err := r.Render(ctx, page(nil), noRequests)
					result <- err
				}()
				<-e.began
				began := time.Now()
				want, within := render.ErrUnavailable, 15*time.Second
				switch who {
				case "renderer":
					far.Cut(true)
					want = render.ErrLost
				case "fetcher":
					near.Cut(true)
				case "context":
					cancel()
					want, within = context.Canceled, 0
				case "stopped":
					stop()
				case "server": // it is away for 20 s
					far.Cut(true)
					near.Cut(true)
					time.AfterFunc(20*time.Second, func() { far.Cut(false); near.Cut(false) })
				}
				if err := <-result; !errors.Is(err, want) || time.Since(began) > within {
					t.Errorf("Render = %v after %v", err, time.Since(began))
				}
				<-e.ended
				if took := time.Since(began); took > within {
					t.Errorf("the renderer works for %v longer", took)
				}
				// The page is rendered again, by another renderer or for another fetcher.
				switch who {
				case "renderer", "stopped":
					c.serve(1, e.Render)
				case "fetcher":
					r, _ = c.fetcher(time.Minute)
				}
				ctx, cancel = context.WithCancel(t.Context())
				defer cancel()
				go func() {
					_, err := r.Render(ctx, page(nil), noRequests)
					result <- err
				}()
				<-e.began
				cancel()
				<-result
			})
		})
	}
}

// A renderer that is stopped finishes its pages, and takes no new ones.
func TestStop(t *testing.T) {
	run(t, func(t *testing.T, c *cluster) {
		began := make(chan struct{}, 1)
		_, stop := c.serve(2, func(context.Context, *render.Page, render.Fetch) (*render.Result, error) {
			began <- struct{}{}
			time.Sleep(5 * time.Second)
			return new(render.Result), nil
		})
		r, _ := c.fetcher(time.Second)
		result := make(chan error, 1)
		go func() {
			_, err := r.Render(t.Context(), page(nil), noRequests)
			result <- err
		}()
		<-began
		over := make(chan struct{})
		go func() { stop(); close(over) }()
		synctest.Wait()
		if _, err := r.Render(t.Context(), page(nil), noRequests); !errors.Is(err, render.ErrUnavailable) {
			t.Errorf("a page after the end: %v", err)
		}
		if err := <-result; err != nil {
			t.Errorf("a page that was running: %v", err)
		}
		<-over
	})
}

// Neither side goes on after what the other must not send, and both are usable afterwards.
func TestMisbehaviour(t *testing.T) {
	run(t, func(t *testing.T, c *cluster) {
		entered := 0
		c.serve(1, func(context.Context, *render.Page, render.Fetch) (*render.Result, error) {
			entered++
			return new(render.Result), nil
		})
		nc := broker.Dial(t, c.server).NC
		whole, err := message{Page: page(nil)}.encode()
		if err != nil {
			t.Fatal(err)
		}
		other, err := message{Request: &render.Request{URL: "http://a.example/"}}.encode()
		if err != nil {
			t.Fatal(err)
		}
		for what, frames := range map[string][][]byte{
			"another version": {{version + 1, part | last}},
			"garbage":         {frame{flags: part | last, sent: 1, payload: []byte("garbage")}.append(nil)},
			"no frame":        {{version}},
			"a flag":          {{version, 0xff, 0, 0, 0, 1, 0, 0, 0, 0}},
			"a gap":           {frame{flags: part | last, sent: 2, payload: whole}.append(nil)},
			"a lost part":     {frame{sent: 1}.append(nil)},
			"acknowledgement": {frame{got: 1}.append(nil)},
			"no page":         {frame{flags: part | last, sent: 1, payload: other}.append(nil)},
			"an early end":    {frame{flags: ends}.append(nil)},
		} {
			s := open(t, nc)
			s.mu.Lock()
			s.sent = 9 // so the acknowledgements of these frames are in order
			s.mu.Unlock()
			for _, f := range frames {
				if err := nc.PublishRequest(s.peer, s.sub.Subject, f); err != nil {
					t.Fatal(err)
				}
			}
			<-s.ctx.Done()
			if cause := context.Cause(s.ctx); !errors.Is(cause, errLeft) || time.Since(s.heard) > 0 || entered > 0 {
				t.Errorf("%s: the session ends with %v", what, cause)
			}
			s.close("")
		}
		// One that sends no page keeps a slot for a minute, and a stranger disturbs no session.
		s := open(t, nc)
		began := time.Now()
		if err := nc.PublishRequest(s.peer, "another.inbox", frame{flags: ends}.append(nil)); err != nil {
			t.Fatal(err)
		}
		<-s.ctx.Done()
		if took := time.Since(began); took != pageWithin {
			t.Errorf("a session without a page lasts for %v", took)
		}
		s.close("")
		// A newer fetcher is refused with a reason, when the slot is offered again.
		synctest.Wait()
		sub, err := nc.SubscribeSync(nc.NewInbox())
		if err != nil {
			t.Fatal(err)
		}
		if err := nc.PublishRequest(crawl.RenderSubject, sub.Subject, []byte{version + 1, opens}); err != nil {
			t.Fatal(err)
		}
		m, err := sub.NextMsg(time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if f, err := parseFrame(m.Data); err != nil || f.flags != ends || !strings.Contains(string(f.payload), "version 2") {
			t.Errorf("%+v, %v", f, err)
		}
		r, _ := c.fetcher(0)
		if _, err := r.Render(t.Context(), page(nil), noRequests); err != nil || entered != 1 {
			t.Errorf("afterwards: %v", err)
		}
	})
}

// open begins a session as a fetcher does.
func open(t *testing.T, nc *nats.Conn) *session {
	t.Helper()
	s, err := (&client{nc, time.Minute}).open(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A renderer with a newer version is reported as such.
func TestNewerRenderer(t *testing.T) {
	run(t, func(t *testing.T, c *cluster) {
		nc := broker.Dial(t, c.server).NC
		if _, err := nc.Subscribe(crawl.RenderSubject, func(m *nats.Msg) { m.Respond([]byte{version + 1}) }); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		r, _ := c.fetcher(time.Minute)
		if _, err := r.Render(t.Context(), page(nil), noRequests); !errors.Is(err, render.ErrUnavailable) || !strings.Contains(err.Error(), "version 2") {
			t.Error(err)
		}
	})
}

// A sender is never more than a window ahead of a receiver, and a long message cannot exhaust the
// memory of a receiver.
func TestFlow(t *testing.T) {
	run(t, func(t *testing.T, c *cluster) {
		nc := broker.Dial(t, c.server).NC
		s, err := newSession(t.Context(), nc, "nobody.acknowledges")
		if err != nil {
			t.Fatal(err)
		}
		defer s.close("")
		if _, err := nc.Subscribe(s.peer, func(*nats.Msg) {}); err != nil {
			t.Fatal(err)
		}
		go s.send(make([]byte, 10*partBytes))
		synctest.Wait()
		if s.mu.Lock(); s.sent != window {
			t.Errorf("%d parts are in flight", s.sent)
		}
		s.mu.Unlock()

		s.mu.Lock()
		defer s.mu.Unlock()
		most := 4 + maxHead + maxBody
		s.some = make([]byte, most-1)
		if err := s.apply(frame{flags: part, sent: 1, payload: []byte("x")}); err != nil {
			t.Errorf("at the limit: %v", err)
		}
		if err := s.apply(frame{flags: part, sent: 2, payload: []byte("x")}); !errors.Is(err, errTooLarge) {
			t.Errorf("past the limit: %v", err)
		}
		s.some = nil
		if err := s.apply(frame{flags: part | last, sent: 3}); err != nil {
			t.Error(err)
		}
		if err := s.apply(frame{flags: part | last, sent: 4}); err != errOrder {
			t.Errorf("a second message before the first is read: %v", err)
		}
	})
}
