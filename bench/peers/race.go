package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/curtsy/curtsy/bench/command"
	"github.com/curtsy/curtsy/bench/site"
)

// race is one crawl by the crawler of one row.
type race struct {
	settings
	web *site.Site
	bin string // where the programs of the checkout are
	dir string // a new one, on disk
	mem string // a new one, in memory if the system supports it

	mu    sync.Mutex // guards procs
	procs []*process
	ended time.Time // when the crawl was done, if its processes continue to run
}

// process is a process of the crawler.
type process struct {
	name   string
	cmd    *exec.Cmd
	output bytes.Buffer
	over   chan struct{}
	err    error // of its end; after over
}

// start starts a process on the core of the crawler. It is killed when ctx ends.
func (r *race) start(ctx context.Context, name string, argv ...string) (*process, error) {
	argv = onCrawlersCore(argv)
	p := &process{name: name, cmd: exec.CommandContext(ctx, argv[0], argv[1:]...), over: make(chan struct{})}
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = r.dir, &p.output, &p.output
	p.cmd.Env = environ()
	// C only reaches this program, which ends the process
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.cmd.WaitDelay = 5 * time.Second
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.over)
	}()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.procs = append(r.procs, p)
	return p, nil
}

// environ returns the environment without variables that would configure a crawler.
func environ() []string {
	return slices.DeleteFunc(os.Environ(), func(e string) bool {
		name, _, _ := strings.Cut(strings.ToUpper(e), "=")
		return strings.HasPrefix(name, "CURTSY_") || name == "HTTP_PROXY"
	})
}

// finish runs a process to its end, with one of these exit codes or 0.
func (r *race) finish(ctx context.Context, name string, argv []string, codes ...int) error {
	p, err := r.start(ctx, name, argv...)
	if err != nil {
		return err
	}
	<-p.over
	for _, c := range codes {
		if p.cmd.ProcessState.ExitCode() == c {
			return nil
		}
	}
	return p.error()
}

// error returns how a process ended, if that was an error.
func (p *process) error() error {
	if p.err == nil {
		return nil
	}
	output := p.output.Bytes()
	return fmt.Errorf("%s: %w: %s", p.name, p.err, output[max(0, len(output)-500):])
}

// stop asks a process to end, and waits until it has ended.
func (p *process) stop() error {
	select {
	case <-p.over:
		return errors.Join(fmt.Errorf("%s ended by itself", p.name), p.error())
	default:
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // an error means that it has just ended
	select {
	case <-p.over:
		return p.error()
	case <-time.After(time.Minute):
		return fmt.Errorf("%s did not end within a minute of SIGTERM", p.name)
	}
}

// memory returns the current memory of all processes together. It enters into peaks the most that
// each process has had so far, child processes included.
func (r *race) memory(peaks map[int]int64) (m command.Memory) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.procs {
		select {
		case <-p.over:
		default:
			m = m.Add(command.MemoryOf(p.cmd.Process.Pid))
			command.PeaksOf(p.cmd.Process.Pid, peaks)
		}
	}
	return m
}

// killAll ends the processes that a failed row has left.
func (r *race) killAll() {
	for _, p := range r.procs {
		select {
		case <-p.over:
		default:
			_ = p.cmd.Process.Kill()
			<-p.over
		}
	}
}

// result is one measured crawl.
type result struct {
	// Error is what is wrong with it; "": nothing.
	Error string `json:"error,omitempty"`
	// Pages is how many different pages were fetched, according to the log of the web.
	Pages    int                `json:"pages"`
	Requests int                `json:"requests"`
	Wall     float64            `json:"wallSeconds"`
	CPU      float64            `json:"cpuMicrosAPage"` // of all processes
	Parts    map[string]float64 `json:"cpuMicrosAPageParts"`
	// Memory is the maximum memory of all processes together.
	Memory command.Memory `json:"memoryBytes"`
	// Peak is the sum of the resident memory that each process had at most (VmHWM), in bytes.
	Peak   int64   `json:"peakBytes"`
	Server float64 `json:"serverMicrosAPage"` // the CPU time of the web itself
	// Others is how many cores were used by other processes than the crawler, the web and this
	// program.
	Others float64 `json:"othersCores"`
}

func (r result) line() string {
	if r.Error != "" {
		return r.Error
	}
	return fmt.Sprintf("%d pages in %.2f s, %.1f µs of CPU a page, %.0f MB of peak RSS; others used %.2f cores",
		r.Pages, r.Wall, r.CPU, peak(r), r.Others)
}

// measure lets one row crawl the web once.
func measure(ctx context.Context, s settings, row row, parent string) (res result) {
	if err := measured(ctx, s, row, parent, &res); err != nil {
		res.Error = err.Error()
	}
	return res
}

func measured(ctx context.Context, s settings, row row, parent string, res *result) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.limit, fmt.Errorf("not done after %v", s.limit))
	defer cancel()
	r := &race{settings: s, bin: parent}
	var err error
	if r.dir, err = os.MkdirTemp(parent, row.name+"-"); err != nil {
		return err
	}
	defer os.RemoveAll(r.dir)
	if r.mem, err = os.MkdirTemp(inMemory(parent), "curtsy-peers-"); err != nil {
		return err
	}
	defer os.RemoveAll(r.mem)
	o := site.Options{Hosts: s.hosts, PagesPerHost: s.pages, Cross: s.cross, Count: true}
	if row.names {
		o.Addr = fmt.Sprintf("127.77.%d.%d:80", os.Getpid()>>8&0xff, os.Getpid()&0xff|1)
	}
	if r.web, err = site.Start(ctx, o); err != nil {
		return err
	}
	busy, own, start := machineBusy(), ownCPU(), time.Now()
	watched := r.watch(res)
	err = row.run(ctx, r)
	end := time.Now()
	watched()
	r.killAll()
	took := time.Since(start)
	own = ownCPU() - own
	busy = machineBusy() - busy
	server, served, stopped := r.web.Stop()
	if err := errors.Join(err, stopped); err != nil {
		return errors.Join(err, context.Cause(ctx))
	}
	if !r.ended.IsZero() {
		end = r.ended
	}
	res.Pages, res.Requests, res.Wall, res.Parts = served.Pages, served.Requests, end.Sub(start).Seconds(), map[string]float64{}
	var cpu time.Duration
	for _, p := range r.procs {
		d := p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()
		cpu += d
		res.Parts[p.name] += micros(d) / float64(max(served.Pages, 1))
	}
	res.CPU, res.Server = micros(cpu)/float64(max(served.Pages, 1)), micros(server)/float64(max(served.Pages, 1))
	res.Others = max(0, (busy-cpu-server-own).Seconds()/took.Seconds())
	if served.Pages != s.hosts*s.pages {
		return fmt.Errorf("the web has %d pages, %d were fetched", s.hosts*s.pages, served.Pages)
	}
	return nil
}

// watch samples the memory twenty times a second until the function that it returns is called.
func (r *race) watch(res *result) (stop func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		peaks := map[int]int64{}
		defer func() {
			for _, p := range peaks {
				res.Peak += p
			}
		}()
		t := time.NewTicker(50 * time.Millisecond)
		defer t.Stop()
		for {
			res.Memory = res.Memory.Max(r.memory(peaks))
			select {
			case <-quit:
				return
			case <-t.C:
			}
		}
	}()
	return func() {
		close(quit)
		<-done
	}
}

// inMemory returns a directory in memory for crawlers that write one file per page, if the system
// has one: a new file on a disk may cost the kernel several times as much as the crawler's work.
func inMemory(otherwise string) string {
	const shm = "/dev/shm"
	if info, err := os.Stat(shm); err == nil && info.IsDir() {
		return shm
	}
	return otherwise
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// program returns the path of a built program of the checkout.
func (r *race) program(name string) string { return filepath.Join(r.bin, name) }
