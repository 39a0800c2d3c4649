package config

import (
	"cmp"
	"errors"
	"fmt"
	"io"

	"github.com/curtsy/curtsy/internal/service"
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
