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

	"github.com/curtsy/curtsy/internal/document"
)

// The environment of a child: what it is, how much memory it may have in bytes, and how much CPU
// time in seconds. With popplerEnv it becomes that program.
const (
	childEnv   = "READS_DOCUMENTS_FOR_CURTSY"
	memoryEnv  = "READS_DOCUMENTS_IN_BYTES"
	cpuEnv     = "READS_DOCUMENTS_IN_SECONDS"
	popplerEnv = "READS_DOCUMENTS_WITH"
)

// Exit codes of a child: it was started wrongly, it used up its time.
const (
	codeStart = 2
	codeLate  = 3
)

// Every program that this package is part of can be a child of itself, test programs as well:
// nothing must be called first, so nothing can be forgotten.
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
	// A terminal sends these to all processes of a command, a service manager to all of a unit.
	// What is read then is no worse for it: the child goes when its parent does.
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	runtime.GOMAXPROCS(2) // the second one collects garbage
	// A limit of the runtime's own would have it collect for ever before it gives up.
	debug.SetGCPercent(50)
	in := bufio.NewReaderSize(os.Stdin, 64<<10)
	missing := confine(memory, life)
	if err := writeAnswer(os.Stdout, ready, []byte(strings.Join(missing, ", "))); err != nil {
		return 0
	}
	questions := make(chan question)
	go func() {
		for {
			q, err := readQuestion(in)
			if err != nil {
				os.Exit(0) // the parent has gone, or wants no more, whatever is read at the moment
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

// read reads one document. A mistake of ours ends the child with it: the parent sees that.
func read(q *question) (what byte, text []byte) {
	cpu := time.Duration(q.cpu) * time.Millisecond
	allow(cpu)
	if testHook != nil {
		testHook(q.file.Body)
	}
	// What is read by half the time counts; only who cannot stop is killed.
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

// testHook is called with each document; tests set it.
var testHook func(body []byte)
