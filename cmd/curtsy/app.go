package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/cli"
	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/engine"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/queue"
	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"
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

// app is what subcommands share: where they read and write, and how they get at a crawl.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	parsed         bool   // the command line made sense to cobra
	about          string // what selects the crawl of this command, behind another command

	// dial opens the fetchers' connections to sites; nil: over TCP. Only tests set it.
	dial wire.Dial
	// listen is where the demo's web listens; nil: on TCP. Only tests set it.
	listen func(network, address string) (net.Listener, error)
	// nats connects to the NATS server that is named, within this process; nil: by its URL. Only
	// tests set it.
	nats nats.InProcessConnProvider
	// openEngine is engine.Open. Tests put one in its place whose network is in memory.
	openEngine func(context.Context, engine.Options) (*engine.Engine, error)
	// dialEngine is engine.Dial, or what fits the openEngine of a test.
	dialEngine func(ctx context.Context, dir string, log *slog.Logger) (*asker.Crawl, error)
}

func newApp(stdin io.Reader, stdout, stderr io.Writer) *app {
	return &app{stdin: stdin, stdout: stdout, stderr: stderr, openEngine: engine.Open, dialEngine: engine.Dial}
}

// natsOptions say how to connect to the NATS server of the settings as the process called name.
func (a *app) natsOptions(n config.NATS, name string) queue.Options {
	o := n.Queue(name)
	if a.nats != nil && o.URL != "" {
		o.URL, o.InProcess = "", a.nats
	}
	return o
}

// exit is an error that asks for an exit code of its own. A nil err exits silently.
type exit struct {
	code int
	err  error
}

func (e *exit) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exit) Unwrap() error { return e.err }

// usage makes an error for something typed wrong.
func usage(format string, args ...any) error { return &exit{exitUsage, fmt.Errorf(format, args...)} }

// partly gives an incomplete answer an exit code of its own, and reports that shards are missing.
// Other errors pass unchanged, and so does a question that no shard answered. stored counts the
// pages of shards; -1 stands for unknown.
func partly(err error, stored func(shards []int) int64) error {
	var missing *ask.IncompleteError
	if !errors.As(err, &missing) || missing.Cause != nil || len(missing.Missing) == missing.Shards {
		return err
	}
	lacks := ""
	if n := stored(missing.Missing); n >= 0 {
		lacks = fmt.Sprintf(" The missing shards store about %s.", count(n, "page"))
	}
	return &exit{exitPartial, fmt.Errorf("%w\nThe answer comes from the other shards and is incomplete.%s "+
		"When the missing frontier or indexer is back, type the same command again.", err, lacks)}
}

// exitCode prints what went wrong and says what to exit with.
func (a *app) exitCode(ctx context.Context, err error) int {
	var (
		asked *exit
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

// printJSON writes v as one line, without escaping what only HTML minds.
func (a *app) printJSON(v any) error {
	enc := json.NewEncoder(crawl.SafeJSONTo(a.stdout))
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// configured binds the settings of cfg to the flags of cmd and makes cmd run with them loaded. What
// cmd checks in PreRunE is checked first.
func configured(cmd *cobra.Command, cfg any, run func(cmd *cobra.Command, args []string, src *config.Source) error) *cobra.Command {
	src := config.Bind(cmd.Flags(), cfg)
	for flag, words := range src.Choices() {
		cli.Completes(cmd, flag, words...)
	}
	if reader, ok := cfg.(*config.Reader); ok {
		completesHosts(cmd, reader, src)
	}
	// Words that are wrong are reported before a crawl is looked for.
	words := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		if words != nil {
			if err := words(cmd, args); err != nil {
				return err
			}
		}
		return src.Load()
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return run(cmd, args, src) }
	return cmd
}

// isURL refuses a first argument that is not a URL, and isHost one that names no host.
func isURL(_ *cobra.Command, args []string) error {
	_, err := typedURL(args[0], "")
	return err
}

func isHost(_ *cobra.Command, args []string) error {
	_, err := typedHost(args[0])
	return err
}

// oneURL takes one URL, and oneHost one host; isURL and isHost look at them.
var (
	oneURL  = one("URL", "https://docs.example.org/")
	oneHost = one("host", "docs.example.org")
)

// typedHost reads the name of a host that was typed; a URL stands for its host.
func typedHost(arg string) (canon.Host, error) {
	h, err := canon.ParseHost(arg)
	if err == nil {
		return h, nil
	}
	if u, err := canon.Parse(arg); err == nil {
		return u.Host(), nil
	}
	return "", usage("%q is not a host name (%v); use for example docs.example.org", arg, err)
}

// no refuses arguments, one takes exactly one; both say what to type.
func no(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage("%s takes no arguments, but got %q; without it: %[1]s", cmd.CommandPath(), args[0])
	}
	return nil
}

func one(what, example string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usage("%s needs one %s; use for example: %s %s", cmd.CommandPath(), what, cmd.CommandPath(), example)
		}
		return nil
	}
}
