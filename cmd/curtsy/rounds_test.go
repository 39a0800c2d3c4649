package main

import (
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// Rounds as an operator sees them: the command goes on, status tells of them, stop ends them.
func TestRoundsAreShown(t *testing.T) {
	r := newAtRest(t)
	cmd := exec.Command("curtsy", "crawl", "--dir", r.dir, "--every", "1m")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill() }()
	var st crawl.Status
	await(t, "a round", func() bool {
		// An error: it may be starting.
		out, _ := exec.Command("curtsy", "status", "--dir", r.dir, "--json").Output()
		st = crawl.Status{}
		return json.Unmarshal(out, &st) == nil && st.Round != nil && st.State == "running"
	})
	if st.State != "running" || st.Round.Next.Sub(st.Round.Began) != time.Minute {
		t.Errorf("%s, %+v", st.State, st.Round)
	}
	text, err := exec.Command("curtsy", "status", "--dir", r.dir).Output()
	if err != nil || !strings.Contains(string(text), "\nround ") || !strings.Contains(string(text), "the next begins ") {
		t.Errorf("status says: %v, %s", err, text)
	}
	if out, err := exec.Command("curtsy", "stop", "--dir", r.dir).CombinedOutput(); err != nil {
		t.Errorf("stop: %v, %s", err, out)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 130 {
		t.Errorf("it ends with %v, not 130", err)
	}
}
