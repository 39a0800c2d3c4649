package agenthost

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/agenthost/robottest"
	"github.com/curtsy/curtsy/internal/mobile"
	"github.com/curtsy/curtsy/internal/testaid"
	"github.com/curtsy/curtsy/pkg/atp"
	"github.com/curtsy/curtsy/pkg/botauth"
)

// hostile is a robot that does what it should not, and how it must end.
type hostile struct {
	what    string
	module  []byte // nil: the robot of package robottest
	input   string
	outcome string
	reason  string
	quick   bool // it runs in every test, and not only in long ones
}

func loopOf(name string, memory uint32, arguments ...int32) []byte {
	return robottest.Module{Imports: []string{name}, Memory: memory, Start: robottest.Loop(append(robottest.Call(0, arguments...), robottest.Drop...)...)}.Octets()
}

// random sends records of random octets.
func random() []byte {
	start := slices.Concat(robottest.Call(0, 0, 1<<19), robottest.Drop, robottest.Call(1, 0, 1<<19), robottest.Drop)
	return robottest.Module{Imports: []string{"wasi.random_get", "emit"}, Memory: 8, Start: robottest.Loop(start...)}.Octets()
}

// again reads a document again and again.
func again() []byte {
	start := []byte{}
	for i, four := range []string{"/doc", "s/a.", "html"} {
		start = append(start, robottest.Store(int32(4*i), int32(binary.LittleEndian.Uint32([]byte(four))))...)
	}
	loop := slices.Concat(robottest.Call(0, 0, 12), robottest.Expect(0), robottest.Call(1, 100, 4096), robottest.Drop)
	return robottest.Module{Imports: []string{"open", "read"}, Memory: 1, Start: append(start, robottest.Loop(loop...)...)}.Octets()
}

// hostileRobots are for hosts with the limits of hostileRig. Each is made when it is needed,
// because some are large.
func hostileRobots() []func() hostile {
	type m = robottest.Module
	start := func(parts ...[]byte) []byte { return m{Memory: 1, Locals: 1, Start: slices.Concat(parts...)}.Octets() }
	whole := m{Memory: 1}.Octets()
	paths := "/other/a.html /docs/../other/a.html /docs/%2e%2e/other/a.html /docs/..\\other\\a.html /docs/..%2fother%2fa.html /docs/%252e%252e/other/a.html /../../../secret.html /etc/passwd //docs/a.html " +
		"/docs/out.html /docs/absolute.html /docs/up/other/a.html /docs/outside/secret.html /docs/loop /docs/.git/config.txt /docs/p.php /docs/closed/a.html /docs/a.html%00 /docs/%c0%ae%c0%ae/a.html /docs/" + strings.Repeat("a/../", 1600) + "../other/a.html"
	list := []func() hostile{
		func() hostile {
			return hostile{"an endless loop", m{Start: robottest.Loop()}.Octets(), "", mobile.CPULimit, "", false}
		},
		func() hostile {
			return hostile{"an endless loop before _start", m{Begin: robottest.Loop()}.Octets(), "", mobile.CPULimit, "", false}
		},
		func() hostile {
			return hostile{"endless recursion", m{Start: robottest.Call(0)}.Octets(), "", mobile.Failed, "stack overflow", true}
		},
		func() hostile {
			return hostile{"endless recursion with 1,000 variables each", m{Locals: 1000, Start: robottest.Call(0)}.Octets(), "", mobile.Failed, "stack overflow", true}
		},
		func() hostile {
			return hostile{"all memory there is, filled, and more", start(robottest.Number(1023), robottest.Grow, robottest.Drop, robottest.Number(0), robottest.Number(1), robottest.Number(64<<20), robottest.Fill, robottest.Number(1), robottest.Grow, robottest.Expect(-1)), "", mobile.Done, "", true}
		},
		func() hostile {
			return hostile{"a billion requests for more memory", start(robottest.Times(1e9, slices.Concat(robottest.Number(1), robottest.Grow, robottest.Drop)...)), "", mobile.CPULimit, "", false}
		},
		func() hostile {
			return hostile{"more memory than a robot may have", m{Memory: 1025}.Octets(), "", mobile.Failed, "1024 pages", true}
		},
		func() hostile {
			return hostile{"a table of a gigabyte", m{Table: 1 << 27}.Octets(), "", mobile.Crashed, "", false}
		},
		func() hostile {
			return hostile{"a table of 32 gigabytes", m{Table: 1<<32 - 1}.Octets(), "", "", "", false}
		},
		func() hostile {
			return hostile{"16 MiB of data", m{Memory: 256, Data: 16 << 20}.Octets(), "", mobile.Done, "", false}
		},
		func() hostile {
			return hostile{"data beyond the memory", m{Memory: 1, Data: 1 << 17}.Octets(), "", mobile.Failed, "", true}
		},
		func() hostile {
			return hostile{"no module", []byte("MZ\x90"), "", mobile.Failed, "cannot be compiled", true}
		},
		func() hostile {
			return hostile{"half a module", whole[:len(whole)-3], "", mobile.Failed, "cannot be compiled", true}
		},
		func() hostile {
			return hostile{"31 MiB of zero octets", make([]byte, 31<<20), "", mobile.Failed, "cannot be compiled", false}
		},
		func() hostile {
			return hostile{"a function of 31 MiB", m{Start: bytes.Repeat(slices.Concat(robottest.Number(0), robottest.Drop), 31<<20/3)}.Octets(), "", "", "", false}
		},
		func() hostile {
			return hostile{"100,000 blocks in each other", m{Start: robottest.Nested(100_000)}.Octets(), "", "", "", false}
		},
		func() hostile {
			return hostile{"10 million blocks in each other", m{Start: robottest.Nested(10_000_000)}.Octets(), "", "", "", false}
		},
		func() hostile { return hostile{"a million functions", m{More: 1_000_000}.Octets(), "", "", "", false} },
		func() hostile {
			return hostile{"100 million variables", m{Locals: 100_000_000}.Octets(), "", "", "", false}
		},
		func() hostile {
			return hostile{"four billion variables", m{Locals: 1<<32 - 1}.Octets(), "", "", "", false}
		},
		func() hostile {
			return hostile{"functions that the host does not have", m{Import: "env"}.Octets(), "", mobile.Failed, "env", true}
		},
		func() hostile {
			return hostile{"files of WASI", m{Imports: []string{"wasi.path_open"}}.Octets(), "", mobile.Failed, "", true}
		},
		func() hostile {
			return hostile{"random octets without end", loopOf("wasi.random_get", 16, 0, 1<<20), "", mobile.CPULimit, "", false}
		},
		func() hostile {
			return hostile{"output without end", m{Imports: []string{"wasi.fd_write"}, Memory: 2, Start: append(robottest.Store(4, 100_000), robottest.Loop(append(robottest.Call(0, 1, 0, 1, 8), robottest.Drop...)...)...)}.Octets(), "", mobile.CPULimit, "", false}
		},
		func() hostile { return hostile{"sleep", nil, "sleep\n", mobile.Deadline, "", false} },
		func() hostile {
			return hostile{"a panic with a reason of 10 MB", nil, "panic " + strings.Repeat("x", 10<<20) + "\n", mobile.Failed, "code 2", false}
		},
		func() hostile {
			return hostile{"20 paths out of the subtree", nil, "only-open " + strings.ReplaceAll(paths, " ", "\nonly-open ") + "\n", mobile.Done, "", true}
		},
		func() hostile {
			return hostile{"records without end", nil, "emit-forever\n", mobile.CPULimit, "", false}
		},
		func() hostile {
			return hostile{"records without end that cannot be compressed", random(), "", mobile.SendLimit, "", true}
		},
		func() hostile {
			return hostile{"records of 32 MiB without end", loopOf("emit", 512, 0, 32<<20-65536), "", "", "", false}
		},
		func() hostile { return hostile{"a document again and again", again(), "", mobile.CPULimit, "", false} },
	}
	for _, c := range []struct {
		name      string
		arguments []int32
	}{{"input", []int32{0, 0, 65536}}, {"list", []int32{0, 0, 0, 65536}}, {"open", []int32{0, 8192}}, {"head", []int32{0, 65536}}, {"read", []int32{0, 65536}}, {"emit", []int32{0, 0}}, {"log", []int32{0, 4096}}} {
		list = append(list, func() hostile {
			return hostile{"calls of " + c.name + " without end", loopOf(c.name, 2, c.arguments...), "", mobile.CPULimit, "", false}
		}, func() hostile {
			wild := slices.Repeat([]int32{-1}, len(c.arguments))
			module := m{Imports: []string{c.name}, Memory: 1, Locals: 1, Start: robottest.Times(1_000_000, slices.Concat(robottest.Call(0, wild...), robottest.Expect(int32(mobile.BadArgument)))...)}
			return hostile{"a million calls of " + c.name + " with wild pointers", module.Octets(), "", mobile.Done, "", c.name == "open"}
		})
	}
	return list
}

func hostileRig(t *testing.T) *rig {
	return newRig(t, func(o *Options) {
		o.Runs, o.Memory, o.CPU, o.Wall, o.Read, o.Sent = 1, 64<<20, 2*time.Second, time.Minute, 1<<20, 1<<20
		o.Allowed[0].Quota = Quota{Runs: 1 << 40, Read: 1 << 60, Sent: 1 << 60, CPU: 1 << 60}
	})
}

// cost is what something has cost.
type cost struct {
	cpu, took    time.Duration // of the robot's process; by the clock
	child        int64         // the most memory of the robot's process that was seen
	heap, parent int64         // by which the heap of this process grew, and its memory meanwhile
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

func (c cost) String() string {
	return fmt.Sprintf("%.2f s | %.2f s | %s | %.0f kB | %s", c.cpu.Seconds(), c.took.Seconds(), megabytes(c.child), float64(c.heap)/1e3, megabytes(c.parent))
}

// measure runs f, and measures it in long tests.
func measure(f func()) (c cost) {
	if !testaid.Long {
		f()
		return c
	}
	before := heap()
	debug.FreeOSMemory()
	resident := memoryOf("self", "VmRSS:")
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // VmHWM begins again
	stop, done := make(chan struct{}), sync.WaitGroup{}
	done.Go(func() {
		ticker := time.NewTicker(3 * time.Millisecond)
		defer ticker.Stop()
		for pid := ""; ; {
			select {
			case <-stop:
				return
			case <-ticker.C:
				var now int64
				pid, now = childMemory(pid)
				c.child = max(c.child, now)
			}
		}
	})
	began := time.Now()
	f()
	c.took = time.Since(began)
	close(stop)
	done.Wait()
	c.parent = memoryOf("self", "VmHWM:") - resident
	c.heap = heap() - before
	return c
}

// processorTime is that of this process and of all its children.
func processorTime() (sum time.Duration) {
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var used syscall.Rusage
		if syscall.Getrusage(who, &used) == nil {
			sum += time.Duration(used.Utime.Nano() + used.Stime.Nano())
		}
	}
	return sum.Truncate(time.Second)
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// memoryOf returns a line of the status of a process, in bytes.
func memoryOf(process, line string) int64 {
	status, _ := os.ReadFile("/proc/" + process + "/status") // empty if it has gone
	_, after, _ := strings.Cut(string(status), line)
	after, _, _ = strings.Cut(strings.TrimSpace(after), " ")
	n, _ := strconv.ParseInt(after, 10, 64)
	return n << 10
}

// childMemory is the most memory that the process of a robot had until now. known is its number, or
// empty, and is returned as well.
func childMemory(known string) (pid string, n int64) {
	if n := memoryOf(known, "VmHWM:"); known != "" && n > 0 {
		return known, n
	}
	names, _ := filepath.Glob("/proc/[0-9]*")
	for _, name := range names {
		status, _ := os.ReadFile(name + "/status") // empty if it has gone
		// Before it has another name, its memory is that of this process.
		if bytes.HasPrefix(status, []byte("Name:\texe\n")) && bytes.Contains(status, []byte("\nPPid:\t"+strconv.Itoa(os.Getpid())+"\n")) {
			pid = filepath.Base(name)
			return pid, memoryOf(pid, "VmHWM:")
		}
	}
	return "", 0
}

// TestHostileRobots: each run has the outcome it must have, and the host serves the next one. Long
// tests (make hostile) run all of them and print what each has cost.
func TestHostileRobots(t *testing.T) {
	if testaid.RaceDetector {
		t.Skip("a process has no limit of memory")
	}
	r := hostileRig(t)
	robot := robottest.Robot(t)
	r.fetch(r.dispatch(quick(), ""))
	table := "| case | outcome | CPU of the child | time | memory of the child | heap growth of the parent | memory of the parent meanwhile |\n|---|---|---|---|---|---|---|\n"
	for _, newCase := range hostileRobots() {
		c := newCase()
		if !c.quick && !testaid.Long {
			continue
		}
		testaid.Until(t, "the slot is free", func() bool { return len(r.host.slots) == 0 })
		module := c.module
		if module == nil {
			module = robot
		}
		body := r.body(r.ticket(module, []byte(c.input)), r.key, module, []byte(c.input))
		var run *run
		cost := measure(func() {
			res, _ := r.do(atp.Dispatch, dispatchHeader(), body)
			if res.Status != 202 {
				t.Fatalf("%s: %d %s", c.what, res.Status, res.Reason)
			}
			run = r.host.find(res.Header.Get(atp.AgentID))
			<-run.done
		})
		end := run.Summary
		cost.cpu = time.Duration(end.CPU * float64(time.Second))
		if end.Outcome != c.outcome && c.outcome != "" || !strings.Contains(end.Reason, c.reason) {
			t.Errorf("%s: %+v, want %s %q", c.what, end, c.outcome, c.reason)
		}
		if strings.Contains(c.what, "paths") {
			codes, _, _ := readResults(t, r.fetch(run.ID))
			if len(codes) != 20 || slices.ContainsFunc(codes, func(code string) bool { return !strings.HasPrefix(code, "-") }) {
				t.Errorf("%s: %q", c.what, codes)
			}
		}
		table += fmt.Sprintf("| %s | %s | %v |\n", c.what, end.Outcome, cost)
		if end.Outcome == mobile.Failed || end.Outcome == mobile.Crashed {
			t.Logf("%s: %s", c.what, end.Reason)
		}
	}
	if testaid.Long {
		t.Log("\n" + table)
	}
}

// TestHostileDispatches: what a host refuses costs it little. Long tests print the costs.
func TestHostileDispatches(t *testing.T) {
	r := hostileRig(t)
	stranger, err := botauth.NewKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	module, now := quick(), time.Now().Unix()
	ticket := func(change func(tk *mobile.Ticket)) mobile.Ticket {
		tk := r.ticket(module, nil)
		if change != nil {
			change(&tk)
		}
		return tk
	}
	used := r.body(ticket(nil), r.key, module, nil)
	if res, _ := r.do(atp.Dispatch, dispatchHeader(), used); res.Status != 202 {
		t.Fatalf("%d %s", res.Status, res.Reason)
	}
	changed := bytes.Replace(used, []byte("ExampleBot"), []byte("ExampleBox"), 1)
	unsigned := append(append(slices.Clone(used[:bytes.IndexByte(used, '\n')+1]), "\n0\n"...), module...)
	big := make([]byte, 31<<20)
	table := "| request | status | time | heap growth |\n|---|---|---|---|\n"
	for _, c := range []struct {
		what   string
		body   []byte
		status int
	}{
		{"unsigned", unsigned, 401}, {"changed after it was signed", changed, 401}, {"signed with a key that is not on the allow-list", r.body(ticket(nil), stranger, module, nil), 401},
		{"the same, with a module of 31 MiB", r.body(ticket(nil), stranger, big, nil), 401},
		{"expired", r.body(ticket(func(tk *mobile.Ticket) { tk.NotBefore, tk.NotAfter = now-7200, now-3600 }), r.key, module, nil), 403},
		{"not yet valid", r.body(ticket(func(tk *mobile.Ticket) { tk.NotBefore, tk.NotAfter = now+3600, now+7200 }), r.key, module, nil), 403},
		{"for another site", r.body(ticket(func(tk *mobile.Ticket) { tk.Site = "https://other.example" }), r.key, module, nil), 403},
		{"for a subtree that the key may not read", r.body(ticket(func(tk *mobile.Ticket) { tk.Subtree = "/" }), r.key, module, nil), 403},
		{"replayed", used, 409}, {"another module than the ticket names, of 31 MiB", r.body(ticket(nil), r.key, big, nil), 400},
		{"a module that the host does not have", r.body(r.ticket(big, nil), r.key, nil, nil), 428},
	} {
		var status int
		cost := measure(func() {
			testaid.Until(t, "the slot is free", func() bool {
				res, _ := r.do(atp.Dispatch, dispatchHeader(), c.body)
				status = res.Status
				return status != 503
			})
		})
		if status != c.status {
			t.Errorf("%s: %d, want %d", c.what, status, c.status)
		}
		table += fmt.Sprintf("| %s | %d | %.1f ms | %.0f kB |\n", c.what, status, float64(cost.took)/1e6, float64(cost.heap)/1e3)
	}
	if testaid.Long {
		t.Log("\n" + table)
	}
}

// TestManyDispatches: the memory of a host does not grow with the requests of one key, nearly all
// of which its quota refuses. Nor does it with runs, beyond those that are kept.
func TestManyDispatches(t *testing.T) {
	for _, c := range []struct {
		what        string
		runs        int64 // of the quota
		short, long []int // after how many dispatches the memory is compared
	}{
		{"refused", 10, []int{100, 200, 300}, []int{1000, 10_000, 100_000}},
		{"run", 1 << 40, []int{5, 10}, []int{1000, 10_000, 30_000}},
	} {
		t.Run(c.what, func(t *testing.T) {
			marks := c.short
			if testaid.Long {
				marks = c.long
			}
			r := hostileRig(t)
			r.host.p.allowed[mobile.KeyText(r.key.Public())] = func() Robot {
				robot := r.o.Allowed[0]
				robot.Quota.Runs = c.runs
				return robot
			}()
			module := quick()
			r.fetch(r.dispatch(module, ""))
			status := map[int]int{}
			n, first := 0, int64(0)
			for _, mark := range marks {
				for ; n < mark; n++ {
					body := r.body(r.ticket(module, nil), r.key, nil, nil)
					testaid.Until(t, "the slot is free", func() bool {
						res, _ := r.do(atp.Dispatch, dispatchHeader(), body)
						if res.Status == 503 {
							return false
						}
						status[res.Status]++
						if res.Status == 202 {
							<-r.host.find(res.Header.Get(atp.AgentID)).done
						}
						return true
					})
				}
				now := heap()
				debug.FreeOSMemory()
				info, err := os.Stat(filepath.Join(r.o.Dir, "agenthost.db"))
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("%d dispatches, by status %v: heap %s, resident %s, agenthost.db %s, processor time %s", n, status, megabytes(now), megabytes(memoryOf("self", "VmRSS:")), megabytes(info.Size()), processorTime())
				if first == 0 {
					first = now
				}
				if now-first > 2<<20 {
					t.Errorf("the heap grew by %d bytes", now-first)
				}
			}
		})
	}
}
