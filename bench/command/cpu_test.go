package command

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// Two sources of the system for the CPU time of this process must agree.
func TestCPUOf(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip(err)
	}
	var u syscall.Rusage
	used := func() time.Duration {
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			t.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	for used() < 100*time.Millisecond { // until it is visible in hundredths of a second
	}
	before := used()
	got := CPUOf(os.Getpid())
	if after := used(); got < before-30*time.Millisecond || got > after+30*time.Millisecond {
		t.Errorf("%v, getrusage has %v before and %v after", got, before, after)
	}
}

// Child processes count, each by itself.
func TestCPUsOf(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip(err)
	}
	child := exec.Command("sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; echo; cat")
	in, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	spent := map[int]time.Duration{}
	CPUsOf(os.Getpid(), spent)
	if spent[os.Getpid()] <= 0 || spent[child.Process.Pid] <= 0 {
		t.Errorf("%v, want those of this process and of %d", spent, child.Process.Pid)
	}
	if err := errors.Join(in.Close(), child.Wait()); err != nil {
		t.Fatal(err)
	}
}
