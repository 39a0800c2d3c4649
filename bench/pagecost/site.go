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
// PAGES-PER-HOST CROSS-LINKS ADDR.
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
	cmd := exec.CommandContext(ctx, self, serveCommand, strconv.Itoa(s.hosts), strconv.Itoa(s.pages/s.hosts), strconv.Itoa(s.cross), addr)
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
