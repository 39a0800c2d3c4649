package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// machine describes where and when the figures were measured, and of which commit.
type machine struct {
	Name      string  `json:"name"`
	Processor string  `json:"processor"`
	Cores     int     `json:"cores"`
	MemoryGiB int     `json:"memoryGiB"`
	System    string  `json:"system"`
	Go        string  `json:"go"`
	Commit    string  `json:"commit"` // with a + if there are uncommitted changes
	Pinned    bool    `json:"pinned"` // web and crawler each had a separate core
	LoadStart float64 `json:"loadAtStart"`
	LoadEnd   float64 `json:"loadAtEnd"`
}

func thisMachine(ctx context.Context, name string) machine {
	m := machine{Name: name, Cores: runtime.NumCPU(), Go: runtime.Version(), LoadStart: load(), Pinned: os.Getenv(pinned) != ""}
	if n, err := strconv.Atoi(outputOf(ctx, "nproc", "--all")); err == nil {
		m.Cores = n // this process may use one
	}
	m.Processor = field("/proc/cpuinfo", "model name")
	kib, _, _ := strings.Cut(field("/proc/meminfo", "MemTotal"), " ")
	n, _ := strconv.Atoi(kib)
	m.MemoryGiB = n >> 20
	m.System = outputOf(ctx, "uname", "-sr")
	m.Commit = outputOf(ctx, "git", "rev-parse", "--short", "HEAD")
	if outputOf(ctx, "git", "status", "--porcelain", "--untracked-files=no") != "" {
		m.Commit += "+"
	}
	if m.Name == "" {
		m.Name = m.Processor
	}
	return m
}

// slug turns the name of a machine into one for a file.
func slug(name string) string {
	return strings.Trim(strings.Join(strings.FieldsFunc(strings.ToLower(name), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	}), "-"), "-")
}

// outputOf returns the output of a command, or nothing.
func outputOf(ctx context.Context, argv ...string) string {
	out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// field returns the value of a name in a file of /proc.
func field(file, name string) string {
	text, _ := os.ReadFile(file) // empty if the machine does not have it
	for line := range strings.Lines(string(text)) {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == name {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// load returns the load average of the last minute.
func load() (l float64) {
	text, _ := os.ReadFile("/proc/loadavg")
	_, _ = fmt.Sscan(string(text), &l)
	return l
}

// machineBusy returns the total time for which the cores have not been idle since the machine
// started.
func machineBusy() time.Duration {
	text, _ := os.ReadFile("/proc/stat")
	line, _, _ := strings.Cut(string(text), "\n")
	var sum int
	for i, f := range strings.Fields(line) {
		const idle, iowait, guest = 4, 5, 9 // guests are counted as user already
		if n, err := strconv.Atoi(f); err == nil && i != idle && i != iowait && i < guest {
			sum += n
		}
	}
	return time.Duration(sum) * 10 * time.Millisecond
}

// ownCPU returns the CPU time that this process has used.
func ownCPU() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // it cannot fail for this process
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
