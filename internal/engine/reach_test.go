package engine

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/service"
)

// The server file gives full access, so nobody else may read it, whatever was there before.
func TestServerFileMode(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, serverFile+".new"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := (serverInfo{URL: "nats://127.0.0.1:1", Password: "x"}).write(dir); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, serverFile))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v; want 0600", info.Mode(), err)
	}
}

// A killed crawl leaves its server file. Readers then open the files of the crawl.
func TestStaleServerFile(t *testing.T) {
	dir := t.TempDir()
	if err := (serverInfo{URL: "nats://127.0.0.1:1", Crawl: "default"}).write(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := Dial(t.Context(), dir, slog.New(slog.DiscardHandler)); !errors.Is(err, ErrNotRunning) {
		t.Errorf("Dial = %v, want ErrNotRunning", err)
	}
}

// A crawl that has locked the directory and has not published its address is not reported as
// missing.
func TestACrawlThatIsStarting(t *testing.T) {
	dir := t.TempDir()
	lock, err := service.LockDir(dir, lockFile)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Unlock()
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // the caller has no time to wait
	if _, err := Dial(ctx, dir, slog.New(slog.DiscardHandler)); err == nil || errors.Is(err, ErrNotRunning) || !strings.Contains(err.Error(), "starting") {
		t.Errorf("Dial = %v, want it said that a crawl is starting", err)
	}
}

// A crawl that is starting has locked the directory and has not published its address yet. Other
// commands wait for it. The address of a killed crawl is removed.
func TestACrawlThatIsStartingIsWaitedFor(t *testing.T) {
	dir := t.TempDir()
	if err := (serverInfo{URL: "nats://127.0.0.1:1", Crawl: DefaultCrawl}).write(dir); err != nil {
		t.Fatal(err)
	}
	e, err := Open(t.Context(), Options{Dir: dir, NotFetched: true, Plan: func(*crawl.Spec) (crawl.Spec, error) {
		return crawl.Spec{Name: DefaultCrawl, Shards: 1, Scope: "host", MaxDepth: -1, Agent: "curtsy", AllowPrivate: true}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, err := os.Stat(filepath.Join(dir, serverFile)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the server file of a killed crawl is still there: %v", err)
	}
	reached := make(chan error, 1)
	go func() {
		c, err := Dial(t.Context(), dir, slog.New(slog.DiscardHandler))
		if err == nil {
			err = c.Close()
		}
		reached <- err
	}()
	// Without waiting it would not reach the crawl.
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() { over <- e.Run(ctx, nil) }()
	if err := <-reached; err != nil {
		t.Errorf("Dial = %v, want the crawl once it runs", err)
	}
	cancel()
	if err := <-over; err != nil {
		t.Error(err)
	}
}
