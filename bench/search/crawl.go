package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// A bench is a directory with a binary of the checkout and what it crawled, kept for the next run.
type bench struct {
	dir     string
	manuals []manual
	shards  int
}

func (b bench) binary() string { return filepath.Join(b.dir, "curtsy") }
func (b bench) data() string   { return filepath.Join(b.dir, fmt.Sprintf("data-%d", b.shards)) }
func (b bench) pages() string  { return filepath.Join(b.dir, fmt.Sprintf("pages-%d.jsonl", b.shards)) }

// build builds curtsy as the checkout around this module has it.
func (b bench) build(ctx context.Context) error {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/curtsy/curtsy").Output()
	if err != nil {
		return fmt.Errorf("find the checkout (run this in bench/): %w", err)
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-o", b.binary(), "./cmd/curtsy")
	cmd.Dir = strings.TrimSpace(string(out))
	_, _, err = run(cmd)
	return err
}

// crawl crawls all manuals and exports their text, or does nothing where an earlier run did.
// What says that it is done is the export, which is renamed to its name when it is whole.
func (b bench) crawl(ctx context.Context) error {
	if _, err := os.Stat(b.pages()); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	addr, closeWeb, err := serve(b.manuals)
	if err != nil {
		return err
	}
	defer closeWeb()
	args := []string{"crawl", "--dir", b.data(), "--allow-private", "--delay", "0s", "--resolve", "*.manual.test=" + addr,
		"--shards", strconv.Itoa(b.shards), "--listen", "off", "--log-level", "warn"}
	for _, m := range b.manuals {
		args = append(args, "http://"+m.host()+"/")
	}
	if _, _, err := run(exec.CommandContext(ctx, b.binary(), args...)); err != nil {
		return err
	}
	f, err := os.Create(b.pages() + ".new")
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, b.binary(), "export", "pages", "--dir", b.data())
	cmd.Stdout = f
	_, _, err = run(cmd)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), b.pages())
}

// A page is one line of the export.
type page struct{ URL, Title, Text string }

// each calls do with every page that the crawl exported.
func (b bench) each(do func(page) error) error {
	f, err := os.Open(b.pages())
	if err != nil {
		return err
	}
	defer f.Close()
	for dec := json.NewDecoder(f); ; {
		var p page
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := do(p); err != nil {
			return err
		}
	}
}

// reindex makes the index anew from the stored pages, after a change to what is indexed.
func (b bench) reindex(ctx context.Context) error {
	_, _, err := run(exec.CommandContext(ctx, b.binary(), "reindex", "--dir", b.data()))
	return err
}

// run runs a command and returns its standard output, unless that goes elsewhere, and its CPU time.
func run(cmd *exec.Cmd) ([]byte, time.Duration, error) {
	var stdout, stderr bytes.Buffer
	if cmd.Stdout == nil {
		cmd.Stdout = &stdout
	}
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		return nil, 0, fmt.Errorf("%s: %w\n%s", cmd, err, stderr.Bytes())
	}
	return stdout.Bytes(), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}
