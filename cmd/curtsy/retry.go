package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/control"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/engine"
	"github.com/curtsy/curtsy/internal/webtext"
	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"
)

func (a *app) retryCommand() *cobra.Command {
	cfg := config.NewReader()
	cmd := &cobra.Command{
		Use:   "retry HOST...",
		Short: "Try hosts again that could not be reached",
		Long: `Try hosts again that could not be reached, without waiting for the end of their back-off: their
robots.txt is requested again, and URLs that failed for a temporary reason (dns, connect, tls,
timeout, 5xx and the like) are queued again. The delay between requests stays the same, and
Retry-After of a server is obeyed. A crawl that is not running tries them when it is resumed.`,
		Example: `  curtsy retry docs.example.org
  curtsy retry --nats nats://127.0.0.1:4222 --crawl docs docs.example.org www.example.org`,
		Args: func(_ *cobra.Command, args []string) error {
			_, err := retryHosts(args)
			return err
		},
	}
	return configured(cmd, cfg, func(cmd *cobra.Command, args []string, _ *config.Source) error {
		hosts, err := retryHosts(args)
		if err != nil {
			return err
		}
		ctx := cmd.Context()
		if cfg.URL == "" {
			l, err := a.dialEngine(ctx, cfg.Dir, a.logger(cfg))
			if errors.Is(err, engine.ErrNotRunning) {
				return a.controlStopped(ctx, cfg, func(ctx context.Context, l *asker.Crawl) error {
					return a.retry(ctx, l, hosts, " when the crawl is resumed: curtsy crawl --dir "+webtext.ShellWord(cfg.Dir))
				})
			}
			if err != nil {
				return err
			}
			defer l.Close()
			return a.retry(ctx, l, hosts, "")
		}
		l, err := a.reach(ctx, cfg)
		if err != nil {
			return err
		}
		defer l.Close()
		return a.retry(ctx, l, hosts, "")
	})
}

// retryHosts reads host names; a URL stands for its host.
func retryHosts(args []string) (hosts []string, err error) {
	if len(args) == 0 {
		return nil, usage("curtsy retry needs a host; use for example: curtsy retry docs.example.org")
	}
	for _, arg := range args {
		h, err := typedHost(arg)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(hosts, string(h)) {
			hosts = append(hosts, string(h))
		}
	}
	return hosts, nil
}

// retry has hosts that the crawl knows tried again, and says what came of that. after is
// added to each line.
func (a *app) retry(ctx context.Context, l *asker.Crawl, hosts []string, after string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	said, err := control.Retry(ctx, l, me(), hosts)
	if err != nil {
		return err
	}
	err = l.HostsNamed(ctx, hosts, func(h crawl.HostInfo) error {
		when := after
		if when == "" && h.Queued > 0 && h.NextDue != nil && time.Until(*h.NextDue) > time.Minute {
			when = strings.TrimSuffix(fmt.Sprintf(", from %s on: %s", h.NextDue.Local().Format(time.DateTime), clean(h.Reason)), ": ")
		}
		fmt.Fprintf(a.stdout, "%s is tried again%s (%s queued)\n", h.Host, when, humanize.Comma(h.Queued))
		return nil
	})
	if err != nil { // it is done all the same
		fmt.Fprintln(a.stdout, said)
	}
	return nil
}

// takenUp are the options of an engine that takes up a crawl at rest for what a command has to do
// in it: without a fetcher, so that no request is sent, and where no other command finds it.
func (a *app) takenUp(cfg *config.Reader, log logger) engine.Options {
	c := config.NewCrawl()
	c.Dir, c.Common, c.NATS = cfg.Dir, cfg.Common, cfg.NATS
	o := a.engineOptions(c, log)
	o.NotFetched, o.Unreached = true, true
	return o
}
