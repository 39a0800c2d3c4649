package frontier

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/internal/simnet/broker"
	"github.com/curtsy/curtsy/pkg/canon"
)

// losses are ways in which the file of a shard may lose its content.
var losses = map[string]func(path string) error{
	"emptied": func(path string) error { return os.Truncate(path, 0) },
	"removed": os.Remove,
	"made anew": func(path string) error {
		db, err := store.OpenBolt(path+".other", false)
		return errors.Join(err, db.Close(), os.Rename(path+".other", path))
	},
}

// In one process there are no checkpoints: a frontier whose file has lost its content warns, and
// reports what is lost and from what the shard is rebuilt.
func TestALostFileIsReported(t *testing.T) {
	for name, lose := range losses {
		for _, purged := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				simnet.Test(t, func(t *testing.T) {
					_, q := broker.Open(t)
					spec := testSpec("http://a.example/")
					if err := EnsureStreams(t.Context(), q, spec, StreamLimits{Events: 16 << 20, Pages: 16 << 20}); err != nil {
						t.Fatal(err)
					}
					dir := t.TempDir()
					var reported syncBuffer
					run := func(do func()) {
						f, err := New(q, spec, Options{Dir: dir, Instance: "f1", Embedded: true, StopGrace: time.Millisecond, Log: slog.New(slog.NewTextHandler(&reported, nil))})
						if err != nil {
							t.Fatal(err)
						}
						ctx, cancel := context.WithCancel(t.Context())
						done := make(chan error, 1)
						go func() { done <- f.Run(ctx) }()
						if err := asker.WaitReady(t.Context(), q, spec); err != nil {
							t.Fatal(err)
						}
						do()
						cancel()
						if err := <-done; err != nil {
							t.Error(err)
						}
					}
					run(func() {
						if err := asker.Seed(t.Context(), q, spec, []canon.URL{"http://a.example/", "http://b.example/"}); err != nil {
							t.Fatal(err)
						}
						waitFor(t, func() bool { st, err := asker.Status(t.Context(), q, spec); return err == nil && st.Queued == 2 })
						if purged {
							time.Sleep(3 * purgeLag)
						}
					})
					const warning = "empty or missing"
					if strings.Contains(reported.String(), warning) {
						t.Errorf("a new shard is called lost:\n%s", reported.String())
					}
					if err := lose(filepath.Join(dir, store.FileName(0))); err != nil {
						t.Fatal(err)
					}
					want, queued := "it is rebuilt from its event log, which is complete", int64(2)
					if purged {
						want, queued = "its hosts, URLs and counts are lost", 0
					}
					run(func() {
						if st, err := asker.Status(t.Context(), q, spec); err != nil || st.Queued != queued {
							t.Errorf("%d URLs are queued, want %d (%v)", st.Queued, queued, err)
						}
					})
					if !strings.Contains(reported.String(), want) || strings.Count(reported.String(), warning) != 1 {
						t.Errorf("the log does not say once that %s:\n%s", want, reported.String())
					}
					run(func() {})
					if strings.Count(reported.String(), warning) != 1 {
						t.Errorf("what was lost is reported at the next start as well:\n%s", reported.String())
					}
				})
			})
		}
	}
}

// A daemon restores such a file from the checkpoint and the log, or from the log alone, and reports
// which.
func TestALostFileIsRestored(t *testing.T) {
	for name, lose := range losses {
		for _, every := range []int64{4 << 10, 1 << 30} {
			t.Run(name, func(t *testing.T) {
				simnet.Test(t, func(t *testing.T) {
					c := oneShard(t)
					c.opt.Checkpoint = every
					var reported syncBuffer
					c.log = slog.New(slog.NewTextHandler(&reported, nil))
					a := c.start("a")
					c.settled("a")
					s := c.script()
					want := `from="the whole event log"`
					if every < 1<<20 {
						s.twoCheckpoints()
						want = `from="checkpoint `
					}
					s.work(5)
					s.applied()
					a.kill()
					if err := lose(filepath.Join(a.dir, store.FileName(0))); err != nil {
						t.Fatal(err)
					}
					if strings.Contains(reported.String(), "restoring it") {
						t.Errorf("a shard that was not lost is restored:\n%s", reported.String())
					}
					c.start("a")
					s.compare()
					if got := reported.String(); strings.Count(got, "restoring it") != 1 || !strings.Contains(got, want) {
						t.Errorf("the log does not say once that the shard is restored, with %s:\n%s", want, got)
					}
				})
			})
		}
	}
}
