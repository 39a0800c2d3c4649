// Command hosts crawls many hosts with a delay, like real crawls, and measures how much of the
// throughput that politeness allows is used: a host can get one request per delay plus response
// time, and that is a slot.
//
//	go run ./hosts                300 hosts at 1 s for 75 s, by one curtsy process
//	go run ./hosts -visits 64     the same with as many hosts at a time as by default
//	go run ./hosts -domains       each host has a registered domain of its own
//	go run ./hosts -bin FILE      the same with this curtsy, for example an older one
//
// The web is simulated and served by this process, so that its work does not count as that of the
// crawl; its log of requests is evaluated: the slots used after the warm-up, and every request that
// was too early or at the same time as another one.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/curtsy/curtsy/bench/command"
	"github.com/curtsy/curtsy/internal/simweb"
	"github.com/curtsy/curtsy/internal/simweb/requestlog"
)

type settings struct {
	hosts, visits, bytes       int
	delay, latency, span, warm time.Duration
	domains                    bool
	bin                        string
}

func main() {
	command.Main("hosts", parse, run)
}

func parse(args []string, stderr io.Writer) (settings, error) {
	var s settings
	f := flag.NewFlagSet("hosts", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.IntVar(&s.hosts, "hosts", 300, "hosts of the web")
	f.IntVar(&s.visits, "visits", 0, "hosts visited at once, what curtsy crawl calls --visits; 0: all of them")
	f.IntVar(&s.bytes, "bytes", 2<<10, "size of a page, about")
	f.DurationVar(&s.delay, "delay", time.Second, "least time between an answer of a host and the next request to it")
	f.DurationVar(&s.latency, "latency", 20*time.Millisecond, "least time an answer takes")
	f.DurationVar(&s.span, "time", 75*time.Second, "how long to crawl")
	f.DurationVar(&s.warm, "warm-up", 15*time.Second, "how much of that does not count: names and robots.txt are new then")
	f.BoolVar(&s.domains, "domains", false, "give each host a registered domain of its own")
	f.StringVar(&s.bin, "bin", "", "run this `FILE`; empty: build curtsy")
	if err := f.Parse(args); err != nil {
		return s, err
	}
	if s.visits == 0 {
		s.visits = s.hosts
	}
	switch {
	case f.NArg() > 0:
		return s, fmt.Errorf("unexpected argument %q", f.Arg(0))
	case s.hosts < 1 || s.visits < 1 || s.delay <= 0:
		return s, errors.New("-hosts, -visits and -delay are greater than 0")
	case s.span < s.warm+5*s.delay:
		return s, fmt.Errorf("-time %v -warm-up %v: leave at least five delays to be measured", s.span, s.warm)
	}
	return s, nil
}

func run(ctx context.Context, s settings, w io.Writer) error {
	dir, err := os.MkdirTemp("", "curtsy-hosts-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	bin := s.bin
	if bin == "" {
		bin = filepath.Join(dir, "curtsy")
		if err := command.Build(ctx, dir, "./cmd/curtsy"); err != nil {
			return err
		}
	}
	domain := "" // all hosts are below one domain of the simulated web
	if s.domains {
		domain = "test" // which is a public suffix
	}
	web, err := simweb.Start(simweb.Config{
		Domain: domain, Hosts: s.hosts, PagesPerHost: 2 * int(s.span/s.delay), PageBytes: s.bytes, LinksPerPage: 8, CrossLinks: 1,
		Mix: func(int) simweb.Behavior { return simweb.Behavior{Robots: simweb.RobotsAllowAll, Latency: s.latency} },
	})
	if err != nil {
		return err
	}
	defer web.Close()
	seeds := filepath.Join(dir, "seeds")
	if err := os.WriteFile(seeds, []byte("http://"+strings.Join(web.Hosts(), "/\nhttp://")+"/\n"), 0o600); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, bin, "crawl", "--dir", filepath.Join(dir, "data"), "--seeds", seeds, "--contact", "bench@sim.test", "--allow-private",
		"--resolve", web.Resolve(), "--delay", s.delay.String(), "--visits", strconv.Itoa(s.visits), "--max-time", s.span.String(),
		"--search=false", "--listen", "off", "--log-level", "warn")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 20 * time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	const limit = 3 // the exit code of a crawl that --max-time has ended
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != limit {
		return fmt.Errorf("curtsy crawl: %w\n%s", why(err), out.Bytes())
	}
	return report(s, web.Log(), cmd.ProcessState, w)
}

// why explains what was wrong with a crawl that ended without an error: it should have continued
// until its time was up.
func why(err error) error {
	if err == nil {
		return errors.New("it was done before its time was up: the web is too small")
	}
	return err
}

func report(s settings, log []requestlog.Request, p *os.ProcessState, w io.Writer) error {
	if len(log) == 0 {
		return errors.New("no request was made")
	}
	from := log[0].Start
	for i := range log {
		if log[i].Start.Before(from) {
			from = log[i].Start
		}
	}
	// The last seconds are left out: the crawl is being stopped.
	from, to := from.Add(s.warm), from.Add(s.span-2*s.delay)
	used := slots(log, s.delay, from, to)
	share := float64(used) / float64(time.Duration(s.hosts)*to.Sub(from))
	var answer time.Duration
	for i := range log {
		answer += log[i].End.Sub(log[i].Start)
	}
	answer /= time.Duration(len(log))
	bad := requestlog.Check(log, requestlog.CheckOptions{Token: "curtsy", Delay: requestlog.Every(s.delay)})
	cpu := p.UserTime() + p.SystemTime()
	fmt.Fprintf(w, "%d hosts at %v, %d visited at once, answers in %v, %v counted\n", s.hosts, s.delay, s.visits, answer.Round(100*time.Microsecond), to.Sub(from))
	fmt.Fprintf(w, "slot use    %.1f %%  (%.1f requests a second of %.1f possible)\n", 100*share,
		share*float64(s.hosts)/(s.delay+answer).Seconds(), float64(s.hosts)/(s.delay+answer).Seconds())
	fmt.Fprintf(w, "requests    %d, robots.txt included\n", len(log))
	fmt.Fprintf(w, "violations  %d\n", len(bad))
	fmt.Fprintf(w, "CPU         %v, %v a request, %.1f %% of a core\n", cpu.Round(time.Millisecond), (cpu / time.Duration(len(log))).Round(time.Microsecond),
		100*cpu.Seconds()/s.span.Seconds())
	if u, ok := p.SysUsage().(*syscall.Rusage); ok {
		fmt.Fprintf(w, "memory      %d MiB at most\n", u.Maxrss>>10)
	}
	for _, v := range bad[:min(len(bad), 10)] {
		fmt.Fprintln(w, v)
	}
	if len(bad) > 0 {
		return errors.New("the crawl was impolite")
	}
	return nil
}

// slots returns the total time of all slots used between from and to: each is a request and the
// delay after it.
func slots(log []requestlog.Request, delay time.Duration, from, to time.Time) (sum time.Duration) {
	for i := range log {
		a, b := log[i].Start, log[i].End.Add(delay)
		if log[i].End.IsZero() { // not answered when the log was read
			b = to
		}
		if a.Before(from) {
			a = from
		}
		if b.After(to) {
			b = to
		}
		sum += max(b.Sub(a), 0)
	}
	return sum
}
