package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// linkedFiles: somebody who may write in the data directory makes its files symbolic links. The
// crawl must end, with a message.
func linkedFiles(ctx context.Context, r *Rig) (Row, error) {
	good, err := r.NewGood(nil)
	if err != nil {
		return Row{}, err
	}
	defer good.Close()
	args := func(dir string) []string {
		return []string{"crawl", "--dir", dir, "--allow-private", "--progress", "none", "--listen", "off", "--resolve", goodHost + "=127.0.0.1",
			"--max-time", "2s", "--shards", "1", "--min-free", "1MiB", "http://" + goodHost + ":" + good.Port() + "/"}
	}
	// A first run shows which files there are.
	first := r.File("first")
	p, err := r.Start(ctx, "first", args(first)...)
	if err != nil {
		return Row{}, err
	}
	if code := p.Wait(ctx, 30*time.Second); code != 3 && code != 0 {
		return Row{}, fmt.Errorf("the first run ended with %d: %s", code, p.Output())
	}
	files, err := filepath.Glob(filepath.Join(first, "*"))
	if err != nil {
		return Row{}, err
	}
	row := Row{Held: true}
	var bad, said []string
	for _, file := range files {
		name := filepath.Base(file)
		if info, err := os.Lstat(file); err != nil || !info.Mode().IsRegular() {
			continue
		}
		dir := r.File("linked-" + name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			return Row{}, err
		}
		target := r.File("target-" + name)
		if err := os.WriteFile(target, []byte("precious\n"), 0o644); err != nil {
			return Row{}, err
		}
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			return Row{}, err
		}
		p, err := r.Start(ctx, "linked-"+name, args(dir)...)
		if err != nil {
			return Row{}, err
		}
		code := p.Wait(ctx, 12*time.Second)
		t := p.Stop()
		row.Took.CPU, row.Took.RSS, row.Took.Files = row.Took.CPU+t.CPU, max(row.Took.RSS, t.RSS), max(row.Took.Files, t.Files)
		now, _ := os.ReadFile(target)
		switch {
		case code == -1:
			bad = append(bad, name+" never ends")
		case strings.Contains(p.Output(), "goroutine "):
			bad = append(bad, name+" panics")
		case string(now) != "precious\n":
			bad = append(bad, fmt.Sprintf("%s overwrites its target (exit %d)", name, code))
		}
		said = append(said, fmt.Sprintf("%s: %d", name, code))
	}
	row.Good = "exit codes " + strings.Join(said, ", ")
	row.Held, row.Because = len(bad) == 0, strings.Join(bad, "; ")
	return row, nil
}
