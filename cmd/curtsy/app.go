package main

import (
	"context"
	"io"
	"log/slog"
	"net"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/engine"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/pkg/queue"
	"github.com/nats-io/nats.go"
)

// app is what all commands share: where they read and write, and how they reach a crawl.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	parsed         bool   // the command line made sense to cobra
	about          string // what selects the crawl of this command, behind another command

	// dial opens the fetchers' connections to sites; nil: over TCP. Only tests set it.
	dial wire.Dial
	// listen is where the demo's web listens; nil: on TCP. Only tests set it.
	listen func(network, address string) (net.Listener, error)
	// nats connects to the NATS server of the settings within this process; nil: by its URL. Only
	// tests set it.
	nats nats.InProcessConnProvider
	// openEngine is engine.Open. Tests replace it by one whose network is in memory.
	openEngine func(context.Context, engine.Options) (*engine.Engine, error)
	// dialEngine is engine.Dial, or what fits the openEngine of a test.
	dialEngine func(ctx context.Context, dir string, log *slog.Logger) (*asker.Crawl, error)
}

func newApp(stdin io.Reader, stdout, stderr io.Writer) *app {
	return &app{stdin: stdin, stdout: stdout, stderr: stderr, openEngine: engine.Open, dialEngine: engine.Dial}
}

// natsOptions are how the process called name connects to the NATS server of the settings.
func (a *app) natsOptions(n config.NATS, name string) queue.Options {
	o := n.Queue(name)
	if a.nats != nil && o.URL != "" {
		o.URL, o.InProcess = "", a.nats
	}
	return o
}
