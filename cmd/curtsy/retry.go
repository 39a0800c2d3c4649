package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/engine"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"
)

func (a *app) retryCommand() *cobra.Command {
	cfg := config.NewReader()
	cmd := &cobra.Command{
		Use:   "retry HOST...",
		Short: "Have hosts tried again that could not be reached",
		Long: `Have hosts tried again that could not be reached, without waiting for what their failures would have us wait: their robots.txt is asked
for anew, and what failed of them for a reason that may pass (dns, connect, tls, timeout, 5xx and the like) is queued again. The delay
between requests is kept, and so is what a server asked for with Retry-After. Of a crawl at rest they are tried when it goes on.`,
		Example: `  curtsy retry docs.example.org
  curtsy retry --nats nats://127.0.0.1:4222 --crawl docs docs.example.org www.example.org`,
		Args: cobra.ArbitraryArgs,
	}
	return configured(cmd, cfg, func(cmd *cobra.Command, args []string, _ *config.Source) error {
		hosts, err := retryHosts(args)
		if err != nil {
			return err
		}
		ctx := cmd.Context()
		if cfg.URL == "" {
			l, err := engine.Dial(ctx, cfg.Dir, a.logger(cfg))
			if errors.Is(err, engine.ErrNotRunning) {
				return a.retryAtRest(ctx, cfg, hosts)
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
		return nil, usage("retry which host? for example: curtsy retry docs.example.org")
	}
	for _, arg := range args {
		h, err := canon.ParseHost(arg)
		if err != nil {
			u, uerr := canon.Parse(arg)
			if uerr != nil {
				return nil, usage("%q is no host name (%v); use for example docs.example.org", arg, err)
			}
			h = u.Host()
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
	known := map[string]bool{}
	err := l.HostsNamed(ctx, hosts, func(h crawl.HostInfo) error { known[h.Host] = true; return nil })
	if err != nil {
		return err
	}
	for _, h := range hosts {
		if !known[h] {
			return fmt.Errorf("crawl %q knows no host %q; curtsy hosts lists those it knows", l.Spec.Name, h)
		}
	}
	if err := asker.Retry(ctx, l.Queue, l.Spec, hosts); err != nil {
		return err
	}
	for !passed(ctx, l) { // so that the numbers are those of what is queued by now
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
	return l.HostsNamed(ctx, hosts, func(h crawl.HostInfo) error {
		when := after
		if when == "" && h.NextDue != nil && time.Until(*h.NextDue) > time.Minute {
			when = fmt.Sprintf(", from %s on: %s", h.NextDue.Local().Format(time.DateTime), clean(h.Reason))
		}
		fmt.Fprintf(a.stdout, "%s is tried again%s (%s queued)\n", h.Host, when, humanize.Comma(h.Queued))
		return nil
	})
}

// passed reports that no shard is going through hosts to be tried again.
func passed(ctx context.Context, l *asker.Crawl) bool {
	st, err := asker.Status(ctx, l.Queue, l.Spec)
	return err == nil && !slices.ContainsFunc(st.Shards, func(s crawl.ShardStatus) bool { return s.Retrying })
}

// retryAtRest opens the crawl in a directory for as long as it takes to note what is to be tried
// again: with its frontier, without a fetcher, so that no request is sent.
func (a *app) retryAtRest(ctx context.Context, cfg *config.Reader, hosts []string) (err error) {
	from, err := engine.OpenFiles(cfg.Dir) // says what to type when there is no crawl
	if err != nil {
		return err
	}
	if err := from.Close(); err != nil {
		return err
	}
	if engine.IsNew(cfg.Dir) {
		return usage("the crawl in %s belongs to a server; name it: curtsy retry --nats URL --crawl NAME %s", cfg.Dir, hosts[0])
	}
	o := takenUp(cfg, a.logger(cfg))
	o.NotIndexed = true
	e, err := engine.Open(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	return e.Run(ctx, func(ctx context.Context, _ crawl.Status) error {
		return a.retry(ctx, e.Crawl(), hosts, " when the crawl goes on: curtsy crawl --dir "+quoteArg(cfg.Dir))
	})
}

// takenUp are the options of an engine that takes up a crawl at rest for what a command has to do
// in it: without a fetcher, so that no request is sent, and where no other command finds it.
func takenUp(cfg *config.Reader, log logger) engine.Options {
	c := config.NewCrawl()
	c.Dir, c.Common, c.NATS = cfg.Dir, cfg.Common, cfg.NATS
	o := engineOptions(c, log)
	o.NotFetched, o.Unreached = true, true
	return o
}
