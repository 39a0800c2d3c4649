package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// xapian is Debian's xapian-omega: omindex reads the very files that are served, quest asks. Each
// manual has a database of its own, and Xapian is told the manual's language, for its stemmer.
// Files that no link leads to are left out of its answers: most are a linked page under another
// name, and an answer that shows those would count as wrong.
type xapian struct {
	b      bench
	linked map[string]bool // by place
}

func newXapian(ctx context.Context, b bench) (engine, error) {
	for _, tool := range []string{"omindex", "quest"} {
		if _, err := exec.LookPath(tool); err != nil {
			return nil, errors.New("xapian: install it: apt-get install xapian-omega xapian-tools")
		}
	}
	e := xapian{b, map[string]bool{}}
	err := b.each(func(p page) error {
		e.linked[place(p.URL)] = true
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, m := range b.manuals {
		if _, err := os.Stat(e.db(m)); err == nil {
			continue
		}
		unfinished := e.db(m) + ".new"
		if err := os.RemoveAll(unfinished); err != nil {
			return nil, err
		}
		cmd := exec.CommandContext(ctx, "omindex", "--db", unfinished, "--stemmer", m.stemmer, "--url", "http://"+m.host()+"/", "--follow",
			"--mime-type", "txt:ignore", "--mime-type", "svg:ignore", m.dir)
		if _, _, err := run(cmd); err != nil {
			return nil, err
		}
		if err := os.Rename(unfinished, e.db(m)); err != nil {
			return nil, err
		}
	}
	return e, nil
}

func (e xapian) db(m manual) string { return filepath.Join(e.b.dir, "xapian-"+m.name) }

func (e xapian) ask(ctx context.Context, q query, everywhere bool) ([]hit, time.Duration, error) {
	args := []string{"--msize", strconv.Itoa(2 * depth), "--stemmer", q.manual.stemmer}
	for _, m := range e.b.manuals {
		if everywhere || m == q.manual {
			args = append(args, "--db", e.db(m))
		}
	}
	out, cpu, err := run(exec.CommandContext(ctx, "quest", append(args, "--", q.text)...))
	if err != nil {
		return nil, 0, fmt.Errorf("%q: %w", q.text, err)
	}
	var hits []hit
	for line := range strings.Lines(string(out)) {
		if u, ok := strings.CutPrefix(strings.TrimSpace(line), "url="); ok && e.linked[place(u)] {
			hits = append(hits, hit{u})
		}
	}
	return hits, cpu, nil
}
