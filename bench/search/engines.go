package main

import (
	"context"
	"fmt"
	"time"
)

// A hit is one page of an answer.
type hit struct {
	urls    []string // the page's addresses: pages with the same text may be shown once
	section string   // the address of the section that an engine names, if it does
}

// An engine answers queries. It is used by one goroutine.
type engine interface {
	// ask returns ten hits or more, if there are, best first, from the manual of the query or from
	// all manuals together.
	ask(ctx context.Context, q query, everywhere bool) ([]hit, error)
}

// A process is an engine that runs in a process of its own.
type process interface {
	cpu() time.Duration // that the process has used so far
}

// newEngine makes an engine on a bench that is prepared.
func newEngine(ctx context.Context, name string, b *bench) (engine, error) {
	switch name {
	case "ours":
		return newServed(ctx, b)
	case "command":
		return asked{b}, nil
	case "sqlite":
		return newBaseline(ctx, b)
	case "xapian":
		return newXapian(ctx, b)
	}
	return nil, fmt.Errorf("-engines: there is no %q; use ours, command, sqlite or xapian", name)
}
