package worker

import (
	"bufio"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/curtsy/curtsy/internal/confine"
	"github.com/curtsy/curtsy/internal/document"
)

// The environment of a child: that it is one, its limit of memory in bytes, and its limit of CPU
// time in seconds. With popplerEnv it becomes that program.
const (
	childEnv   = "READS_DOCUMENTS_FOR_CURTSY"
	memoryEnv  = "READS_DOCUMENTS_IN_BYTES"
	cpuEnv     = "READS_DOCUMENTS_IN_SECONDS"
	popplerEnv = "READS_DOCUMENTS_WITH"
)

// codeStart is the exit code of a child that was started wrongly. confine.CodeLate is that of one
// whose time was over.
const codeStart = 2

// Every program that contains this package can be its own child, including test programs. Nothing
// has to be called first, so this cannot be forgotten.
func init() {
	if os.Getenv(childEnv) != "" {
		os.Exit(serve())
	}
}

// serve reads documents until its input ends, and returns the exit code.
func serve() int {
	memory, err1 := strconv.ParseInt(os.Getenv(memoryEnv), 10, 64)
	seconds, err2 := strconv.Atoi(os.Getenv(cpuEnv))
	if err1 != nil || err2 != nil || memory <= 0 || seconds <= 0 {
		return codeStart
	}
	life := time.Duration(seconds) * time.Second
	if program := os.Getenv(popplerEnv); program != "" {
		return become(program, memory, life)
	}
	// A terminal sends these signals to all processes of a command, and a service manager to all of
	// a unit. The child completes its document, and exits when its parent does.
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	runtime.GOMAXPROCS(2) // the second one collects garbage
	// With a memory limit, the runtime would collect garbage forever before it gives up.
	debug.SetGCPercent(50)
	in := bufio.NewReaderSize(os.Stdin, 64<<10)
	missing := confine.Process(memory, life)
	if err := writeAnswer(os.Stdout, ready, []byte(strings.Join(missing, ", "))); err != nil {
		return 0
	}
	questions := make(chan question)
	go func() {
		for {
			q, err := readQuestion(in)
			if err != nil {
				os.Exit(0) // the parent has gone or is done
			}
			questions <- q
		}
	}()
	for q := range questions {
		what, text := read(&q)
		if err := writeAnswer(os.Stdout, what, text); err != nil {
			return 0
		}
		q, text = question{}, nil
		debug.FreeOSMemory()
	}
	return 0
}

// read reads one document. A defect of ours ends the child: the parent notices that.
func read(q *question) (what byte, text []byte) {
	cpu := time.Duration(q.cpu) * time.Millisecond
	confine.Allow(cpu)
	if testHook != nil {
		testHook(q.file.Body)
	}
	// The result after half of the time counts; only a child that does not stop is killed.
	q.limits.Until = time.Now().Add(cpu / 2)
	p, err := document.HTML(q.file, q.limits)
	switch {
	case err != nil:
		why := err.Error()
		return not, []byte(strings.ToValidUTF8(why[:min(len(why), 300)], ""))
	case p.Cut:
		return part, p.HTML
	}
	return whole, p.HTML
}

// testHook is called with each document. Tests set it.
var testHook func(body []byte)
