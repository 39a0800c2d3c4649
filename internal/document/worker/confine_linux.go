package worker

import (
	"os"
	"os/signal"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// confine gives up what a child does not need, and says what could not be given up. life is how
// much CPU time it may have in all.
func confine(memory int64, life time.Duration) (missing []string) {
	// A timer has the runtime open what it waits with, which it could not do later; the kernel's
	// word that the time is up is ignored unless somebody listens.
	time.NewTimer(time.Hour).Stop()
	late := make(chan os.Signal, 1)
	signal.Notify(late, unix.SIGXCPU)
	go func() {
		<-late
		os.Exit(codeLate)
	}()
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	// When memory runs out this process goes before the one that started it.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0o600)
	limits := []limit{
		{"files", unix.RLIMIT_NOFILE, 0},
		{"writing", unix.RLIMIT_FSIZE, 0},
		{"core", unix.RLIMIT_CORE, 0},
		{"time", unix.RLIMIT_CPU, uint64(life / time.Second)},
	}
	// Addresses are not limited: the runtime reserves more than it uses. What has more data
	// already, as the race detector has, would end at once.
	if has := dataNow(); has < maxStart {
		limits = append(limits, limit{"memory", unix.RLIMIT_DATA, uint64(has + memory)})
	} else {
		missing = append(missing, "memory")
	}
	for _, l := range limits {
		if !l.set() {
			missing = append(missing, l.name)
		}
	}
	if filter(allowed()) != nil {
		missing = append(missing, "system calls")
	}
	return missing
}

// maxStart is more than any child has before its first document, stacks of C threads included.
const maxStart = 512 << 20

// dataNow is how much of RLIMIT_DATA is used, as far as the kernel tells.
func dataNow() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(status), "VmData:")
	kib, _, _ := strings.Cut(strings.TrimSpace(after), " ")
	n, err := strconv.ParseInt(kib, 10, 64)
	if err != nil {
		return 0
	}
	return n << 10
}

type limit struct {
	name     string
	resource int
	most     uint64
}

// set lowers a limit, for good. One that is lower already stays.
func (l limit) set() bool {
	var now unix.Rlimit
	if unix.Prlimit(0, l.resource, nil, &now) != nil {
		return false
	}
	n := min(l.most, now.Max)
	return unix.Prlimit(0, l.resource, &unix.Rlimit{Cur: n, Max: n}, nil) == nil
}

// allow lets this process use so much more CPU time, and up to a second beyond, since the kernel
// counts whole ones: then SIGXCPU ends it.
func allow(cpu time.Duration) {
	var used unix.Rusage
	var now unix.Rlimit
	if unix.Getrusage(unix.RUSAGE_SELF, &used) != nil || unix.Prlimit(0, unix.RLIMIT_CPU, nil, &now) != nil {
		return
	}
	most := time.Duration(used.Utime.Nano()+used.Stime.Nano()) + cpu
	soft := uint64((most + time.Second - 1) / time.Second)
	_ = unix.Prlimit(0, unix.RLIMIT_CPU, &unix.Rlimit{Cur: min(soft, now.Max), Max: now.Max}, nil)
}

// beforeExec bounds a program that is not ours before it takes this process over: it opens its own
// libraries and fonts, so it may read files. It cannot change them, and has no network.
func beforeExec(memory int64, cpu time.Duration) {
	for _, l := range []limit{
		{"memory", unix.RLIMIT_AS, uint64(memory)},
		{"writing", unix.RLIMIT_FSIZE, 0},
		{"core", unix.RLIMIT_CORE, 0},
		{"time", unix.RLIMIT_CPU, uint64(max(cpu, time.Second) / time.Second)},
	} {
		l.set()
	}
	_ = filter(reading())
}
