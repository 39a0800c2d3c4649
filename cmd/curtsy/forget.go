package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/control"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/engine"
	"github.com/curtsy/curtsy/internal/service"
	"github.com/spf13/cobra"
)

func (a *app) forgetCommand() *cobra.Command {
	cfg := config.NewReader()
	var undo bool
	cmd := &cobra.Command{
		Use:   "forget HOST|URL",
		Short: "Remove a host or a URL prefix from a crawl",
		Long: `Remove a host, or all URLs that begin with a URL, from a crawl: the pages leave the store, the
search index, the catalogue and exports, and they are not fetched again. When the command returns,
nothing shows them any more. A running crawl deletes the pages themselves soon after; a crawl that
is not running has deleted them by then. The WARC files of a crawl with --warc are rewritten without
their records; copies in other places are not. --undo allows crawling again.`,
		Example: `  curtsy forget d.example
  curtsy forget --nats nats://127.0.0.1:4222 --crawl docs https://d.example/private/`,
		Args: func(cmd *cobra.Command, args []string) error {
			if err := one("host or URL", "d.example")(cmd, args); err != nil {
				return err
			}
			if _, err := crawl.ParseForgotten(args[0]); err != nil {
				return usage("%v", err)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&undo, "undo", false, "allow crawling again")
	return configured(cmd, cfg, func(cmd *cobra.Command, args []string, _ *config.Source) error {
		a.about = config.About(cfg.Dir, cfg.NATS)
		entry, err := crawl.ParseForgotten(args[0])
		if err != nil {
			return usage("%v", err)
		}
		if cfg.URL == "" {
			l, err := a.dialEngine(cmd.Context(), cfg.Dir, a.logger(cfg))
			if errors.Is(err, engine.ErrNotRunning) {
				return a.forgetStopped(cmd.Context(), cfg, entry, undo)
			}
			if err != nil {
				return err
			}
			defer l.Close()
			return a.forget(cmd.Context(), l, entry, undo)
		}
		l, err := a.reach(cmd.Context(), cfg)
		if err != nil {
			return err
		}
		defer l.Close()
		return a.forget(cmd.Context(), l, entry, undo)
	})
}

// printForgotten says what has become of an entry, and what has gone with it.
func (a *app) printForgotten(text, gone string) {
	if gone != "" {
		text += ": " + gone
	}
	fmt.Fprintln(a.stdout, text)
}

func (a *app) forget(ctx context.Context, l *asker.Crawl, entry string, undo bool) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	gone, err := a.goneWith(ctx, l, entry, l.Spec, undo)
	if err != nil {
		return err
	}
	had, before := l.ArchiveForgot(ctx)
	text, err := control.Forget(ctx, l, me(), entry, undo)
	if err != nil {
		return err
	}
	a.printForgotten(text, gone)
	if undo || l.Spec.WARC == "" {
		return nil
	}
	while, cancel := context.WithTimeout(ctx, archivePatience)
	defer cancel()
	err = awaitForgotten(while, l)
	if has, after := l.ArchiveForgot(ctx); err == nil && before == nil && after == nil {
		a.printArchive(asker.ArchiveForgot{Records: has.Records - had.Records, Outlinks: has.Outlinks - had.Outlinks, Files: has.Files - had.Files})
	} else {
		fmt.Fprintf(a.stdout, "its records are removed from the WARC files in %s too; the log of the indexer reports the end\n", l.Spec.WARC)
	}
	return nil
}

// archivePatience is how long forget waits for the archive of a crawl that runs.
const archivePatience = 10 * time.Second

// printArchive says what a takedown did to an archive.
func (a *app) printArchive(did asker.ArchiveForgot) {
	links := ""
	if did.Outlinks > 0 {
		links = " and " + count(did.Outlinks, "outlink") + " of other pages"
	}
	fmt.Fprintf(a.stdout, "archive: %s%s removed from %s\n", count(did.Records, "record"), links, count(did.Files, "WARC file"))
}

// awaitForgotten waits until all that follows from what a crawl's spec says is forgotten is done.
func awaitForgotten(ctx context.Context, c *asker.Crawl) error {
	spec, err := service.ReadSpec(ctx, c.Bucket)
	if err != nil {
		return err
	}
	for {
		// Who does not answer yet will.
		if hidden, done, _ := asker.Forgotten(ctx, c.Queue, spec); hidden && done {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// forgetStopped opens the crawl in a directory for as long as it takes to change its spec and to
// carry that out: with its frontier and its indexer, without a fetcher, so that no request is sent.
// Cut short after the spec is changed, the rest is done when the crawl, or this command, runs next;
// until then it is hidden.
func (a *app) forgetStopped(ctx context.Context, cfg *config.Reader, entry string, undo bool) (err error) {
	from, err := engine.OpenFiles(cfg.Dir) // says what to type when there is no crawl
	if err != nil {
		return err
	}
	gone, err := a.goneWith(ctx, from, entry, from.Spec, undo)
	if err := errors.Join(err, from.Close()); err != nil {
		return err
	}
	if engine.IsNew(cfg.Dir) {
		return usage("the crawl in %s belongs to a NATS server; select it: curtsy forget --nats URL --crawl NAME %s", cfg.Dir, entry)
	}
	e, err := a.openEngine(ctx, a.takenUp(cfg, a.logger(cfg)))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	var text string
	var did asker.ArchiveForgot
	err = e.Run(ctx, func(ctx context.Context, _ crawl.Status) (err error) {
		if text, err = control.Forget(ctx, e.Crawl(), me(), entry, undo); err != nil {
			return err
		}
		if err := awaitForgotten(ctx, e.Crawl()); err != nil {
			return err
		}
		did, err = e.Crawl().ArchiveForgot(ctx)
		return err
	})
	if err != nil {
		return fmt.Errorf("%s: not everything is removed yet; type the same command again, or resume the crawl: %w", entry, err)
	}
	a.printForgotten(text, gone)
	if did.Files > 0 {
		a.printArchive(did)
	}
	return nil
}

// goneWith says what goes with an entry that is to be forgotten. What was forgotten already is not
// asked after: there may be nothing left of it.
func (a *app) goneWith(ctx context.Context, from *asker.Crawl, entry string, spec crawl.Spec, undo bool) (string, error) {
	if undo || slices.Contains(spec.Forgotten, entry) {
		return "", nil
	}
	return leaving(ctx, from, entry, a.about)
}
