package engine

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/queue"
	"github.com/curtsy/curtsy/pkg/queue/embedded"
)

// A directory contains one crawl. Another crawl on another server would mistake the files for its
// own, so it is refused and nothing changes.
func TestADirectoryHoldsOneCrawl(t *testing.T) {
	planned := func(name string) func(*crawl.Spec) (crawl.Spec, error) {
		return func(*crawl.Spec) (crawl.Spec, error) {
			return crawl.Spec{Name: name, Shards: 1, Scope: "any", MaxDepth: -1, Agent: "curtsy", AllowPrivate: true}, nil
		}
	}
	run := func(dir, name, seed string, server queue.Options) (first crawl.Status, err error) {
		e, err := Open(t.Context(), Options{
			Dir: dir, NATS: server, Crawl: name, Plan: planned(name), Seeds: []canon.URL{canon.URL(seed)}, NotFetched: true, NotIndexed: true,
			StreamLimits: frontier.StreamLimits{Events: 1 << 20, Pages: 1 << 20},
		})
		if err != nil {
			return first, err
		}
		err = e.Run(t.Context(), func(_ context.Context, st crawl.Status) error {
			first = st
			return nil
		})
		return first, errors.Join(err, e.Close())
	}
	srv, err := embedded.Start(embedded.Options{Dir: filepath.Join(t.TempDir(), "nats"), Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Shutdown()
	own, shared := queue.Options{}, queue.Options{URL: srv.ClientURL(), User: srv.User(), Password: srv.Password()}
	type attempt struct {
		name   string
		server queue.Options
		want   InUseError // "": none
	}
	for _, c := range []struct {
		holds    queue.Options
		attempts []attempt
	}{
		{own, []attempt{
			{"b", shared, InUseError{Crawl: "a", Served: true}},
			{"a", shared, InUseError{Crawl: "a", Served: true}},
			{"b", own, InUseError{Crawl: "a"}},
			{"a", own, InUseError{}},
		}},
		{shared, []attempt{
			{"b", shared, InUseError{Crawl: "a"}},
			{"b", own, InUseError{Crawl: "a", Remote: true}},
			{"a", own, InUseError{Crawl: "a", Remote: true}},
			{"a", shared, InUseError{}},
		}},
	} {
		dir := t.TempDir()
		if _, err := run(dir, "a", "http://a.example/", c.holds); err != nil {
			t.Fatal(err)
		}
		was, err := os.ReadFile(frontier.SpecFile(dir))
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range c.attempts {
			st, err := run(dir, a.name, "http://b.example/", a.server)
			var held *InUseError
			switch a.want.Dir = dir; {
			case a.want.Crawl == "":
				if err != nil || st.Discovered < 1 {
					t.Errorf("%+v: %v, %d URLs known", a, err, st.Discovered)
				}
			case !errors.As(err, &held) || *held != a.want:
				t.Errorf("%+v: %v, and %d URLs known; want %v", a, err, st.Discovered, &a.want)
			default:
				is, err := os.ReadFile(frontier.SpecFile(dir))
				if err != nil || !bytes.Equal(is, was) {
					t.Errorf("%+v: %s holds %s (%v)", a, frontier.SpecFile(dir), is, err)
				}
			}
		}
	}
}
