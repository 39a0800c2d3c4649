//go:build external

package deploytest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/testaid"
)

// root is the root of the repository, seen from the folder of this package, in which its tests run.
var root = func() string {
	dir, err := filepath.Abs("../..")
	if err != nil {
		panic(err)
	}
	return dir
}()

var scratch string // of all tests here; removed after the last of them

func TestMain(m *testing.M) {
	var err error
	if scratch, err = os.MkdirTemp("", "deploytest-"); err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(scratch)
	os.Exit(code)
}

// programs builds curtsy, makes the links with the names of the other programs, and builds
// nats-server from its module, once. If the variable PROGRAMS names a folder, they were built there
// before the tests.
var programs = sync.OnceValues(func() (dir string, err error) {
	if dir = os.Getenv("PROGRAMS"); dir != "" {
		return dir, nil
	}
	dir = filepath.Join(scratch, "bin")
	cmd := exec.Command("go", "build", "-o", dir+"/", "./cmd/curtsy", "github.com/nats-io/nats-server/v2")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	for _, name := range []string{"frontier", "fetcher", "indexer", "feeder", "renderer", "rupd", "agenthost"} {
		if err := os.Symlink("curtsy", filepath.Join(dir, name)); err != nil {
			return "", err
		}
	}
	return dir, nil
})

func program(t *testing.T, name string) string {
	t.Helper()
	dir, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, name)
}

// environ returns the environment without variables that would configure Curtsy or the compose
// file, and with additional ones.
func environ(more ...string) []string {
	env := slices.DeleteFunc(os.Environ(), func(e string) bool {
		name, _, _ := strings.Cut(e, "=")
		return strings.HasPrefix(name, "CURTSY_") || slices.Contains([]string{"SEED", "CONTACT", "CRAWL", "SUBNET", "NATS_PORT", "NATS_IMAGE", "COMPOSE_PROFILES"}, name)
	})
	return append(env, more...)
}

// run runs a program to its end, which must be a success, and returns its standard output.
func run(t *testing.T, name string, args ...string) []byte {
	t.Helper()
	out, err := try(name, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func try(name string, args ...string) ([]byte, error) {
	return tryEnv(environ(), name, args...)
}

func tryEnv(env []string, name string, args ...string) ([]byte, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = root, env, &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s %s: %w\n%s%s", filepath.Base(name), strings.Join(args, " "), err, tail(stdout.Bytes()), tail(stderr.Bytes()))
	}
	return stdout.Bytes(), nil
}

// tail returns the last part of an output, enough to see what went wrong.
func tail(b []byte) []byte { return b[max(0, len(b)-3000):] }

// process is a daemon that a test started.
type process struct {
	t     *testing.T
	name  string
	cmd   *exec.Cmd
	log   string // file with its standard output and error
	asked bool   // to end, by stop
	ended chan struct{}
	err   error // of Wait; after ended
}

// start runs a daemon until stop, kill, or the end of the test, at which it must still run and must
// end without an error when it is asked to.
func start(t *testing.T, name, bin string, args ...string) *process {
	t.Helper()
	p := launch(t, filepath.Join(t.TempDir(), "log"), name, bin, args...)
	t.Cleanup(func() {
		p.stop()
		if t.Failed() {
			text, _ := os.ReadFile(p.log)
			t.Logf("%s wrote, at last:\n%s", name, tail(text))
		}
	})
	return p
}

// launch runs a daemon, whose output is appended to the file log. The caller has to end it.
func launch(t *testing.T, log, name, bin string, args ...string) *process {
	t.Helper()
	p := &process{t: t, name: name, log: log, ended: make(chan struct{})}
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	p.cmd = exec.Command(program(t, bin), args...)
	p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = environ(), out, out
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	return p
}

// stop asks the process to end and waits until it has ended.
func (p *process) stop() {
	p.t.Helper()
	p.asked = true
	select {
	case <-p.ended:
	default:
		p.cmd.Process.Signal(syscall.SIGTERM) // an error means that it has just ended
		testaid.Until(p.t, p.name+" ends after SIGTERM", p.over)
	}
	if p.err != nil && !p.killed() {
		p.t.Errorf("%s ended: %v", p.name, p.err)
	}
}

// kill ends the process like a power cut.
func (p *process) kill() {
	p.cmd.Process.Kill() // an error means that it has just ended
	<-p.ended
}

// over reports whether the process has ended, for whatever reason.
func (p *process) over() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

func (p *process) killed() bool {
	var exit *exec.ExitError
	return errors.As(p.err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
}

// startNATS runs a server with the configuration of deploy on free ports and returns its URL.
func startNATS(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	p := start(t, "nats-server", "nats-server", "-c", filepath.Join(root, "deploy", "nats.conf"), "-sd", filepath.Join(dir, "js"),
		"-a", "127.0.0.1", "-p", "-1", "-m", "-1", "--ports_file_dir", dir)
	ports := filepath.Join(dir, fmt.Sprintf("nats-server_%d.ports", p.cmd.Process.Pid))
	var there struct {
		NATS []string `json:"nats"`
	}
	testaid.Until(t, "nats-server has written its port", func() bool {
		if p.over() {
			t.Fatal("nats-server ended at once")
		}
		text, err := os.ReadFile(ports)
		return err == nil && json.Unmarshal(text, &there) == nil && len(there.NATS) > 0
	})
	return there.NATS[0]
}

// storedPages runs curtsy pages and returns the digest of the body of each URL.
func storedPages(t *testing.T, where ...string) map[string]string {
	t.Helper()
	out := run(t, program(t, "curtsy"), append([]string{"pages", "--json"}, where...)...)
	pages := map[string]string{}
	for line := range bytes.Lines(out) {
		var p crawl.PageInfo
		if err := json.Unmarshal(line, &p); err != nil {
			t.Fatalf("curtsy pages: %v: %s", err, line)
		}
		if _, twice := pages[p.URL]; twice {
			t.Errorf("curtsy pages lists %s twice", p.URL)
		}
		pages[p.URL] = p.SHA256
	}
	return pages
}

// status runs curtsy status and checks that its numbers are consistent.
func status(t *testing.T, where ...string) crawl.Status {
	t.Helper()
	var st crawl.Status
	out := run(t, program(t, "curtsy"), append([]string{"status", "--json"}, where...)...)
	if err := json.Unmarshal(out, &st); err != nil {
		t.Fatalf("curtsy status: %v: %s", err, out)
	}
	if sum := st.Queued + st.InFlight + st.Stored + st.Redirected + st.Refused + st.Failed; sum != st.Discovered {
		t.Errorf("discovered %d, but the classes add up to %d: %+v", st.Discovered, sum, st)
	}
	return st
}
