package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// xapian is Debian's xapian-omega: omindex reads the same files that are served, quest runs
// queries. Each manual has its own database, and Xapian is configured with the language of the
// manual, for its stemmer. Files to which no link leads are left out of its answers: most are a
// linked page under another name, and an answer with those would count as wrong.
type xapian struct {
	dir     string
	manuals []manual
	linked  map[string]bool // by place
}

func newXapian(ctx context.Context, b *bench) (engine, error) {
	e := xapian{b.dir, b.manuals, map[string]bool{}}
	for _, p := range b.pages {
		e.linked[place(p.URL)] = true
	}
	for _, m := range e.manuals { // omindex skips what an earlier run indexed
		args := []string{"--db", e.db(m), "--stemmer", m.stemmer, "--url", "http://" + m.host() + "/",
			"--mime-type", "txt:ignore", "--mime-type", "svg:ignore", "--no-delete", "--follow", m.dir}
		runs := [][]string{args}
		if m.parts != "" {
			runs = nil
			for part := range strings.FieldsSeq(m.parts) {
				runs = append(runs, append(args[:len(args):len(args)], part))
			}
		}
		for _, args := range runs {
			if _, err := run(exec.CommandContext(ctx, "omindex", args...)); err != nil {
				return nil, fmt.Errorf("xapian (apt-get install xapian-omega xapian-tools): %w", err)
			}
		}
	}
	return e, nil
}

func (e xapian) db(m manual) string { return filepath.Join(e.dir, "xapian-"+m.name) }

func (e xapian) ask(ctx context.Context, q query, everywhere bool) (hits []hit, err error) {
	args := []string{"--msize", "240", "--stemmer", q.manual.stemmer}
	for _, m := range e.manuals {
		if everywhere || m == q.manual {
			args = append(args, "--db", e.db(m))
		}
	}
	out, err := run(exec.CommandContext(ctx, "quest", append(args, "--", q.text)...))
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(out)) {
		if u, ok := strings.CutPrefix(strings.TrimSpace(line), "url="); ok && e.linked[place(u)] {
			hits = append(hits, hit{urls: []string{u}})
		}
	}
	return hits, nil
}
