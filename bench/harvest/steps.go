package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/curtsy/curtsy/bench/command"
)

// harvest is one run of the program.
type harvest struct {
	settings
	web  *web
	root string
	rng  *rand.Rand
	w    io.Writer
}

// took is what a step, with all of its processes, took.
type took struct {
	kills, spared int // spared: kills for which there was no time
	rss           []int64
}

func (h *harvest) data() string { return filepath.Join(h.root, "data") }
func (h *harvest) out() string  { return filepath.Join(h.root, "files") }

func (h *harvest) crawlArgs() []string {
	args := []string{"crawl", "--dir", h.data(), "--allow-private", "--contact", "bench@example.org", "--delay", "0s", "--progress", "none", "--listen", "off",
		"--log-level", "error", "--min-free", "1MiB", "--sitemaps=false", "--resolve", "*.example=" + address}
	return append(args, h.web.seeds()...)
}

func (h *harvest) getArgs() []string {
	return []string{"datasets", "get", "--json", "--all", "--data", h.data(), "--dir", h.out(), "--min-free", "1MiB", "--log-level", "error"}
}

// step runs a command until it ends by itself. Before that, it is killed some times, at random
// moments that become later with each kill, so that it gets further.
func (h *harvest) step(ctx context.Context, name string, kills int, args func() []string) (t took, err error) {
	began, sent, requests, cpu := time.Now(), h.web.sent.Load(), h.web.requests.Load(), time.Duration(0)
	for {
		var after time.Duration
		if t.kills < kills {
			after = 300*time.Millisecond + time.Duration(h.rng.Int64N(int64(2+t.kills)))*time.Second + time.Duration(h.rng.Int64N(int64(time.Second)))
		}
		p, killed, err := h.once(ctx, name, args(), after, &t)
		cpu += p.UserTime() + p.SystemTime()
		if err != nil {
			return t, err
		}
		if !killed {
			break
		}
		t.kills++
	}
	t.spared = kills - t.kills
	rss := make([]string, 3)
	for i := range rss {
		var most int64
		for _, n := range t.rss[len(t.rss)*i/3 : len(t.rss)*(i+1)/3] {
			most = max(most, n)
		}
		rss[i] = strconv.FormatInt(most>>20, 10)
	}
	fmt.Fprintf(h.w, "| %s | %d | %.1f | %d | %.1f | %.1f | %s |\n", name, t.kills, time.Since(began).Seconds(), h.web.requests.Load()-requests,
		float64(h.web.sent.Load()-sent)/1e6, cpu.Seconds(), strings.Join(rss, ", "))
	return t, nil
}

// once runs curtsy. It kills it after some time, unless that is 0 or it has ended before.
func (h *harvest) once(ctx context.Context, name string, args []string, after time.Duration, t *took) (*os.ProcessState, bool, error) {
	out, err := os.Create(filepath.Join(h.root, strings.ReplaceAll(name, " ", "-")+".out"))
	if err != nil {
		return nil, false, err
	}
	defer out.Close()
	cmd := exec.CommandContext(ctx, h.bin, args...)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		return nil, false, err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	var kill <-chan time.Time
	if after > 0 {
		kill = time.After(after)
	}
	for {
		select {
		case err := <-done:
			if err != nil {
				text, _ := os.ReadFile(out.Name())
				err = fmt.Errorf("%s: %w\n%s", name, err, text[max(len(text)-2000, 0):])
			}
			return cmd.ProcessState, false, err
		case <-kill:
			_ = cmd.Process.Kill()
			<-done
			return cmd.ProcessState, true, nil
		case <-tick.C:
			m := command.MemoryOf(cmd.Process.Pid)
			t.rss = append(t.rss, m.Anonymous+m.Files)
		}
	}
}

// check returns what is missing, twice or wrong.
func (h *harvest) check(ctx context.Context) (wrong []string, err error) {
	list, err := h.read(ctx, "datasets", "--json", "--dir", h.data())
	if err != nil {
		return nil, err
	}
	titles, urls := map[string]int{}, map[string]int{}
	for d := json.NewDecoder(bytes.NewReader(list)); ; {
		var set struct {
			Title string
			Files []struct{ URL, SHA256 string }
		}
		if err := d.Decode(&set); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		titles[set.Title]++
		for _, f := range set.Files {
			urls[f.URL]++
			if want := h.web.files[f.URL]; want != f.SHA256 {
				wrong = append(wrong, fmt.Sprintf("%s: the catalogue has the digest %q, the portal %q", f.URL, f.SHA256, want))
			}
		}
	}
	wrong = append(wrong, once("dataset", titles, h.web.titles)...)
	wrong = append(wrong, once("listed file", urls, h.web.files)...)

	said, err := h.read(ctx, "datasets", "verify", "--json", h.out())
	if err != nil {
		return nil, err
	}
	var report struct {
		OK       bool
		Files    int
		Problems []struct{ Path, Problem string }
	}
	if err := json.Unmarshal(said, &report); err != nil {
		return nil, err
	}
	if !report.OK || report.Files != len(h.web.files) {
		wrong = append(wrong, fmt.Sprintf("datasets verify: %d files, %v", report.Files, report.Problems[:min(len(report.Problems), 3)]))
	}
	fetched := map[string]int{}
	packages, err := filepath.Glob(filepath.Join(h.out(), "*", "datapackage.json"))
	if err != nil {
		return nil, err
	}
	for _, name := range packages {
		var p struct {
			Resources []struct {
				Hash   string
				Curtsy struct{ URL string }
			}
		}
		text, err := os.ReadFile(name)
		if err == nil {
			err = json.Unmarshal(text, &p)
		}
		if err != nil {
			return nil, err
		}
		for _, r := range p.Resources {
			fetched[r.Curtsy.URL]++
			if want := "sha256:" + h.web.files[r.Curtsy.URL]; r.Hash != want {
				wrong = append(wrong, fmt.Sprintf("%s: %s, want %s", r.Curtsy.URL, r.Hash, want))
			}
		}
	}
	return append(wrong, once("fetched file", fetched, h.web.files)...), nil
}

// read runs curtsy and returns what it prints. An exit code of 1 is a finding and no error.
func (h *harvest) read(ctx context.Context, args ...string) ([]byte, error) {
	out, err := exec.CommandContext(ctx, h.bin, args...).Output()
	var code *exec.ExitError
	if errors.As(err, &code) && code.ExitCode() == 1 && len(out) > 0 {
		err = nil
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", strings.Join(args, " "), err)
	}
	return out, err
}

// once returns what is not there exactly once.
func once(what string, have map[string]int, want map[string]string) (wrong []string) {
	for name := range want {
		if n := have[name]; n != 1 {
			wrong = append(wrong, fmt.Sprintf("the %s %s is there %d times", what, name, n))
		}
	}
	for name := range have {
		if _, ok := want[name]; !ok {
			wrong = append(wrong, fmt.Sprintf("the %s %s is of no portal", what, name))
		}
	}
	return wrong
}
