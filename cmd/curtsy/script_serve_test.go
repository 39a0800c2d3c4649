package main

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// serving runs a server next to the script, until "serving ends", which checks that it ends
// cleanly.
type serving struct{ cmd *exec.Cmd }

// servingKey is the key of the server of a script, because scripts run in parallel.
type servingKey struct{}

// scriptServing is the command "serving serve|dashboard args", which sets SEARCH or DASHBOARD to
// the address.
func scriptServing(ts *testscript.TestScript, neg bool, args []string) {
	s := ts.Value(servingKey{}).(*serving)
	if neg || len(args) == 0 {
		ts.Fatalf("usage: serving serve|dashboard args | serving ends")
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
	cmd := exec.Command(path, args...)
	cmd.Dir, cmd.Stderr = ts.MkAbs("."), os.Stderr
	cmd.Env = append(os.Environ(), "CURTSY_LISTEN=off")
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	ts.Defer(func() { cmd.Process.Kill() })
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	ts.Check(err)
	what, url, _ := strings.Cut(strings.TrimSpace(line), ": ")
	if want := map[string]string{"serve": "search", "dashboard": "dashboard"}[args[0]]; what != want || want == "" {
		ts.Fatalf("curtsy %s says %q", args[0], line)
	}
	ts.Setenv(strings.ToUpper(what), strings.TrimSuffix(strings.TrimSuffix(url, "/search"), "/"))
	if slices.Contains(args, "--metrics") {
		line, err := lines.ReadString('\n')
		ts.Check(err)
		_, url, _ := strings.Cut(strings.TrimSpace(line), "metrics: ")
		ts.Setenv("METRICS", url)
	}
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
