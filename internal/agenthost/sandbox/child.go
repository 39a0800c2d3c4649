package sandbox

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/curtsy/curtsy/internal/confine"
	"github.com/curtsy/curtsy/internal/mobile"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
	"github.com/tetratelabs/wazero/sys"
)

// The environment of a child: that it is one, the linear memory of its robot in bytes, and its CPU
// time in seconds.
const (
	childEnv  = "RUNS_A_ROBOT_FOR_CURTSY"
	memoryEnv = "RUNS_A_ROBOT_IN_BYTES"
	cpuEnv    = "RUNS_A_ROBOT_IN_SECONDS"
)

// codeStart is the exit code of a child that was started wrongly.
const codeStart = 2

// overhead is the memory that a child may have in addition to that of its robot. Compiling a module
// of 7 MB takes 120 MB of it; a module may be five times as large.
const overhead = 768 << 20

const pageSize = 64 << 10

// resolution is what clocks report as their resolution. They show whole seconds, but wazero accepts
// no more than 0.8 s (it means an hour, in 32 bits).
const resolution = sys.ClockResolution(time.Second / 2)

// Every program that contains this package can be its own child, including test programs. Nothing
// has to be called first, so this cannot be forgotten.
func init() {
	if os.Getenv(childEnv) != "" {
		os.Exit(serve())
	}
}

// serve runs the robot that the parent sends, and returns the exit code.
func serve() int {
	memory, err1 := strconv.ParseInt(os.Getenv(memoryEnv), 10, 64)
	seconds, err2 := strconv.Atoi(os.Getenv(cpuEnv))
	if err1 != nil || err2 != nil || memory < pageSize || seconds <= 0 {
		return codeStart
	}
	// A terminal sends these signals to all processes of a command, and a service manager to all of
	// a unit. The parent decides when the robot ends.
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	runtime.GOMAXPROCS(2) // the second one collects garbage and sees the end of the input
	debug.SetGCPercent(50)
	behave()
	cpu := time.Duration(seconds) * time.Second
	// If the robot's loop never lets the runtime handle the signal at cpu, the kernel kills it.
	missing := confine.Process(memory+overhead, cpu+time.Second)
	confine.Allow(cpu)
	if writeMessage(os.Stdout, msgReady, []byte(strings.Join(missing, ", ")), nil) != nil {
		return 0
	}
	in := bufio.NewReaderSize(os.Stdin, maxMessage)
	input, module, err := receive(in)
	if err != nil {
		return 0 // the parent has gone, or has ended the run
	}
	answers := make(chan []byte)
	go func() {
		for {
			kind, answer, err := readMessage(in, make([]byte, maxMessage))
			if err != nil || kind != msgAnswer {
				os.Exit(0) // likewise
			}
			answers <- answer
		}
	}()
	failed, reason := byte(0), ""
	if err := run(&guest{out: os.Stdout, answers: answers, input: input}, module, memory); err != nil {
		failed, reason = 1, strings.ToValidUTF8(shorten(err.Error()), "")
	}
	_ = writeMessage(os.Stdout, msgEnd, []byte{failed}, []byte(reason)) // or the parent has gone
	return 0
}

// shorten cuts the reason of a failure to its first lines: wazero appends the stack of the robot.
func shorten(s string) string { return s[:min(len(s), 1000)] }

// receive reads input and module.
func receive(r io.Reader) (input, module []byte, err error) {
	buf := make([]byte, maxMessage)
	for {
		kind, payload, err := readMessage(r, buf)
		switch {
		case err != nil:
			return nil, nil, err
		case kind == msgInput && len(input)+len(payload) <= mobile.MaxInput:
			input = append(input, payload...)
		case kind == msgModule && len(module)+len(payload) <= mobile.MaxModule:
			module = append(module, payload...)
		case kind == msgStart:
			return input, module, nil
		default:
			return nil, nil, errMessage
		}
	}
}

// run runs a module until it returns. An error is its fault.
func run(g *guest, module []byte, memory int64) error {
	ctx := context.Background()
	// All linear memory is reserved at the beginning, and used only when the robot writes to it:
	// growing would otherwise copy it.
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().
		WithMemoryLimitPages(uint32(memory/pageSize)).WithMemoryCapacityFromMax(true).WithDebugInfoEnabled(false))
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, r); err != nil {
		return err
	}
	if err := g.instantiate(ctx, r); err != nil {
		return err
	}
	compiled, err := r.CompileModule(ctx, module)
	if err != nil {
		return fmt.Errorf("the module cannot be compiled: %w", err)
	}
	if _, ok := compiled.ExportedFunctions()["_start"]; !ok {
		return errors.New("the module exports no function _start")
	}
	log := &lines{write: g.logLine}
	clock := ticks{began: time.Now()}
	// Go's garbage collector limits the share of the time that it takes. After a jump of the clock
	// by a second it finds that it has taken too much, and lets the memory of the robot run out. It
	// measures nothing if it stops the program meanwhile. A robot has one thread anyway.
	config := wazero.NewModuleConfig().WithName("").WithEnv("GODEBUG", "gcstoptheworld=1").WithStdout(log).WithStderr(log).WithRandSource(rand.Reader).WithSysNanosleep().
		WithWalltime(func() (int64, int32) { return time.Now().Unix(), 0 }, resolution).
		WithNanotime(clock.now, resolution)
	_, err = r.InstantiateModule(ctx, compiled, config)
	log.flush()
	var exit *sys.ExitError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &exit) && exit.ExitCode() == 0:
		return nil
	case errors.As(err, &exit):
		return fmt.Errorf("the robot exited with code %d", exit.ExitCode())
	}
	return err
}

// ticks is a clock that shows whole seconds, and that still never shows the same time twice: each
// reading within a second is a microsecond after the one before. While its clock stands still, Go's
// garbage collector does so little that robots ran out of memory. The microseconds count readings,
// so they reveal no time.
type ticks struct {
	began time.Time
	last  int64
}

// now is in nanoseconds. It begins at a second, because Go's runtime refuses 0.
func (t *ticks) now() int64 {
	second := int64((time.Second + time.Since(t.began)).Truncate(time.Second))
	t.last = max(second, min(t.last+int64(time.Microsecond), second+int64(time.Second)-1))
	return t.last
}

// lines passes what is written to it on, line by line.
type lines struct {
	write func(line []byte)
	rest  []byte
}

func (l *lines) Write(p []byte) (int, error) {
	for _, c := range p {
		if c == '\n' || len(l.rest) == mobile.MaxLog {
			l.flush()
		}
		if c != '\n' {
			l.rest = append(l.rest, c)
		}
	}
	return len(p), nil
}

func (l *lines) flush() {
	if len(l.rest) > 0 {
		l.write(l.rest)
	}
	l.rest = l.rest[:0]
}
