package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"github.com/curtsy/curtsy/internal/simweb"
)

// serveCommand makes this program the site's server instead: pagecost serve HOSTS
// PAGES-PER-HOST CROSS-LINKS ADDR LATENCY SAYS.
const serveCommand = "serve"

// siteInfo is what the server says of itself on its first line of output.
type siteInfo struct {
	Addr    string   `json:"addr"`
	Resolve string   `json:"resolve"`
	Hosts   []string `json:"hosts"`
	Seeds   []string `json:"seeds"`
	Pages   int      `json:"pages"`
}

// serve serves the simulated web until its standard input ends, which it does at the
// latest with the parent.
func serve(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	var n [3]int
	for i := range n {
		if i < len(args) {
			n[i], _ = strconv.Atoi(args[i])
		}
	}
	cfg := simweb.Bench(n[0], n[1], n[2])
	if len(args) > len(n) {
		cfg.Addr = args[len(n)]
	}
	if len(args) > len(n)+1 {
		plain := cfg.Mix
		latency, _ := time.ParseDuration(args[len(n)+1])
		cfg.Mix = func(i int) simweb.Behavior {
			b := plain(i)
			b.Latency = latency
			return b
		}
	}
	if len(args) > len(n)+2 && args[len(n)+2] == "true" {
		cfg.Mix = saying(cfg.Mix)
	}
	web, err := simweb.Start(cfg)
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	defer web.Close()
	err = json.NewEncoder(stdout).Encode(siteInfo{
		Addr: web.Addr(), Resolve: web.Resolve(), Hosts: web.Hosts(), Seeds: web.Seeds(), Pages: web.Pages(),
	})
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	io.Copy(io.Discard, stdin)
	return 0
}

// saying adds to sites what they want their pages used for, as a site does that says all it can:
// none of it keeps a page from being kept.
func saying(plain func(int) simweb.Behavior) func(int) simweb.Behavior {
	return func(i int) simweb.Behavior {
		b := plain(i)
		b.Robots, b.RobotsText = simweb.RobotsCustom, "User-agent: *\nContent-Signal: search=yes, ai-input=yes, ai-train=no\n"+
			"Content-Usage: search=y, train-ai=n\nContent-Usage: /p ai-use=n\nLicense: https://licences.example/1.xml\nAllow: /\n"
		b.Header = []string{"Content-Usage: train-ai=n, search=y", "Content-Signal: search=yes, ai-train=no"}
		return b
	}
}

// site is the server's process.
type site struct {
	siteInfo
	cmd   *exec.Cmd
	stdin io.Closer
}

// startSite starts a server of its own for each crawl: each finds it as cold or as warm as any
// other. It listens on addr, or, when that is empty, on a free port.
func startSite(ctx context.Context, s settings, addr string) (*site, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	// Not in our process group, so that ^C leaves it to us to stop it.
	cmd := exec.CommandContext(ctx, self, serveCommand, strconv.Itoa(s.hosts), strconv.Itoa(s.pages/s.hosts), strconv.Itoa(s.cross), addr,
		s.latency.String(), strconv.FormatBool(s.says))
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
	w := &site{cmd: cmd, stdin: stdin}
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &w.siteInfo)
	}
	if err != nil {
		w.stop()
		return nil, fmt.Errorf("the site's server did not come up: %w", err)
	}
	return w, nil
}

// stop ends the server and returns the CPU time it used.
func (w *site) stop() time.Duration {
	w.stdin.Close()
	_ = w.cmd.Wait() // how it ended does not matter: what it served has been judged by then
	return processCPU(w.cmd.ProcessState)
}
