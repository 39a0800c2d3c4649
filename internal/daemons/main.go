// Package daemons holds the services of a crawl as programs of their own: each from its arguments
// to its exit code.
package daemons

import (
	"context"
	"io"
	"os"

	"github.com/curtsy/curtsy/internal/service"
)

// Main runs a daemon as the whole of the process, until it ends or a signal ends it.
func Main(daemon func(ctx context.Context, args []string, stdout, stderr io.Writer) int) {
	ctx, stop := service.Signals(context.Background())
	code := daemon(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
