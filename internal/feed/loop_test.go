package feed_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/feed"
	"github.com/curtsy/curtsy/internal/indexer"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/internal/siterules"
	"github.com/curtsy/curtsy/pkg/canon"
)

// fake is a sink of which a test decides what it does with a batch.
type fake struct {
	write func(b feed.Batch) ([]feed.Refused, error)
}

func (f fake) Prepare(context.Context, []siterules.FieldInfo) error { return nil }
func (f fake) Write(_ context.Context, b feed.Batch) ([]feed.Refused, error) {
	return f.write(b)
}
func (f fake) Sweep(context.Context, string, int, int64) error { return nil }
func (f fake) Close() error                                    { return nil }

// opened stores a page of each of five hosts, and opens the stores for feeds.
func opened(t *testing.T) (*world, *asker.Crawl) {
	t.Helper()
	w := newWorld(t, 1)
	for k := range w.spec.Shards {
		s, err := pages.Open(fmt.Sprintf("%s/pages-%d.db", w.dir, k), pages.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 5 {
			if crawl.ShardOf(host(i), w.spec.Shards) != k {
				continue
			}
			p := crawl.Page{URL: canon.URL("https://" + string(host(i)) + "/"), Visit: crawl.VisitID{Epoch: 1, N: 1}, Status: 200, ContentType: "text/html",
				Body: []byte("<p>x"), Size: 4, FetchedAt: time.Now()}
			if _, err := s.Put([]pages.Page{{Page: p}}); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	x, err := indexer.OpenFeeds(w.dir, w.spec)
	if err != nil {
		t.Fatal(err)
	}
	return w, asker.Stopped(w.spec, x.Close, x.Handlers(w.spec.Agent))
}

// What a sink refuses is in the file with the reason before it is acknowledged, twice if the
// acknowledgement fails; it is counted once, and the rest goes on.
func TestRefused(t *testing.T) { simnet.Test(t, testRefused) }

func testRefused(t *testing.T) {
	w, c := opened(t)
	defer c.Close()
	var sent, acks atomic.Int64
	sink := fake{func(b feed.Batch) (refused []feed.Refused, _ error) {
		for i := range b.Changes {
			if b.Changes[i].Row.URL == "https://h1.example/" {
				refused = append(refused, feed.Refused{Change: &b.Changes[i], Reason: "no such field"})
			}
		}
		return refused, nil
	}}
	o := w.o
	o.Events.Sent = func(n, _ int) { sent.Add(int64(n)) }
	o.Fault = func(point string) error {
		if point == "ack" && acks.Add(1) <= int64(w.spec.Shards) {
			return errKilled
		}
		return nil
	}
	f, err := feed.New(c, w.spec, sink, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Run(t.Context()); err != nil || sent.Load() != 5 {
		t.Fatalf("%v, %d sent", err, sent.Load())
	}
	text, err := os.ReadFile(o.Dead)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range bytes.Lines(text) {
		var r feed.Refusal
		if err := json.Unmarshal(line, &r); err != nil || r.URL != "https://h1.example/" || r.Reason != "no such field" || r.Version == 0 || !bytes.Contains(r.Row, []byte(`"url"`)) {
			t.Errorf("%s, %v", line, err)
		}
		n++
	}
	all, err := feed.List(t.Context(), c)
	if err != nil || n != 2 || len(all) != 1 || all[0].Refused != 1 || all[0].Sent != 5 || all[0].Behind != 0 || !all[0].Swept {
		t.Errorf("%d lines, %+v, %v", n, all, err)
	}
}

// A sink that fails for good is tried again after a minute and then less often, and its error is
// shown. As soon as it works, everything is sent.
func TestPermanent(t *testing.T) { simnet.Test(t, testPermanent) }

func testPermanent(t *testing.T) {
	w, c := opened(t)
	defer c.Close()
	var works atomic.Bool
	var tried, sent atomic.Int64
	sink := fake{func(b feed.Batch) ([]feed.Refused, error) {
		tried.Add(1)
		if !works.Load() {
			return nil, &feed.Permanent{Err: errors.New("401: check the password")}
		}
		sent.Add(int64(len(b.Changes)))
		return nil, nil
	}}
	o := w.o
	o.Every = time.Second
	f, err := feed.New(c, w.spec, sink, o)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- f.Run(t.Context()) }()
	time.Sleep(10 * time.Minute)
	if n := tried.Load(); n < 4 || n > int64(4*w.spec.Shards) {
		t.Errorf("%d attempts in ten minutes", n)
	}
	all, err := feed.List(t.Context(), c)
	if err != nil || len(all) != 1 || all[0].Trouble != "401: check the password" || all[0].Behind != 5 {
		t.Errorf("%+v, %v", all, err)
	}
	works.Store(true)
	f.Finish()
	if err := <-ended; err != nil || sent.Load() != 5 {
		t.Errorf("%v, %d sent", err, sent.Load())
	}
	if all, err = feed.List(t.Context(), c); err != nil || all[0].Trouble != "" || all[0].Behind != 0 {
		t.Errorf("%+v, %v", all, err)
	}
}

// A feed that is to end gives up a shard that has failed for a minute. The other shards are sent.
func TestGivesUp(t *testing.T) { simnet.Test(t, testGivesUp) }

func testGivesUp(t *testing.T) {
	w, c := opened(t)
	defer c.Close()
	broken := crawl.ShardOf(host(0), w.spec.Shards)
	var sent atomic.Int64
	sink := fake{func(b feed.Batch) ([]feed.Refused, error) {
		if b.Shard == broken {
			return nil, &feed.Later{Err: errors.New("503"), After: time.Hour}
		}
		sent.Add(int64(len(b.Changes)))
		return nil, nil
	}}
	f, err := feed.New(c, w.spec, sink, w.o)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	err = f.Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("shard %d: 503", broken)) || time.Since(began) < time.Minute || time.Since(began) > 2*time.Minute || sent.Load() == 0 {
		t.Errorf("%v after %v, %d sent", err, time.Since(began), sent.Load())
	}
}

// A shard is swept at once if the feed is to end; otherwise when it has been quiet for a while.
func TestSweepsLater(t *testing.T) { simnet.Test(t, testSweepsLater) }

func testSweepsLater(t *testing.T) {
	w, c := opened(t)
	defer c.Close()
	o := w.o
	o.Every = time.Second
	f, err := feed.New(c, w.spec, fake{func(feed.Batch) ([]feed.Refused, error) { return nil, nil }}, o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- f.Run(ctx) }()
	swept := func() bool {
		all, err := feed.List(t.Context(), c)
		return err == nil && len(all) == 1 && all[0].Behind == 0 && all[0].Swept
	}
	time.Sleep(9 * time.Minute)
	if swept() {
		t.Error("swept after nine minutes")
	}
	time.Sleep(2 * time.Minute)
	if !swept() {
		t.Error("not swept after eleven minutes")
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
