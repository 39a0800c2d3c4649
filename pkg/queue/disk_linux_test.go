package queue

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/internal/testaid"
	"github.com/curtsy/curtsy/pkg/queue/embedded"
)

// smallDisk creates a file system with the given size in bytes.
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

// The disk of the embedded server fills up, and later has free space again. Everything that was
// acknowledged is still there, nobody is blocked for ever, and the problem is logged once.
func TestDiskFull(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		free := testaid.Volume(50, 15) // MiB
		dir := smallDisk(t, fmt.Sprintf("%dm", 100+free))
		ballast := filepath.Join(dir, "ballast")
		check(t, os.WriteFile(ballast, make([]byte, 100<<20), 0o600))
		logged := newLines()
		s, err := embedded.Start(embedded.Options{Dir: filepath.Join(dir, "nats"), MaxStore: 4 << 30, Log: slog.New(logged)})
		check(t, err)
		t.Cleanup(s.Shutdown)
		c := dialLog(t, s, slog.New(logged))
		u := use(t, c, 256<<10, time.Second, eventually)
		eventually(t, "a message that the disk is full", func() bool { return logged.count("the disk refuses writes") > 0 }, func() string {
			return fmt.Sprintf("%d appended, %d sent, waiting: %v; logged: %q", u.appended.Load(), u.sent.Load(), c.Waiting(), logged.all())
		})
		time.Sleep(3 * term) // nothing can be stored meanwhile
		if n := logged.count("the disk refuses writes"); n != 1 {
			t.Errorf("%d messages that the disk is full", n)
		}
		check(t, os.Remove(ballast))
		u.goesOn(t, 100)
		u.finish(t)
		if logged.count("the store is open again") == 0 {
			t.Error("no message that the store is open again")
		}
		for _, what := range []string{"NATS does not answer", "cannot renew", "cannot announce this process"} {
			if n := logged.count(what); n > 8 {
				t.Errorf("%q was logged %d times", what, n)
			}
		}
	})
}
