// Package site runs the web that is crawled in a separate process, so that serving it does not
// count as work of the crawl.
package site

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/curtsy/curtsy/bench/command"
	"github.com/curtsy/curtsy/internal/simweb"
	"github.com/curtsy/curtsy/internal/simweb/requestlog"
)

// Command is the argument with which a measuring program becomes the server: see [Serve].
const Command = "serve"

// Options define what is served: pages of 18 KB with 43 links each.
type Options struct {
	Hosts, PagesPerHost int
	Cross               int           // of a page's links, how many lead to any host
	Addr                string        // where to listen; "": a free port of 127.0.0.1
	Latency             time.Duration // before each answer
	HasUsage            bool          // each site states what its pages may be used for
	Count               bool          // a log is kept, from which [Site.Stop] returns counts
}

// Config returns the simulated web of the options.
func (o Options) Config() simweb.Config {
	cfg := simweb.Bench(o.Hosts, o.PagesPerHost, o.Cross)
	// wget2 1.99 requests addresses exactly as written in the page. The cost of a page is measured,
	// so it should get the same pages as the others.
	cfg.Addr, cfg.Undecoded = o.Addr, true
	if o.Count {
		cfg.LogLimit = 20 * o.Hosts * (o.PagesPerHost + 1)
	}
	plain := cfg.Mix
	cfg.Mix = func(i int) simweb.Behavior {
		b := plain(i)
		b.Latency = o.Latency
		if o.HasUsage {
			say(&b)
		}
		return b
	}
	return cfg
}

// say adds statements about the use of its pages to a site, of every kind; none of them forbids
// storing a page.
func say(b *simweb.Behavior) {
	b.Robots, b.RobotsText = simweb.RobotsCustom, "User-agent: *\nContent-Signal: search=yes, ai-input=yes, ai-train=no\n"+
		"Content-Usage: search=y, train-ai=n\nContent-Usage: /p ai-use=n\nLicense: https://licences.example/1.xml\nAllow: /\n"
	b.Header = []string{"Content-Usage: train-ai=n, search=y", "Content-Signal: search=yes, ai-train=no"}
}

// Info describes the server.
type Info struct {
	Addr    string   `json:"addr"`
	Resolve string   `json:"resolve"` // for --resolve
	Hosts   []string `json:"hosts"`
	Seeds   []string `json:"seeds"`
	Pages   int      `json:"pages"`
}

// Served has the counts of the server's log, if it kept one.
type Served struct {
	Pages    int `json:"pages"`    // different ones, sent completely
	Requests int `json:"requests"` // of any kind
}

// Serve is the process of the server: args are the JSON form of Options. It prints what it serves
// on its first line, and what it has served on its last, when its standard input ends, at the
// latest with its parent. It returns the exit code.
func Serve(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if err := serve(args, stdin, stdout); err != nil {
		fmt.Fprintln(stderr, "the site's server:", err)
		return 1
	}
	return 0
}

func serve(args []string, stdin io.Reader, stdout io.Writer) error {
	var o Options
	if len(args) != 1 {
		return errors.New("one argument is wanted, the options")
	}
	if err := json.Unmarshal([]byte(args[0]), &o); err != nil {
		return err
	}
	web, err := simweb.Start(o.Config())
	if err != nil {
		return err
	}
	defer web.Close()
	out := json.NewEncoder(stdout)
	err = out.Encode(Info{Addr: web.Addr(), Resolve: web.Resolve(), Hosts: web.Hosts(), Seeds: web.Seeds(), Pages: web.Pages()})
	if err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, stdin); err != nil {
		return err
	}
	if n := web.LogDropped(); n > 0 {
		return fmt.Errorf("the log was full: %d requests are not in it", n)
	}
	return out.Encode(count(web.Log()))
}

// count reads the log. A page is the same in whichever spelling its query was requested.
func count(log []requestlog.Request) (n Served) {
	pages := map[string]bool{}
	for i := range log {
		r := &log[i]
		n.Requests++
		if r.Status == 200 && !r.Robots && !r.Aborted && !r.End.IsZero() {
			pages[r.Host+strings.ReplaceAll(r.Path, "&amp;", "&")] = true
		}
	}
	n.Pages = len(pages)
	return n
}

// Site is the process of the server, as its parent sees it.
type Site struct {
	Info
	cmd    *exec.Cmd
	stdin  io.Closer
	stdout *bufio.Reader
}

// Start starts a server for one crawl, so that the caches are in the same state for each crawl.
func Start(ctx context.Context, o Options) (*Site, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	arg, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	// Not in our process group, so that ^C only reaches this program, which stops it.
	cmd := exec.CommandContext(ctx, self, Command, string(arg))
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the site's server: %w", err)
	}
	w := &Site{cmd: cmd, stdin: stdin, stdout: bufio.NewReader(stdout)}
	if err := w.read(&w.Info); err != nil {
		w.Stop()
		return nil, fmt.Errorf("the site's server did not come up: %w", err)
	}
	return w, nil
}

func (w *Site) read(v any) error {
	line, err := w.stdout.ReadBytes('\n')
	if err != nil {
		return err
	}
	return json.Unmarshal(line, v)
}

// CPU returns the CPU time that the server has used so far, 0 if the system does not report it.
func (w *Site) CPU() time.Duration { return command.CPUOf(w.cmd.Process.Pid) }

// Stop ends the server and returns the CPU time that it used, and the counts of its log. A second
// call returns an error.
func (w *Site) Stop() (cpu time.Duration, n Served, err error) {
	w.stdin.Close()
	err = w.read(&n)
	if err = errors.Join(err, w.cmd.Wait()); err != nil {
		err = fmt.Errorf("the site's server: %w", err)
	}
	if p := w.cmd.ProcessState; p != nil {
		cpu = p.UserTime() + p.SystemTime()
	}
	return cpu, n, err
}

// Web returns the web of the options without serving it: it knows its addresses.
func (o Options) Web() *simweb.Web { return simweb.New(o.Config()) }
