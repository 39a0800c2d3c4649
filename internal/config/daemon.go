package config

import (
	"cmp"
	"errors"
	"fmt"
	"io"

	"github.com/curtsy/curtsy/internal/service"
	"github.com/spf13/pflag"
)

// Options returns the options of a daemon of a kind. dir is the directory of its state, "" for
// none.
func (c *Daemon) Options(kind, dir string, stderr io.Writer) service.DaemonOptions {
	q := c.NATS.Queue("curtsy " + kind)
	q.Inbox = kind // lets a server restrict each role to its own answers
	return service.DaemonOptions{
		Kind: kind, Instance: cmp.Or(c.Instance, service.InstanceName(kind, dir)), Crawl: c.Crawl,
		Queue: q, Listen: c.Listen, Log: c.Logger(stderr).With("kind", kind),
	}
}

// Exit prints the error that ended a daemon and returns the exit code. It is 0 for a clean end, 1
// for a failure, and 2 if the operator must change the command line or a setting.
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
