package control

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/cmd/curtsy/internal/term"
	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/control"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/engine"
	"github.com/curtsy/curtsy/internal/queryreport"
	"github.com/curtsy/curtsy/internal/service"
	"github.com/spf13/cobra"
)

func (a *commands) forgetCommand() *cobra.Command {
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
			if err := app.OneArg("host or URL", "d.example")(cmd, args); err != nil {
				return err
			}
			if _, err := crawl.ParseForgotten(args[0]); err != nil {
				return app.Usage("%v", err)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&undo, "undo", false, "allow crawling again")
	return app.Configured(cmd, cfg, func(cmd *cobra.Command, args []string, _ *config.Source) error {
		a.About = config.About(cfg.Dir, cfg.NATS)
		entry, err := crawl.ParseForgotten(args[0])
		if err != nil {
			return app.Usage("%v", err)
		}
		err = a.onCrawl(cmd.Context(), cfg,
			func(l *asker.Crawl) error { return a.forget(cmd.Context(), l, entry, undo) },
			func() error { return a.forgetStopped(cmd.Context(), cfg, entry, undo) })
		if err != nil || undo {
			return err
		}
		return a.forgetOpened(queryreport.File(cfg.Dir), entry)
	})
}

// forgetOpened removes hits from the report of queries, if there is one.
func (a *commands) forgetOpened(path, entry string) error {
	n, err := queryreport.Forget(path, crawl.NewForgotten([]string{entry}).HasText)
	if n > 0 && err == nil {
		fmt.Fprintf(a.Stdout, "queries: %s removed from %s\n", term.Count(int64(n), "opened hit"), path)
	}
	return err
}

// printForgotten prints what happened to an entry, and what was removed with it.
func (a *commands) printForgotten(text, gone string) {
	if gone != "" {
		text += ": " + gone
	}
	fmt.Fprintln(a.Stdout, text)
}

func (a *commands) forget(ctx context.Context, l *asker.Crawl, entry string, undo bool) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	gone, err := a.goneWith(ctx, l, entry, l.Spec, undo)
	if err != nil {
		return err
	}
	had, before := l.ArchiveForgot(ctx)
	text, err := control.Forget(ctx, l, app.Me(), entry, undo)
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
		fmt.Fprintf(a.Stdout, "its records are removed from the WARC files in %s too; the log of the indexer reports the end\n", l.Spec.WARC)
	}
	return nil
}

// archivePatience is how long forget waits for the archive of a running crawl.
const archivePatience = 10 * time.Second

// printArchive prints what was removed from the archive.
func (a *commands) printArchive(did asker.ArchiveForgot) {
	links := ""
	if did.Outlinks > 0 {
		links = " and " + term.Count(did.Outlinks, "outlink") + " of other pages"
	}
	fmt.Fprintf(a.Stdout, "archive: %s%s removed from %s\n", term.Count(did.Records, "record"), links, term.Count(did.Files, "WARC file"))
}

// awaitForgotten waits until everything is removed that the spec of the crawl lists as forgotten.
func awaitForgotten(ctx context.Context, c *asker.Crawl) error {
	spec, err := service.ReadSpec(ctx, c.Bucket)
	if err != nil {
		return err
	}
	for {
		// A process that does not answer yet will answer later.
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
// remove the pages: with its frontier and its indexer, and without a fetcher, so that no request is
// sent. If it is interrupted after the spec has changed, the pages are hidden, and the rest is done
// when the crawl or this command runs next.
func (a *commands) forgetStopped(ctx context.Context, cfg *config.Reader, entry string, undo bool) (err error) {
	from, err := engine.OpenFiles(cfg.Dir) // its error says what to type when there is no crawl
	if err != nil {
		return err
	}
	gone, err := a.goneWith(ctx, from, entry, from.Spec, undo)
	if err := errors.Join(err, from.Close()); err != nil {
		return err
	}
	if engine.IsNew(cfg.Dir) {
		return app.Usage("the crawl in %s belongs to a NATS server; select it: curtsy forget --nats URL --crawl NAME %s", cfg.Dir, entry)
	}
	e, err := a.OpenEngine(ctx, a.StoppedOptions(cfg, a.Logger(cfg)))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	var text string
	var did asker.ArchiveForgot
	err = e.Run(ctx, func(ctx context.Context, _ crawl.Status) (err error) {
		if text, err = control.Forget(ctx, e.Crawl(), app.Me(), entry, undo); err != nil {
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

// goneWith describes what is removed with an entry. An entry that is already forgotten has no
// description, because nothing of it may be left.
func (a *commands) goneWith(ctx context.Context, from *asker.Crawl, entry string, spec crawl.Spec, undo bool) (string, error) {
	if undo || slices.Contains(spec.Forgotten, entry) {
		return "", nil
	}
	return leaving(ctx, from, entry, a.About)
}
