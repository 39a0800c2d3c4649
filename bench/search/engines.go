package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"time"
)

// depth is how many hits of an answer count.
const depth = 10

// A hit is the addresses under which an answer shows one page: pages with the same text are shown
// once, and a person is as content with each.
type hit []string

// An engine answers queries. It is asked by one goroutine.
type engine interface {
	// ask returns the first hits, best first, of the query's own manual or of all manuals
	// together, and the CPU time that took.
	ask(ctx context.Context, q query, everywhere bool) ([]hit, time.Duration, error)
}

// A maker says how an engine is made on a bench whose crawl is done.
type maker struct {
	name string
	make func(context.Context, bench) (engine, error)
}

var makers = []maker{
	{"ours", func(_ context.Context, b bench) (engine, error) { return ours{b}, nil }},
	{"sqlite", newSQLite},
	{"xapian", newXapian},
}

// ours asks a crawl at rest by `curtsy search`, a process for each query.
type ours struct{ b bench }

func (e ours) ask(ctx context.Context, q query, everywhere bool) ([]hit, time.Duration, error) {
	text := q.text
	if !everywhere {
		text += " site:" + q.manual.host()
	}
	out, cpu, err := run(exec.CommandContext(ctx, e.b.binary(), "search", "--json", "--limit", "10", "--dir", e.b.data(), "--", text))
	if err != nil {
		return nil, 0, err
	}
	var hits []hit
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var h struct {
			URL  string   `json:"url"`
			Also []string `json:"also"`
		}
		switch err := dec.Decode(&h); {
		case errors.Is(err, io.EOF):
			return hits, cpu, nil
		case err != nil:
			return nil, 0, err
		}
		hits = append(hits, append(hit{h.URL}, h.Also...))
	}
}
