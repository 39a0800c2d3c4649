// Package app is what all commands of curtsy share: how they reach a crawl, how they read arguments
// and seeds, and with which exit code an error ends them.
package app

import (
	"context"
	"io"
	"log/slog"
	"net"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/engine"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/internal/render"
	"github.com/curtsy/curtsy/pkg/queue"
	"github.com/nats-io/nats.go"
)

// App is what all commands share: where they read and write, and how they reach a crawl.
type App struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	parsed         bool   // the command line made sense to cobra
	About          string // what selects the crawl of this command, behind another command

	// Dial opens the fetchers' connections to sites; nil means TCP. Only tests set it.
	Dial wire.Dial
	// Listen is where the demo's web listens; nil means TCP. Only tests set it.
	Listen func(network, address string) (net.Listener, error)
	// Renderer runs the scripts of pages; nil means Chromium. Only tests set it.
	Renderer render.Renderer
	// NATS connects to the NATS server of the settings within this process; nil means that the URL
	// is dialled. Only tests set it.
	NATS nats.InProcessConnProvider
	// OpenEngine is engine.Open. Tests replace it by one whose network is in memory.
	OpenEngine func(context.Context, engine.Options) (*engine.Engine, error)
	// DialEngine is engine.Dial, or what fits the openEngine of a test.
	DialEngine func(ctx context.Context, dir string, log *slog.Logger) (*asker.Crawl, error)
}

// New makes the App of a process.
func New(stdin io.Reader, stdout, stderr io.Writer) *App {
	return &App{Stdin: stdin, Stdout: stdout, Stderr: stderr, OpenEngine: engine.Open, DialEngine: engine.Dial}
}

// NATSOptions are how the process called name connects to the NATS server of the settings.
func (a *App) NATSOptions(n config.NATS, name string) queue.Options {
	o := n.Queue(name)
	if a.NATS != nil && o.URL != "" {
		o.URL, o.InProcess = "", a.NATS
	}
	return o
}
