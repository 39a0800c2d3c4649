package queue

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/curtsy/curtsy/internal/racing"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/pkg/queue/embedded"
)

// smallDisk is a file system of size bytes.
func smallDisk(t *testing.T, size string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := unix.Mount("none", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("needs root, to mount a small file system: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// The disk of the embedded server is full, and has room again: all that was acknowledged is there,
// nobody is stuck, and it is said once what is the matter.
func TestDiskFull(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		free := racing.Volume(50, 15) // MiB
		dir := smallDisk(t, fmt.Sprintf("%dm", 100+free))
		ballast := filepath.Join(dir, "ballast")
		check(t, os.WriteFile(ballast, make([]byte, 100<<20), 0o600))
		said := newLines()
		s, err := embedded.Start(embedded.Options{Dir: filepath.Join(dir, "nats"), MaxStore: 4 << 30, Log: slog.New(said)})
		check(t, err)
		t.Cleanup(s.Shutdown)
		c := dialLog(t, s, slog.New(said))
		u := use(t, c, 256<<10, time.Second, eventually)
		eventually(t, "that somebody says that the disk is full", func() bool { return said.count("the disk refuses writes") > 0 }, func() string {
			return fmt.Sprintf("%d appended, %d sent, waiting: %v; said: %q", u.appended.Load(), u.sent.Load(), c.Waiting(), said.all())
		})
		time.Sleep(3 * term) // nothing moves
		if n := said.count("the disk refuses writes"); n != 1 {
			t.Errorf("said %d times that the disk is full", n)
		}
		check(t, os.Remove(ballast))
		u.goesOn(t, 100)
		u.finish(t)
		if said.count("the store is open again") == 0 {
			t.Error("nobody says that it goes on")
		}
		for _, what := range []string{"NATS does not answer", "cannot renew", "cannot announce this process"} {
			if n := said.count(what); n > 8 {
				t.Errorf("%q was said %d times", what, n)
			}
		}
	})
}
