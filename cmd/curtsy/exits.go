package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/config"
)

// Exit codes of every command. cli.Codes explains them to people.
const (
	exitOK          = 0   // done; of a crawl: nothing more can be done now
	exitFailed      = 1   // it could not be done; of a check: refused
	exitUsage       = 2   // the command line, a file or the environment is wrong
	exitLimit       = 3   // a limit ended the crawl
	exitPartial     = 4   // the answer is incomplete; some shards did not answer
	exitInterrupted = 130 // ^C or SIGTERM
)

// exitError is an error with an exit code of its own.
type exitError struct {
	code int
	err  error
}

// exit makes an error with an exit code of its own. If err is nil, nothing is printed.
func exit(code int, err error) error { return &exitError{code, err} }

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// usage makes an error for something typed wrong.
func usage(format string, args ...any) error { return exit(exitUsage, fmt.Errorf(format, args...)) }

// partly gives an incomplete answer its exit code, and says that shards are missing. It returns
// other errors unchanged, and also that of a question that no shard answered. stored counts the
// pages of shards; -1: unknown.
func partly(err error, stored func(shards []int) int64) error {
	var missing *ask.IncompleteError
	if !errors.As(err, &missing) || missing.Cause != nil || len(missing.Missing) == missing.Shards {
		return err
	}
	lacks := ""
	if n := stored(missing.Missing); n >= 0 {
		lacks = fmt.Sprintf(" The missing shards store about %s.", count(n, "page"))
	}
	return exit(exitPartial, fmt.Errorf("%w\nThe answer comes from the other shards and is incomplete.%s "+
		"When the missing frontier or indexer is back, type the same command again.", err, lacks))
}

// exitCode prints an error, and returns the exit code for it.
func (a *app) exitCode(ctx context.Context, err error) int {
	var (
		asked *exitError
		bad   *config.Error
	)
	code := exitFailed
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &asked):
		if code = asked.code; asked.err == nil {
			return code
		}
	case errors.As(err, &bad):
		code = exitUsage
	case !a.parsed:
		code, err = exitUsage, fmt.Errorf("%w; curtsy --help lists the commands", err)
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		return exitInterrupted
	}
	fmt.Fprintln(a.stderr, "curtsy:", strings.TrimRight(err.Error(), "\n"))
	return code
}
