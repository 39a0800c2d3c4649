package config

import (
	"cmp"
	"errors"
	"fmt"
	"io"

	"github.com/curtsy/curtsy/internal/service"
	"github.com/curtsy/curtsy/internal/version"
	"github.com/spf13/pflag"
)

// Options are the options of a daemon of a kind that keeps its state in dir ("" for none).
func (c *Daemon) Options(kind, dir string, stderr io.Writer) service.DaemonOptions {
	q := c.NATS.Queue("curtsy " + kind)
	q.Inbox = kind // so that a server can let each role read only its own answers
	return service.DaemonOptions{
		Kind: kind, Instance: cmp.Or(c.Instance, service.InstanceName(kind, dir)), Crawl: c.Crawl,
		Queue: q, Listen: c.Listen, Log: c.Logger(stderr).With("kind", kind),
	}
}

// Parse fills the struct that into points to, for a command without subcommands. If help or the
// version is asked for, it prints that and returns pflag.ErrHelp.
func Parse(name string, into any, args []string, stdout, stderr io.Writer) error {
	flags := pflag.NewFlagSet(name, pflag.ContinueOnError)
	synopsis := "--nats URL --crawl NAME [flags]"
	if s, ok := into.(interface{ synopsis() string }); ok {
		synopsis = s.synopsis()
	}
	flags.Usage = func() {
		fmt.Fprintf(stderr, "Usage: %s %s\n\nEvery flag is also a key of --config FILE and a variable such as %s.\n\n%s",
			name, synopsis, envName("log-level"), flags.FlagUsages())
	}
	src := Bind(flags, into)
	which := flags.Bool("version", false, "print which "+name+" this is")
	if err := flags.Parse(args); errors.Is(err, pflag.ErrHelp) {
		return err
	} else if err != nil {
		return refuse("%v", err)
	}
	if *which {
		fmt.Fprintln(stdout, name, version.Get())
		return pflag.ErrHelp
	}
	if flags.NArg() > 0 {
		return refuse("%s takes no arguments, got %q; use it as %s %s", name, flags.Arg(0), name, synopsis)
	}
	return src.Load()
}

// Exit prints the error that ended a daemon and returns the exit code: 0 for a clean end, 1 for a
// failure, 2 for what the operator must write differently.
func Exit(name string, err error, stderr io.Writer) int {
	if err == nil || errors.Is(err, pflag.ErrHelp) {
		return 0
	}
	fmt.Fprintln(stderr, name+":", err)
	var bad *Error
	if errors.As(err, &bad) {
		return 2
	}
	return 1
}
