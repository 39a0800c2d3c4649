package command

import (
	"os"
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
