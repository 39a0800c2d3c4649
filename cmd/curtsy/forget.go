package main

import (
	"context"
	"fmt"
	"time"

	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/service"
	"github.com/spf13/cobra"
)

func (a *app) forgetCommand() *cobra.Command {
	cfg := config.NewReader()
	var undo bool
	cmd := &cobra.Command{
		Use:   "forget HOST|URL",
		Short: "Take a host, or a URL and all below it, out of a crawl that runs",
		Long: `Take a host, or a URL and all that begins with it, out of a crawl: its pages leave the store, the search, the catalogue and exports,
and it is not fetched again. From the moment the command returns nobody is shown it; the pages themselves are removed soon after.

The crawl must be running. --undo lets it be crawled again.`,
		Example: `  curtsy forget d.example
  curtsy forget --nats nats://127.0.0.1:4222 --crawl docs https://d.example/private/`,
		Args: one("host or URL", "d.example"),
	}
	cmd.Flags().BoolVar(&undo, "undo", false, "let it be crawled again")
	return configured(cmd, cfg, func(cmd *cobra.Command, args []string, _ *config.Source) error {
		entry, err := crawl.ParseForgotten(args[0])
		if err != nil {
			return usage("%v", err)
		}
		l, err := a.reach(cmd.Context(), cfg)
		if err != nil {
			return err
		}
		defer l.Close()
		ctx, cancel := context.WithTimeout(cmd.Context(), patience)
		defer cancel()
		return a.forget(ctx, l, entry, undo)
	})
}

func (a *app) forget(ctx context.Context, l *live, entry string, undo bool) error {
	changed := false
	_, err := service.ChangeSpec(ctx, l.kv, func(old *crawl.Spec) (next crawl.Spec, err error) {
		if old == nil {
			return next, service.ErrNoSpec
		}
		next, changed, err = old.Forget(entry, undo)
		return next, err
	})
	if err != nil {
		return err
	}
	switch {
	case !changed && undo:
		fmt.Fprintf(a.stdout, "%s was not forgotten\n", entry)
		return nil
	case !changed:
		fmt.Fprintf(a.stdout, "%s was forgotten already\n", entry)
		return nil
	case undo:
		fmt.Fprintf(a.stdout, "%s may be crawled again\n", entry)
		return nil
	}
	// What answers has the changed spec within a moment: wait until none shows the entry any more.
	f := crawl.NewForgotten([]string{entry})
	for {
		shown, err := l.shows(ctx, f)
		if err == nil && !shown {
			fmt.Fprintf(a.stdout, "%s is forgotten\n", entry)
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s is to be forgotten, but not everybody who has pages has said so yet: %w", entry, ctx.Err())
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// shows reports whether an indexer still lists a page that f has.
func (l *live) shows(ctx context.Context, f crawl.Forgotten) (shown bool, err error) {
	err = l.Pages(ctx, func(p crawl.PageInfo) error {
		shown = shown || f.HasText(p.URL)
		return nil
	})
	return shown, err
}
