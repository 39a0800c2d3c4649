package command

import (
	"os"
	"os/exec"
	"testing"
)

// The peak of a process stays when its memory shrinks, and its child processes count.
func TestPeaksOf(t *testing.T) {
	if _, err := os.Stat("/proc/self/status"); err != nil {
		t.Skip(err)
	}
	child := exec.Command("cat")
	stdin, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	peaks := map[int]int64{os.Getpid(): 1 << 50}
	PeaksOf(os.Getpid(), peaks)
	own := OwnMemory()
	PeaksOf(child.Process.Pid, peaks)
	if err := stdin.Close(); err != nil {
		t.Fatal(err)
	}
	if err := child.Wait(); err != nil {
		t.Fatal(err)
	}
	if peaks[os.Getpid()] != 1<<50 {
		t.Errorf("an earlier peak is forgotten: %d", peaks[os.Getpid()])
	}
	if peaks[child.Process.Pid] <= 0 || len(peaks) != 2 {
		t.Errorf("peaks are %v, want those of this process and of %d", peaks, child.Process.Pid)
	}
	now := map[int]int64{}
	PeaksOf(os.Getpid(), now)
	if now[os.Getpid()] < own.Anonymous+own.Files {
		t.Errorf("the peak is %d, the memory was %+v", now[os.Getpid()], own)
	}
}
