package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/agenthost/robottest"
	"github.com/curtsy/curtsy/internal/agenthost/sandbox"
	"github.com/curtsy/curtsy/internal/mobile"
	"github.com/curtsy/curtsy/internal/testaid"
)

// site is a host with documents in memory. It is used by one run.
type site struct {
	documents map[string]string
	body      *strings.Reader
	record    []byte
	records   []string
	lines     []string
	onLog     func(line string) error // nil: nothing
	onEmit    func() error            // likewise
	largest   int                     // the most octets that came at once
}

func (s *site) List(_ context.Context, after string, most int) (list []byte, err error) {
	var paths []string
	for p := range s.documents {
		if p > after {
			paths = append(paths, p)
		}
	}
	slices.Sort(paths)
	for _, p := range paths {
		if len(list)+len(p)+1 > most {
			if len(list) == 0 {
				return nil, mobile.SmallBuffer
			}
			break
		}
		list = append(append(list, p...), 0)
	}
	return list, nil
}

func (s *site) Open(_ context.Context, path string) ([]byte, error) {
	text, ok := s.documents[path]
	if !ok {
		return nil, fmt.Errorf("%q: %w", path, mobile.NotFound)
	}
	s.body = strings.NewReader(text)
	return []byte("Status: 200\n"), nil
}

func (s *site) Read(_ context.Context, p []byte) (int, error) {
	n, err := s.body.Read(p)
	if err == io.EOF {
		err = nil
	}
	return n, err
}

func (s *site) Emit(part []byte, last bool) error {
	s.largest = max(s.largest, len(part))
	s.record = append(s.record, part...)
	if last {
		s.records, s.record = append(s.records, string(s.record)), nil
	}
	if s.onEmit != nil {
		return s.onEmit()
	}
	return nil
}

func (s *site) Log(line []byte) error {
	s.largest = max(s.largest, len(line))
	s.lines = append(s.lines, string(line))
	if s.onLog != nil {
		return s.onLog(string(line))
	}
	return nil
}

var limits = sandbox.Options{Memory: 64 << 20, CPU: time.Minute, Wall: time.Hour}

func run(t *testing.T, ctx context.Context, o sandbox.Options, module []byte, input string, s *site) sandbox.Report {
	t.Helper()
	report, err := sandbox.Run(ctx, o, []byte(input), bytes.NewReader(module), s)
	if err != nil {
		t.Errorf("the host had a failure: %v", err)
	}
	if report.Missing != "" && !testaid.RaceDetector { // which needs more memory than the limit
		t.Errorf("the child could not give up: %s", report.Missing)
	}
	return report
}

func TestRobot(t *testing.T) {
	module := robottest.Robot(t)
	t.Run("reads and sends", func(t *testing.T) {
		s := &site{documents: map[string]string{"/a": "first", "/b": strings.Repeat("second", 30_000), "/c": ""}}
		report := run(t, t.Context(), limits, module, strings.Repeat("nothing to do\n", 50_000)+"escape\nlist 6\nread\nhead\nopen /a\nhead\nopen /b\nopen /c\nopen /d\nread\nlog line\nprint printed\nemit 200000\nlist 2\n", s)
		want := []string{
			"done", "/a", "/b", "/c", "end of list 0", "read -6", "head -6", "/a\nStatus: 200\n\nfirst", "head -2", "/b\nStatus: 200\n\n" + strings.Repeat("second", 30_000),
			"/c\nStatus: 200\n\n", "/d -3", "read -6", strings.Repeat("0123456789abcdef", 12_500), "end of list -2",
		}
		if report.Outcome != mobile.Done || !slices.Equal(s.records, want) || !slices.Equal(s.lines, []string{"line", "printed"}) {
			t.Errorf("%+v\n%.200q\n%q", report, s.records, s.lines)
		}
		if report.CPU <= 0 || s.largest > mobile.MaxPart {
			t.Errorf("CPU %s, at most %d octets at once", report.CPU, s.largest)
		}
		if _, err := os.Stat("/tmp/written-by-a-robot"); err == nil {
			t.Error("a robot has written a file")
		}
	})
	// Go's garbage collector measures time, which does not work with a clock of whole seconds.
	t.Run("makes garbage for seconds", func(t *testing.T) {
		small := sandbox.Options{Memory: 16 << 20, CPU: time.Minute, Wall: time.Hour}
		if report := run(t, t.Context(), small, module, "garbage 12000\n", &site{}); report.Outcome != mobile.Done {
			t.Errorf("%+v", report)
		}
	})
	t.Run("exits", func(t *testing.T) {
		if report := run(t, t.Context(), limits, module, "exit 7\n", &site{}); report.Outcome != mobile.Failed || !strings.Contains(report.Reason, "code 7") {
			t.Errorf("%+v", report)
		}
	})
	t.Run("is retracted while it sleeps", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		s := &site{onLog: func(string) error {
			cancel(&sandbox.Ended{Outcome: mobile.Retracted, Reason: "by the test"})
			return nil
		}}
		if report := run(t, ctx, limits, module, "log begun\nsleep\n", s); report.Outcome != mobile.Retracted || report.Reason != "by the test" {
			t.Errorf("%+v", report)
		}
	})
}

// TestEnded: a robot that never ends is ended from outside.
func TestEnded(t *testing.T) {
	module := robottest.Module{Imports: []string{"log"}, Memory: 1, Start: slices.Concat(robottest.Call(0, 0, 1), robottest.Drop, robottest.Loop())}.Octets()
	t.Run("with the host", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := &site{onLog: func(string) error { cancel(); return nil }}
		if report := run(t, ctx, limits, module, "", s); report.Outcome != mobile.Interrupted {
			t.Errorf("%+v", report)
		}
	})
	t.Run("by a user", func(t *testing.T) {
		s := &site{onLog: func(string) error { return killChild(t) }}
		if report := run(t, t.Context(), limits, module, "", s); report.Outcome != mobile.Killed {
			t.Errorf("%+v", report)
		}
	})
}

// killChild kills the one child of this process.
func killChild(t *testing.T) error {
	names, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return err
	}
	for _, name := range names {
		stat, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		_, after, _ := strings.Cut(string(stat), ") ")
		if f := strings.Fields(after); len(f) < 2 || f[1] != strconv.Itoa(os.Getpid()) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if err != nil {
			return err
		}
		p, err := os.FindProcess(pid)
		if err != nil {
			return err
		}
		return p.Kill()
	}
	t.Error("the process has no child")
	return nil
}

// TestHostile: what a compiler would not make. The end of each run is an outcome, never an error of
// the host.
func TestHostile(t *testing.T) {
	many := func(n int, f func() error) func() error {
		return func() error {
			if n--; n < 0 {
				return f()
			}
			return nil
		}
	}
	full := func() error { return &sandbox.Ended{Outcome: mobile.SendLimit, Reason: "full"} }
	pointers := func(functions ...string) []byte {
		m := robottest.Module{Imports: functions, Memory: 1}
		for i, name := range functions {
			arguments := [][]int32{{0, math.MaxInt32}, {-1, 1}, {65536, 1}, {65535, 2}, {math.MinInt32, math.MinInt32}, {1, -1}}
			for _, a := range arguments {
				switch name {
				case "input":
					a = append([]int32{0}, a...)
				case "list":
					m.Start = append(append(m.Start, robottest.Call(byte(i), 0, 1, a[0], a[1])...), robottest.Expect(int32(mobile.BadArgument))...)
					a = append(a, 0, 1)
				}
				m.Start = append(append(m.Start, robottest.Call(byte(i), a...)...), robottest.Expect(int32(mobile.BadArgument))...)
			}
		}
		return m.Octets()
	}
	second := sandbox.Options{Memory: 16 << 20, CPU: time.Second, Wall: time.Hour}
	for _, c := range []struct {
		what    string
		module  []byte
		limits  sandbox.Options
		site    *site
		outcome string
		reason  string
	}{
		{"an endless loop", robottest.Module{Start: robottest.Loop()}.Octets(), second, &site{}, mobile.CPULimit, "processor time"},
		{"an endless loop of questions", robottest.Module{Imports: []string{"open"}, Memory: 1, Start: robottest.Loop(append(robottest.Call(0, 0, 10), robottest.Drop...)...)}.Octets(), second, &site{}, mobile.CPULimit, ""},
		{"no time", robottest.Module{Start: robottest.Loop()}.Octets(), sandbox.Options{Memory: 1 << 20, CPU: time.Minute, Wall: time.Nanosecond}, &site{}, mobile.Deadline, "did not end"},
		{"memory until there is no more", robottest.Module{Memory: 1, Start: slices.Concat(robottest.Number(256), robottest.Grow, robottest.Expect(-1))}.Octets(), second, &site{}, mobile.Done, ""},
		{"memory at the limit", robottest.Module{Memory: 1, Start: slices.Concat(robottest.Number(255), robottest.Grow, robottest.Expect(1))}.Octets(), second, &site{}, mobile.Done, ""},
		{"memory over the limit from the start", robottest.Module{Memory: 257}.Octets(), second, &site{}, mobile.Failed, "256 pages"},
		{"a table of a gigabyte", robottest.Module{Table: 1 << 27}.Octets(), second, &site{}, mobile.Crashed, ""},
		{"bad pointers", pointers("input", "list", "open", "head", "read", "emit", "log"), limits, &site{}, mobile.Done, ""},
		{"an emit of more than a record", robottest.Module{Imports: []string{"emit"}, Memory: 600, Start: slices.Concat(robottest.Call(0, 0, mobile.MaxRecord+1), robottest.Expect(-1))}.Octets(), limits, &site{}, mobile.Done, ""},
		{"endless emits", robottest.Module{Imports: []string{"emit"}, Memory: 100, Start: robottest.Loop(append(robottest.Call(0, 0, 6<<20), robottest.Drop...)...)}.Octets(), limits, &site{onEmit: many(300, full)}, mobile.SendLimit, "full"},
		{"endless lines", robottest.Module{Imports: []string{"log"}, Memory: 2, Start: robottest.Loop(append(robottest.Call(0, 0, 100_000), robottest.Drop...)...)}.Octets(), limits, &site{onEmit: nil, onLog: func() func(string) error {
			stop := many(100, full)
			return func(string) error { return stop() }
		}()}, mobile.SendLimit, "full"},
		{"a trap", robottest.Module{Start: robottest.Unreachable}.Octets(), limits, &site{}, mobile.Failed, "unreachable"},
		{"no _start", robottest.Module{Hidden: true}.Octets(), limits, &site{}, mobile.Failed, "_start"},
		{"an unknown import", robottest.Module{Import: "env"}.Octets(), limits, &site{}, mobile.Failed, "env"},
		{"no module", []byte("MZ"), limits, &site{}, mobile.Failed, "cannot be compiled"},
		{"nothing", nil, limits, &site{}, mobile.Failed, "cannot be compiled"},
	} {
		if c.outcome == mobile.Crashed && testaid.RaceDetector {
			continue // there is no limit of memory
		}
		t.Run(c.what, func(t *testing.T) {
			report := run(t, t.Context(), c.limits, c.module, "", c.site)
			if report.Outcome != c.outcome || !strings.Contains(report.Reason, c.reason) {
				t.Errorf("%+v, want %s %q", report, c.outcome, c.reason)
			}
			if c.site.largest > mobile.MaxPart {
				t.Errorf("%d octets came at once", c.site.largest)
			}
		})
	}
}

// A failure of the host is an error, and the robot's outcome says so.
func TestHostFailure(t *testing.T) {
	failure := errors.New("the disk is full")
	s := &site{onEmit: func() error { return failure }}
	module := robottest.Module{Imports: []string{"emit"}, Memory: 1, Start: append(robottest.Call(0, 0, 1), robottest.Drop...)}.Octets()
	if report, err := sandbox.Run(t.Context(), limits, nil, bytes.NewReader(module), s); !errors.Is(err, failure) || report.Outcome != mobile.Failed {
		t.Errorf("%+v, %v", report, err)
	}
	broken := io.MultiReader(bytes.NewReader(module), brokenReader{failure})
	if report, err := sandbox.Run(t.Context(), limits, nil, broken, &site{}); !errors.Is(err, failure) || report.Outcome != mobile.Failed {
		t.Errorf("%+v, %v", report, err)
	}
}

type brokenReader struct{ err error }

func (b brokenReader) Read([]byte) (int, error) { return 0, b.err }
