package app

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/term"
	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/disk"
)

// Exit codes of every command. cli.Codes explains them to people.
const (
	ExitOK          = 0   // done; of a crawl: nothing more can be done now
	ExitFailed      = 1   // it could not be done; of a check: refused
	ExitUsage       = 2   // the command line, a file or the environment is wrong
	ExitLimit       = 3   // a limit ended the crawl
	ExitPartial     = 4   // the answer is incomplete; some shards did not answer
	ExitInterrupted = 130 // ^C or SIGTERM
)

// exitError is an error with an exit code of its own.
type exitError struct {
	code int
	err  error
}

// Exit makes an error with an exit code of its own. If err is nil, nothing is printed.
func Exit(code int, err error) error { return &exitError{code, err} }

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// Usage makes an error for something typed wrong.
func Usage(format string, args ...any) error { return Exit(ExitUsage, fmt.Errorf(format, args...)) }

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
		lacks = fmt.Sprintf(" The missing shards store about %s.", term.Count(n, "page"))
	}
	return Exit(ExitPartial, fmt.Errorf("%w\nThe answer comes from the other shards and is incomplete.%s "+
		"When the missing frontier or indexer is back, type the same command again.", err, lacks))
}

// exitCode prints an error, and returns the exit code for it.
func (a *App) exitCode(ctx context.Context, err error) int {
	var (
		asked *exitError
		bad   *config.Error
	)
	code := ExitFailed
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &asked):
		if code = asked.code; asked.err == nil {
			return code
		}
	case errors.As(err, &bad):
		code = ExitUsage
	case !a.parsed:
		code, err = ExitUsage, fmt.Errorf("%w; curtsy --help lists the commands", err)
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		return ExitInterrupted
	}
	fmt.Fprintln(a.Stderr, "curtsy:", strings.TrimRight(disk.Explain(err).Error(), "\n"))
	return code
}
