package worker

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/curtsy/curtsy/internal/document"
	"github.com/curtsy/curtsy/internal/document/documenttest"
	"github.com/curtsy/curtsy/internal/testaid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A document can make its child do something. This simulates a defect of ours that a hostile
// document exploits. The hook is set in a variable, because variables are initialised before any
// init, and the init of child.go serves documents.
var _ = func() bool {
	testHook = func(body []byte) {
		deed, ok := bytes.CutPrefix(body, []byte("DO "))
		if !ok {
			return
		}
		switch string(deed) {
		case "panic":
			panic("a mistake")
		case "spin":
			for i := 0; ; i++ {
			}
		case "sleep":
			time.Sleep(time.Hour)
		case "allocate":
			var all [][]byte
			for {
				b := make([]byte, 1<<20)
				for i := range b {
					b[i] = byte(i)
				}
				all = append(all, b)
			}
		case "leave":
			os.Exit(0)
		case "talk":
			b := make([]byte, 1<<20)
			for {
				if _, err := os.Stdout.Write(b); err != nil {
					return
				}
			}
		case "escape":
			for _, try := range []func() error{
				func() error { _, err := os.Open("/etc/passwd"); return err },
				func() error { return os.WriteFile("/tmp/curtsy-was-here", nil, 0o600) },
				func() error { _, err := net.Dial("tcp", "127.0.0.1:9"); return err },
				func() error { _, err := net.Listen("tcp", "127.0.0.1:0"); return err },
				func() error { return exec.Command("/bin/true").Run() },
				func() error { p, _ := os.FindProcess(os.Getppid()); return p.Signal(os.Interrupt) },
			} {
				if err := try(); err == nil {
					os.Exit(0) // it succeeded in doing what must be impossible
				}
			}
		}
	}
	return true
}()

func do(deed string) document.File {
	return document.File{Type: document.CSV, Body: []byte("DO " + deed)}
}

var good = document.File{Type: document.ODT, Body: documenttest.Content{Title: "T", Text: "good words"}.ODT()}

// Whatever a document makes its child do, only that document is affected: it fails with a reason,
// in time, and the next document is read.
func TestTrouble(t *testing.T) {
	for deed, c := range map[string]struct {
		why string
		opt Options
	}{
		"panic":    {"the process that read it crashed", Options{}},
		"leave":    {"the process that read it crashed", Options{}},
		"spin":     {"CPU time", Options{CPU: 100 * time.Millisecond, Wall: time.Minute}},
		"sleep":    {"longer than 100ms", Options{Wall: 100 * time.Millisecond}},
		"allocate": {"ran out of memory", Options{Memory: 100 << 20}},
		"talk":     {"it", Options{}}, // its output is not an answer, or one that is too long
	} {
		t.Run(deed, func(t *testing.T) {
			if deed == "allocate" && (testaid.RaceDetector || runtime.GOOS != "linux") {
				t.Skip("memory is not limited here")
			}
			c.opt.Workers = 1
			p := New(c.opt)
			defer p.Close()
			_, err := p.Read(t.Context(), do(deed), nil)
			var u *Unreadable
			if !errors.As(err, &u) || !strings.Contains(u.Why, c.why) {
				t.Errorf("%v, want it unreadable for %q", err, c.why)
			}
			p.opt.Wall = time.Minute
			if page, err := p.Read(t.Context(), good, nil); err != nil || !bytes.Contains(page.HTML, []byte("good words")) {
				t.Errorf("the next one: %v %s", err, page.HTML)
			}
		})
	}
}

// A child cannot open files or the network, and cannot start or signal processes.
func TestConfined(t *testing.T) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skip("system calls are refused on Linux on amd64 and arm64")
	}
	p := New(Options{Workers: 1})
	defer p.Close()
	if _, err := p.Read(t.Context(), do("escape"), nil); err != nil {
		t.Errorf("a child did what it must not, or died: %v", err)
	}
}

// A child reads some documents and is replaced; Close ends the idle children.
func TestPool(t *testing.T) {
	p := New(Options{Workers: 1, Documents: 3})
	for range 7 {
		if _, err := p.Read(t.Context(), good, nil); err != nil {
			t.Fatal(err)
		}
	}
	if n := p.Started(); n != 3 {
		t.Errorf("%d children for 7 documents of 3 each", n)
	}
	p.Close()
	if _, err := p.Read(t.Context(), document.File{Type: document.PDF, Body: make([]byte, document.MaxBody+1)}, nil); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a document over the limit: %v", err)
	}
	if _, err := p.Read(t.Context(), document.File{Type: "image/png", Body: []byte("x")}, nil); err == nil {
		t.Error("a picture was read")
	}
}

// Signals that a terminal or a service manager sends to all processes do not end a child: it
// completes its document, and exits when its parent does.
func TestSignals(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs signals")
	}
	p := New(Options{Workers: 1})
	defer p.Close()
	c, err := p.start()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		if err := c.cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
	}
	if page, err := p.ask(t.Context(), c, good); err != nil || !bytes.Contains(page.HTML, []byte("good words")) {
		t.Errorf("%v %s", err, page.HTML)
	}
}

// A child exits when its parent is gone, whatever it is doing.
func TestOrphan(t *testing.T) {
	for _, deed := range []string{"sleep", "spin"} {
		p := New(Options{Workers: 1, CPU: time.Hour})
		defer p.Close()
		c, err := p.start()
		if err != nil {
			t.Fatal(err)
		}
		q := question{file: do(deed), cpu: uint32(time.Hour / time.Millisecond)}
		if err := q.write(c.in); err != nil {
			t.Fatal(err)
		}
		c.in.Close() // as the kernel does when a process was killed
		if err := c.cmd.Wait(); err != nil || c.shot.Load() {
			t.Errorf("%s: %v", deed, err)
		}
	}
}

// If ctx ends, Read does not wait for the document.
func TestCancel(t *testing.T) {
	p := New(Options{Workers: 1})
	defer p.Close()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := p.Read(ctx, do("sleep"), nil)
		ended <- err
	}()
	testaid.Until(t, "a child is started", func() bool { return p.Started() == 1 })
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("a document that sleeps: %v", err)
	}
}

// killing writes to a child's input, and kills the child when it has something to read.
type killing struct {
	io.WriteCloser
	child *os.Process
}

func (k killing) Write(b []byte) (int, error) {
	n, err := k.WriteCloser.Write(b)
	return n, errors.Join(err, k.child.Kill())
}

// If a child is killed, by the system for lack of memory or by somebody, its current or next
// document is not to blame.
func TestKilled(t *testing.T) {
	p := New(Options{Workers: 1})
	defer p.Close()
	read := func(why string, started int64) {
		t.Helper()
		if page, err := p.Read(t.Context(), good, nil); err != nil || !bytes.Contains(page.HTML, []byte("good words")) {
			t.Errorf("%s: %v %s", why, err, page.HTML)
		}
		if n := p.Started(); n != started {
			t.Errorf("%s: %d children, want %d", why, n, started)
		}
	}
	read("the first", 1)
	if err := p.idle[0].cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	read("killed while it waited", 2)

	c, err := p.start()
	if err != nil {
		t.Fatal(err)
	}
	c.in = killing{c.in, c.cmd.Process}
	var its *Unreadable
	if _, err := p.ask(t.Context(), c, do("sleep")); err == nil || errors.As(err, &its) {
		t.Errorf("killed while it read: %v, which is the document's fault", err)
	}
	read("the next", 3)

	// A document that ends a child that has read others ends a new one as well.
	if _, err := p.Read(t.Context(), do("panic"), nil); !errors.As(err, &its) {
		t.Errorf("a panic: %v", err)
	}
	read("after it", 5)
}

// If no child can be started in place of one that has ended, Read returns an error for which the
// document is not to blame. Once children start again, it is read.
func TestNoOtherChild(t *testing.T) {
	p := New(Options{Workers: 1})
	defer p.Close()
	if _, err := p.Read(t.Context(), good, nil); err != nil {
		t.Fatal(err)
	}
	if err := p.idle[0].cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	memory := p.opt.Memory
	p.opt.Memory = -1 // a child refuses to start with that
	var its *Unreadable
	if _, err := p.Read(t.Context(), good, nil); err == nil || errors.As(err, &its) || !strings.Contains(err.Error(), "cannot start a process") {
		t.Errorf("no child can be started: %v", err)
	}
	p.opt.Memory = memory
	if page, err := p.Read(t.Context(), good, nil); err != nil || !bytes.Contains(page.HTML, []byte("good words")) {
		t.Errorf("children start again: %v %s", err, page.HTML)
	}
}
