package confine_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/confine"
	"github.com/curtsy/curtsy/internal/testaid"
)

const childEnv = "CONFINED_FOR_A_TEST"

// TestMain makes this test binary a child that confines itself.
func TestMain(m *testing.M) {
	if what := os.Getenv(childEnv); what != "" {
		child(what)
		return
	}
	os.Exit(m.Run())
}

// child prints what it could do after it has given everything up.
func child(what string) {
	parent := os.Getppid()
	if what == "reading" {
		confine.BeforeExec(1<<40, 3*time.Second)
		reach(parent)
		fmt.Println("done")
		return
	}
	if what == "offline" || what == "below offline" {
		offline(what)
		return
	}
	missing := confine.Process(64<<20, 3*time.Second)
	confine.Allow(time.Second)
	fmt.Println("missing", missing)
	switch what {
	case "try":
		if _, err := os.Open("/etc/passwd"); err == nil {
			fmt.Println("it opens a file")
		}
		if _, err := os.Create("/tmp/confined"); err == nil {
			fmt.Println("it creates a file")
		}
		if _, err := net.Dial("tcp", "127.0.0.1:1"); err == nil || !strings.Contains(err.Error(), "not permitted") && !strings.Contains(err.Error(), "too many open files") {
			fmt.Println("it has sockets:", err)
		}
		if _, err := os.StartProcess("/bin/true", []string{"true"}, &os.ProcAttr{}); err == nil {
			fmt.Println("it starts processes")
		}
		reach(parent)
		if os.Getpid() != os.Getppid() {
			fmt.Println("done")
		}
	case "spin":
		for n := uint64(0); ; n++ {
			_ = n
		}
	case "grow":
		var all [][]byte
		for range 1000 {
			b := make([]byte, 1<<20)
			for i := range b {
				b[i] = 1
			}
			all = append(all, b)
		}
		fmt.Println("it has", len(all), "MiB")
	}
}

func TestProcess(t *testing.T) {
	run := confined(t)
	if out, code := run("try"); out != "missing []\ndone\n" || code != 0 {
		t.Errorf("exit code %d, %q", code, out)
	}
	if out, code := run("spin"); out != "missing []\n" || code != confine.CodeLate {
		t.Errorf("an endless loop: exit code %d, %q", code, out)
	}
	if out, code := run("grow"); out != "missing []\n" || code == 0 {
		t.Errorf("a gigabyte: exit code %d, %q", code, out)
	}
}

// What takes the place of a child, pdftotext, reads files, but it reaches no other process either.
func TestBeforeExec(t *testing.T) {
	if out, code := confined(t)("reading"); out != "done\n" || code != 0 {
		t.Errorf("exit code %d, %q", code, out)
	}
}

// A browser, and what it starts, reaches no network and no service of this machine. It has files,
// processes, and sockets between them.
func TestOffline(t *testing.T) {
	if out, code := confined(t)("offline"); out != "offline\nbelow offline\n" || code != 0 {
		t.Errorf("exit code %d, %q", code, out)
	}
}

// confined runs this test binary as a child, and returns what it prints and its exit code.
func confined(t *testing.T) func(what string) (string, int) {
	t.Helper()
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skip("only Linux on amd64 and arm64 limits all of it")
	}
	if testaid.RaceDetector {
		t.Skip("the race detector needs more memory than the limit")
	}
	return func(what string) (string, int) {
		cmd := exec.Command(confine.Self())
		cmd.Env = []string{childEnv + "=" + what}
		out, err := cmd.Output()
		if cmd.ProcessState == nil {
			t.Fatal(err)
		}
		return string(out), cmd.ProcessState.ExitCode()
	}
}
