package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
)

// A hit has the addresses under which an answer shows one page: pages with the same text are shown
// once, and each of them is as good.
type hit []string

// An engine answers queries. It is used by one goroutine.
type engine interface {
	// ask returns ten hits or more, if there are, best first, from the manual of the query or from
	// all manuals together.
	ask(ctx context.Context, q query, everywhere bool) ([]hit, error)
}

// newEngine makes an engine on a bench that is prepared.
func newEngine(ctx context.Context, name string, b *bench) (engine, error) {
	switch name {
	case "ours":
		return ours{b}, nil
	case "sqlite":
		return newBaseline(ctx, b)
	case "xapian":
		return newXapian(ctx, b)
	}
	return nil, fmt.Errorf("-engines: there is no %q; use ours, sqlite or xapian", name)
}

// ours queries a crawl that does not run with `curtsy search`, a process for each query.
type ours struct{ b *bench }

func (e ours) ask(ctx context.Context, q query, everywhere bool) (hits []hit, err error) {
	text := q.text
	if !everywhere {
		text += " site:" + q.manual.host()
	}
	out, err := run(exec.CommandContext(ctx, e.b.binary(), "search", "--json", "--limit", "10", "--dir", e.b.data(), "--", text))
	if err != nil {
		return nil, err
	}
	for dec := json.NewDecoder(bytes.NewReader(out)); dec.More(); {
		var h struct {
			URL  string
			Also []string
		}
		if err := dec.Decode(&h); err != nil {
			return nil, err
		}
		hits = append(hits, append(hit{h.URL}, h.Also...))
	}
	return hits, nil
}
