//go:build external

package deploytest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier"
	"github.com/curtsy/curtsy/internal/simweb"
	"github.com/curtsy/curtsy/internal/testaid"
	"golang.org/x/sys/unix"
)

const mib = 1 << 20

// smallDisk is a file system in memory that can be filled up. It is removed with the test; the one
// of a test that was killed is removed by the next test.
type smallDisk struct {
	t   *testing.T
	dir string
}

func newSmallDisk(t *testing.T, dir string, size int64) *smallDisk {
	t.Helper()
	d := &smallDisk{t: t, dir: dir}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		if f := strings.Fields(line); leftBehind(f[0]) {
			_ = unix.Unmount(f[1], unix.MNT_DETACH) // another test may remove it at the same time
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount(ourMark(), d.dir, "tmpfs", 0, fmt.Sprint("size=", size)); err != nil {
		t.Fatalf("this test mounts a file system: run it as root (%v)", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(d.dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return d
}

func (d *smallDisk) filler() string { return filepath.Join(d.dir, "filler") }

// fill leaves so many bytes free, even if others write meanwhile.
func (d *smallDisk) fill(leave int64) {
	d.t.Helper()
	f, err := os.Create(d.filler())
	if err != nil {
		d.t.Fatal(err)
	}
	defer f.Close()
	for at := int64(0); ; {
		var st unix.Statfs_t
		if err := unix.Statfs(d.dir, &st); err != nil {
			d.t.Fatal(err)
		}
		n := int64(st.Bavail)*st.Bsize - leave
		if n <= 0 {
			return
		}
		if err := unix.Fallocate(int(f.Fd()), 0, at, n); err == nil {
			at += n
		} else if !errors.Is(err, unix.ENOSPC) {
			d.t.Fatal(err)
		}
	}
}

// clear frees what fill took.
func (d *smallDisk) clear() {
	d.t.Helper()
	if err := os.Remove(d.filler()); err != nil {
		d.t.Fatal(err)
	}
}

// quiet waits until a web has had no request for a while.
func quiet(t *testing.T, srv *simweb.Server) {
	t.Helper()
	testaid.Until(t, "there are no more requests", func() bool {
		log := srv.Log()
		return time.Since(log[len(log)-1].Start) > 2*time.Second
	})
}

// TestExternalDiskFull fills the disk of a crawl in one process: suddenly to the end, and later
// down to the minimum that it leaves free. It reports this, and continues by itself when there is
// space.
func TestExternalDiskFull(t *testing.T) {
	t.Parallel()
	d := newSmallDisk(t, t.TempDir(), 320*mib)
	srv, err := simweb.Start(plainWeb(12, 150))
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	dir := filepath.Join(d.dir, "data")
	p := start(t, "crawl", "curtsy", "crawl", "--dir", dir, "--listen", "off", "--search=false", "--min-free", "48MiB", "--allow-private",
		"--resolve", srv.Resolve(), "--delay", faultDelay.String(), "--contact", contact, srv.Seeds()[0])
	reached := func(what string, reached func(crawl.Status) bool) {
		t.Helper()
		var st crawl.Status
		var err error
		testaid.Until(t, "the crawl is "+what, func() bool {
			var out []byte
			out, err = try(program(t, "curtsy"), "status", "--json", "--dir", dir)
			if err == nil && json.Unmarshal(out, &st) == nil && reached(st) {
				return true
			}
			if p.over() {
				t.Fatalf("the crawl ended before it was %s: %v", what, p.err)
			}
			return false
		}, func() string { return fmt.Sprintf("%v, %+v", err, st) })
	}
	stored := func(n int64) func(crawl.Status) bool { return func(st crawl.Status) bool { return st.Stored >= n } }
	reached("under way", stored(100))

	d.fill(0)
	full := time.Now()
	quiet(t, srv)
	time.Sleep(time.Until(full.Add(12 * time.Second))) // longer than a term of ownership
	if text, err := os.ReadFile(p.log); err != nil || !strings.Contains(string(text), "free some space") {
		t.Errorf("the full disk is not reported (%v)", err)
	}
	asked := len(srv.Log())
	d.clear()
	reached("going on", func(crawl.Status) bool { return len(srv.Log()) > asked+100 })

	d.fill(40 * mib)
	reached("paused", func(st crawl.Status) bool { return strings.Contains(st.Trouble, "free some space") })
	quiet(t, srv)
	d.clear()
	testaid.Until(t, "the crawl comes to its end", p.over)
	account(t, srv, status(t, "--dir", dir), storedPages(t, "--dir", dir), readClasses(t, dir), faultDelay)
}

// TestExternalIndexerDiskFull fills the disk of an indexer: pages wait for it.
func TestExternalIndexerDiskFull(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := newSmallDisk(t, filepath.Join(dir, "indexer-1"), 128*mib)
	f := newFaulty(t, plainWeb(12, 60), faultyOptions{dir: dir, indexer: []string{"--min-free", "16MiB"}})
	f.underWay(150)
	d.fill(0)
	f.until("aware of the disk", func(context.Context) (crawl.Status, bool, error) {
		return crawl.Status{}, strings.Contains(f.log(f.indexer), "free some space"), nil
	})
	time.Sleep(5 * time.Second)
	d.clear()
	f.finish()
}

// TestExternalServerDiskFull fills the disk of a NATS server. Its streams do not work then until
// its operator restarts it; nothing else has to be restarted.
func TestExternalServerDiskFull(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	// Streams may reserve three quarters of it.
	d := newSmallDisk(t, filepath.Join(dir, "nats"), 320*mib)
	f := newFaulty(t, plainWeb(12, 100), faultyOptions{dir: dir, limits: frontier.StreamLimits{Events: 16 * mib, Pages: 48 * mib, Replicas: 1}})
	f.underWay(150)
	d.fill(0)
	quiet(t, f.srv)
	d.clear()
	f.nats[0].stop()
	f.nats[0].start()
	f.finish()
}
