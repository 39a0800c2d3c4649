package main

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// serving runs `curtsy serve` beside the script: until "serving ends", which sees it end cleanly.
type serving struct{ cmd *exec.Cmd }

// script is the command "serving args": sets SEARCH to where search is served.
func (s *serving) script(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("usage: serving args | serving ends")
	}
	if len(args) == 1 && args[0] == "ends" {
		ts.Check(s.cmd.Process.Signal(os.Interrupt))
		ts.Check(s.cmd.Wait())
		return
	}
	path := ""
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		if name := filepath.Join(dir, "curtsy"); path == "" && filepath.IsAbs(dir) {
			if _, err := os.Stat(name); err == nil {
				path = name
			}
		}
	}
	cmd := exec.Command(path, append([]string{"serve"}, args...)...)
	cmd.Dir, cmd.Stderr = ts.MkAbs("."), os.Stderr
	cmd.Env = append(os.Environ(), "CURTSY_LISTEN=off")
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	ts.Defer(func() { cmd.Process.Kill() })
	line, err := bufio.NewReader(out).ReadString('\n')
	ts.Check(err)
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "search: ")
	if !ok || !strings.HasSuffix(url, "/search") {
		ts.Fatalf("curtsy serve says %q", line)
	}
	ts.Setenv("SEARCH", strings.TrimSuffix(url, "/search"))
	s.cmd = cmd
}

// scriptAsks is the command "asks CODE URL [HOST]": the answer is on stdout, its header first.
func scriptAsks(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: asks CODE URL [HOST]")
	}
	req, err := http.NewRequest("GET", args[1], nil)
	ts.Check(err)
	if len(args) == 3 {
		req.Host = args[2]
	}
	resp, err := http.DefaultClient.Do(req)
	ts.Check(err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	ts.Check(err)
	ts.Check(resp.Header.Write(ts.Stdout()))
	_, err = ts.Stdout().Write(body)
	ts.Check(err)
	if strconv.Itoa(resp.StatusCode) != args[0] {
		ts.Fatalf("%s, want %s: %s", resp.Status, args[0], body)
	}
}
