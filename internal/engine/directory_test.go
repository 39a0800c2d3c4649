package engine

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/testaid"
)

// running runs a crawl in dir until stop is called. It returns when the address of the crawl is
// published.
func running(t *testing.T, dir string) (stop func()) {
	t.Helper()
	e, err := Open(t.Context(), Options{Dir: dir, NotFetched: true, Plan: func(*crawl.Spec) (crawl.Spec, error) {
		return crawl.Spec{Name: DefaultCrawl, Shards: 1, Scope: "host", MaxDepth: -1, Agent: "curtsy", AllowPrivate: true}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() { over <- e.Run(ctx, nil) }()
	testaid.Until(t, "a server file", func() bool {
		_, err := os.Stat(filepath.Join(dir, serverFile))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		return err == nil
	})
	return func() {
		cancel()
		if err := errors.Join(<-over, e.Close()); err != nil {
			t.Error(err)
		}
	}
}

// If a crawl stops and another one starts between two checks, the second one answers.
func TestADirectoryFollowsTheNextCrawl(t *testing.T) {
	dir := t.TempDir()
	stop := running(t, dir)
	d, err := WatchDirectory(t.Context(), dir, slog.New(slog.DiscardHandler), OpenFiles)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	ask := func() error {
		return d.Ask(t.Context(), func(ctx context.Context, c *asker.Crawl) error {
			st, err := c.Status(ctx)
			if err == nil && st.State == "stopped" {
				err = errors.New("it is said to be at rest")
			}
			return err
		})
	}
	if err := ask(); err != nil {
		t.Errorf("while it runs: %v", err)
	}
	stop()
	stop = running(t, dir)
	if err := ask(); err != nil {
		t.Errorf("while the next one runs: %v", err)
	}
	stop()
}
