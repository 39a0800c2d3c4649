package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/control"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/engine"
	"github.com/curtsy/curtsy/internal/webtext"
)

// me is the person who types, for the crawl log.
func me() control.By {
	name, host := "somebody", "this machine"
	if u, err := user.Current(); err == nil {
		name = u.Username
	} else if n := os.Getenv("USER"); n != "" {
		name = n
	}
	if h, err := os.Hostname(); err == nil {
		host = cmp.Or(h, host)
	}
	return control.By{Who: name + "@" + host}
}

// steering makes a command that controls a crawl, running or not.
func (a *app) steering(cmd *cobra.Command, act func(ctx context.Context, l *asker.Crawl, args []string) (string, error)) *cobra.Command {
	cfg := config.NewReader()
	return configured(cmd, cfg, func(cmd *cobra.Command, args []string, _ *config.Source) error {
		ctx, cancel := context.WithTimeout(cmd.Context(), patience)
		defer cancel()
		add := "seed" // by which command the crawl gets a URL that it does not know
		do := func(ctx context.Context, l *asker.Crawl) error {
			said, err := act(ctx, l, args)
			var unknown *control.UnknownError
			if errors.As(err, &unknown) && strings.Contains(unknown.What, "://") {
				unknown.Hint = fmt.Sprintf("to crawl it, type: curtsy %s%s %s", add, config.About(cfg.Dir, cfg.NATS), webtext.ShellWord(unknown.What))
			}
			return a.printLine(said, err)
		}
		if cfg.URL == "" {
			l, err := a.dialEngine(ctx, cfg.Dir, a.logger(cfg))
			if errors.Is(err, engine.ErrNotRunning) {
				add = "crawl"
				return a.controlStopped(ctx, cfg, do)
			}
			if err != nil {
				return err
			}
			defer l.Close()
			return do(ctx, l)
		}
		l, err := a.reach(ctx, cfg)
		if err != nil {
			return err
		}
		defer l.Close()
		return do(ctx, l)
	})
}

// controlStopped opens the crawl in a directory for the time of an action: with its frontier and
// without a fetcher, so that no request is sent.
func (a *app) controlStopped(ctx context.Context, cfg *config.Reader, do func(context.Context, *asker.Crawl) error) (err error) {
	from, err := engine.OpenFiles(cfg.Dir) // says what to type when there is no crawl
	if err != nil {
		return err
	}
	if err := from.Close(); err != nil {
		return err
	}
	if engine.IsNew(cfg.Dir) {
		return usage("the crawl in %s belongs to a NATS server; select it with --nats URL --crawl NAME", cfg.Dir)
	}
	o := a.takenUp(cfg, a.logger(cfg))
	o.NotIndexed = true
	e, err := a.openEngine(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	return e.Run(ctx, func(ctx context.Context, _ crawl.Status) error { return do(ctx, e.Crawl()) })
}

func (a *app) hostCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "host",
		Short: "Pause, resume or slow down one host",
		Long: `Pause, resume or slow down one host of a crawl. The setting stays in force until you undo it,
also when the crawl is stopped and resumed. The crawl log (crawl.jsonl) records who changed it and
when.`,
		Example: `  curtsy host pause docs.example.org
  curtsy host delay docs.example.org 5s`,
	}
	cmd.AddCommand(
		a.steering(&cobra.Command{
			Use:   "pause HOST",
			Short: "Send no request to a host until it is resumed",
			Long: `Send no request to a host until curtsy host resume. A running visit ends before its next
request. The URLs of the host stay queued, and a crawl with such URLs does not end.`,
			Example: "  curtsy host pause docs.example.org",
			Args:    oneHost,
			PreRunE: isHost,
		}, func(ctx context.Context, l *asker.Crawl, args []string) (string, error) {
			return control.PauseHost(ctx, l, me(), args[0])
		}),
		a.steering(&cobra.Command{
			Use: "resume HOST", Short: "Continue with a paused host", Example: "  curtsy host resume docs.example.org",
			Args: oneHost, PreRunE: isHost,
		}, func(ctx context.Context, l *asker.Crawl, args []string) (string, error) {
			return control.ResumeHost(ctx, l, me(), args[0])
		}),
		a.steering(&cobra.Command{
			Use:   "delay HOST DURATION",
			Short: "Set the least time between requests to a host",
			Long: `Set the least time between the end of a response of a host and the next request to it: 5s,
2m, at most 10m; 0 removes the setting. A longer delay that the site demands, that --delay sets or
that errors have caused stays in force.`,
			Example: "  curtsy host delay docs.example.org 5s",
			Args: func(_ *cobra.Command, args []string) error {
				if len(args) != 2 {
					return usage("curtsy host delay needs a host and a time, for example: curtsy host delay docs.example.org 5s")
				}
				return nil
			},
			PreRunE: func(cmd *cobra.Command, args []string) error {
				if _, err := time.ParseDuration(args[1]); err != nil {
					return usage("%q is not a time with its unit (ms, s, m); use for example 5s or 500ms", args[1])
				}
				return isHost(cmd, args)
			},
		}, func(ctx context.Context, l *asker.Crawl, args []string) (string, error) {
			d, err := time.ParseDuration(args[1])
			if err != nil {
				return "", err
			}
			return control.DelayHost(ctx, l, me(), args[0], d)
		}),
	)
	return cmd
}

func (a *app) refetchCommand() *cobra.Command {
	return a.steering(&cobra.Command{
		Use:   "refetch URL",
		Short: "Fetch a URL again",
		Long: `Fetch a URL again that the crawl knows, whatever its state is. It is queued with its host, and
the delay and order of that host do not change. The stored copy stays until the new one is stored.
A crawl that is not running fetches the URL when it is resumed.`,
		Example: "  curtsy refetch https://docs.example.org/changes.html",
		Args:    oneURL,
		PreRunE: isURL,
	}, func(ctx context.Context, l *asker.Crawl, args []string) (string, error) {
		return control.Refetch(ctx, l, me(), args[0])
	})
}
