package wellknown

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/metrics"
	"github.com/curtsy/curtsy/internal/fetcher/publish"
	"github.com/curtsy/curtsy/internal/fetcher/requests"
	"github.com/curtsy/curtsy/internal/fetcher/robots"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/internal/fetcher/wiretest"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/pkg/boottime"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/usage"
)

const host = "h.test"

var origin = canon.URL("http://h.test/").Origin()

// read is how a file was read.
type read struct {
	answer crawl.Answer
	done   bool
	links  []crawl.Links      // that were published
	aux    []crawl.AuxRequest // that were published
	paths  string             // that were requested, in order, with a space between
}

// recorder is a sink that keeps what events contain.
type recorder struct {
	t     *testing.T
	links []crawl.Links
	aux   []crawl.AuxRequest
}

func (r *recorder) AppendEvent(_ context.Context, _ int, event []byte) error {
	ev, err := crawl.DecodeEvent(bytes.Clone(event))
	if err != nil {
		r.t.Error(err)
	}
	r.links, r.aux = append(r.links, ev.Links...), append(r.aux, ev.Aux...)
	return nil
}

func (r *recorder) SendPages(context.Context, int, []byte) (bool, error) { return false, nil }

// fetch reads the file of an auxiliary request from an origin that has this robots.txt, and whose
// other answers come from h.
func fetch(t *testing.T, aux crawl.AuxRequest, robotsTxt string, h http.HandlerFunc) (got read) {
	t.Helper()
	var mu sync.Mutex
	var paths []string
	srv := wiretest.HTTP(t, simnet.Of(t), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		paths = append(paths, r.URL.Path)
		mu.Unlock()
		if r.URL.Path == robots.Path {
			io.WriteString(w, robotsTxt)
		} else {
			h(w, r)
		}
	}))
	sink := &recorder{t: t}
	files, end := newFiles(t, sink, srv.Listener.Addr().String())
	got.done = files.Read(&aux, &got.answer)
	end()
	mu.Lock()
	defer mu.Unlock()
	got.links, got.aux, got.paths = sink.links, sink.aux, strings.Join(paths, " ")
	return got
}

// newFiles makes what fetches the files of a visit to host, which is at addr. end ends the visit.
func newFiles(t *testing.T, sink publish.Sink, addr string) (f *Files, end func()) {
	t.Helper()
	cfg, err := requests.NewConfig(crawl.Spec{Name: "t", Shards: 1, Scope: "any", MaxDepth: -1, Agent: "curtsy", AllowPrivate: true, Resolve: []string{"*=" + addr}})
	if err != nil {
		t.Fatal(err)
	}
	met, err := metrics.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := wire.NewClient(wire.Options{Dial: simnet.Of(t).Dial})
	t.Cleanup(client.Close)
	lease, ctx := wire.NewLease(t.Context(), boottime.Now, boottime.Now(), time.Hour)
	t.Cleanup(lease.End)
	log := slog.New(slog.DiscardHandler)
	never := func(canon.Origin) bool { return false }
	pub := publish.New(publish.Options{Sink: sink, Context: ctx, Host: host, Shards: 1, Scope: cfg.Scope, Metrics: met, Log: log}, new(publish.Buffers))
	req := requests.New(requests.Options{
		Config: cfg, Session: client.NewSession(ctx, ctx, &cfg.Config, host, lease), Host: host, Metrics: met, Log: log,
		Forgotten: func(canon.URL) bool { return false }, Lost: pub.Lost, Archive: func(canon.URL, *wire.Answer) {},
	})
	sites := robots.New(robots.Options{
		Requests: req, Job: &crawl.Visit{Host: host}, Began: time.Now(), Cache: robots.NewCache(10), Memo: new(usage.Memo),
		Publish: pub.Fact, HasCredentials: never, NeedsText: never,
	})
	return &Files{Options{
		Requests: req, Sites: sites, Publisher: pub, MaxSitemap: 1 << 20, Stalled: func(int) bool { return false }, Shows: never, Parsing: new(sync.Mutex),
	}}, req.Session.Release
}

// text is a handler that answers with a body of a media type, and with further header fields.
func text(status int, kind, body string, more ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		for i := 0; i+1 < len(more); i += 2 {
			w.Header().Set(more[i], more[i+1])
		}
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}
