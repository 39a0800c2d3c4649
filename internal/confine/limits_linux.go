package confine

import (
	"os"
	"os/signal"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Process gives up the privileges of this process that a child does not need, and returns those
// that it could not give up: words for a log. memory is in bytes, in addition to what the process
// has now. life is its CPU time in total; Allow sets a shorter one. It is called once, before the
// process reads anything from outside.
func Process(memory int64, life time.Duration) (missing []string) {
	// A timer makes the runtime open its polling files, which would be impossible later. SIGXCPU,
	// which reports that the time is over, must be handled here, because otherwise it is ignored.
	time.NewTimer(time.Hour).Stop()
	late := make(chan os.Signal, 1)
	signal.Notify(late, unix.SIGXCPU)
	go func() {
		<-late
		os.Exit(CodeLate)
	}()
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	// If memory runs out, the kernel kills this process before its parent.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0o600)
	limits := []limit{
		{"files", unix.RLIMIT_NOFILE, 0},
		{"writing", unix.RLIMIT_FSIZE, 0},
		{"core", unix.RLIMIT_CORE, 0},
		{"time", unix.RLIMIT_CPU, uint64(life / time.Second)},
	}
	// Addresses are not limited, because the runtime reserves more than it uses. A process that has
	// more data already, such as one with the race detector, would end at once.
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

// maxStart is more memory than any child has before its first document, including stacks of C
// threads.
const maxStart = 512 << 20

// dataNow returns how much of RLIMIT_DATA is used, if the kernel reports it.
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

// set lowers a limit permanently. A limit that is lower already is kept.
func (l limit) set() bool {
	var now unix.Rlimit
	if unix.Prlimit(0, l.resource, nil, &now) != nil {
		return false
	}
	n := min(l.most, now.Max)
	return unix.Prlimit(0, l.resource, &unix.Rlimit{Cur: n, Max: n}, nil) == nil
}

// Allow allows this process this much more CPU time, and up to one second beyond, because the
// kernel counts whole seconds. Then SIGXCPU ends it.
func Allow(cpu time.Duration) {
	var used unix.Rusage
	var now unix.Rlimit
	if unix.Getrusage(unix.RUSAGE_SELF, &used) != nil || unix.Prlimit(0, unix.RLIMIT_CPU, nil, &now) != nil {
		return
	}
	most := time.Duration(used.Utime.Nano()+used.Stime.Nano()) + cpu
	soft := uint64((most + time.Second - 1) / time.Second)
	_ = unix.Prlimit(0, unix.RLIMIT_CPU, &unix.Rlimit{Cur: min(soft, now.Max), Max: now.Max}, nil)
}

// BeforeExec limits another program before it replaces this process. The program opens its own
// libraries and fonts, so it may read files. It cannot change files and has no network.
//
// Until the program has replaced it, this process may need a new thread. With a limit of addresses
// (RLIMIT_AS) below those that the runtime has reserved, it would end there.
func BeforeExec(memory int64, cpu time.Duration) {
	for _, l := range []limit{
		{"memory", unix.RLIMIT_DATA, uint64(memory)},
		{"writing", unix.RLIMIT_FSIZE, 0},
		{"core", unix.RLIMIT_CORE, 0},
		{"time", unix.RLIMIT_CPU, uint64(max(cpu, time.Second) / time.Second)},
	} {
		l.set()
	}
	_ = filter(reading())
}

// Limit limits each process that this one starts: its memory and the length of a file, in bytes. If
// memory runs out, the kernel kills them first. It returns what could not be limited.
func Limit(memory, file int64) (missing []string) {
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0o600)
	for _, l := range []limit{
		{"memory", unix.RLIMIT_DATA, uint64(memory)},
		{"writing", unix.RLIMIT_FSIZE, uint64(file)},
		{"core", unix.RLIMIT_CORE, 0},
	} {
		if !l.set() {
			missing = append(missing, l.name)
		}
	}
	return missing
}
