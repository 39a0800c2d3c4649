// Package command is the frame of the programs that measure: it reads flags, ends the run on ^C,
// and turns an error into an exit code.
package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// Main reads the settings of a program from its arguments and runs it until it ends or is
// interrupted. It exits with 2 if parse fails, which includes -help, and with 1 if run fails, and
// writes the error to standard error.
func Main[S any](name string, parse func(args []string, stderr io.Writer) (S, error), run func(context.Context, S, io.Writer) error) {
	s, err := parse(os.Args[1:], os.Stderr)
	if err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		}
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, s, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}
