package data

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/cmd/curtsy/internal/term"
	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/engine"
	"github.com/curtsy/curtsy/internal/feed"
	"github.com/curtsy/curtsy/internal/feed/sinks"
	"github.com/curtsy/curtsy/internal/questions"
	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"
)

func (a *commands) feedCommand() *cobra.Command {
	cfg := config.NewFeed()
	var list bool
	var forget string
	cmd := &cobra.Command{
		Use:   "feed --to URL",
		Short: "Keep another system in step with the stored pages",
		Long: `Send to another system what was stored, changed or deleted since the last time, and remember how
far that went. Pages are sent at least once, with versions that make a repetition harmless; pages
that are gone are deleted there. Whatever ends the command, the same command goes on.

The URL names the system:

` + schemes() + `
Without --follow or --every, the command ends when everything was sent. Changes that the system
refuses for good are written to feed-NAME.dead.jsonl in --dir. Credentials come from the environment:
CURTSY_FEED_PASSWORD, CURTSY_FEED_TOKEN, CURTSY_FEED_SECRET.`,
		Example: `  curtsy feed --to file:///srv/pages
  curtsy feed --to file:///srv/pages --content markdown --follow
  curtsy feed --list`,
		Args: app.NoArgs,
	}
	cmd.Flags().BoolVar(&list, "list", false, "list the feeds of the crawl: how far each is, and its last error")
	cmd.Flags().StringVar(&forget, "forget", "", "remove the position `NAME`; a feed of this name then sends everything again")
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		if n := len(slices.DeleteFunc([]bool{list, forget != "", cmd.Flags().Changed("to")}, func(b bool) bool { return !b })); n > 1 {
			return app.Usage("--to, --list and --forget cannot be used together; use one of them")
		}
		return nil
	}
	return app.Configured(cmd, cfg, func(cmd *cobra.Command, _ []string, _ *config.Source) error {
		switch ctx := cmd.Context(); {
		case list:
			return a.listFeeds(ctx, cfg)
		case forget != "":
			return a.forgetFeed(ctx, cfg, forget)
		case cfg.To == "":
			return app.Usage("curtsy feed needs the URL of a system: --to file:///srv/pages; or use --list")
		default:
			return a.feed(ctx, cfg)
		}
	})
}

// schemes lists the kinds of sinks for the help.
func schemes() string {
	var b strings.Builder
	for _, k := range sinks.Schemes {
		fmt.Fprintf(&b, "  %-45s %s\n", k.Example, k.What)
	}
	return b.String()
}

// openFed opens a crawl for a feed. If it does not run, its files are locked.
func (a *commands) openFed(ctx context.Context, cfg *config.Feed) (*asker.Crawl, error) {
	a.About = config.About(cfg.Dir, cfg.NATS)
	c, err := a.Running(ctx, &cfg.Reader)
	if !errors.Is(err, engine.ErrNotRunning) {
		return c, err
	}
	return engine.OpenFeeds(cfg.Dir)
}

func (a *commands) feed(ctx context.Context, cfg *config.Feed) (err error) {
	sink, name, err := sinks.Open(cfg.To, cfg.Sinks())
	if err != nil {
		return app.Usage("--to: %w", err)
	}
	defer func() { err = errors.Join(err, sink.Close()) }()
	c, err := a.openFed(ctx, cfg)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := feed.CheckFields(cfg.Fields, c.Spec); err != nil {
		return app.Usage("--fields: %w", err)
	}
	if c.Stopped() && cfg.Every() > 0 {
		return app.Usage("the crawl in %s does not run, so nothing will change; without --follow and --every, what is stored is sent once", cfg.Dir)
	}
	name = cmp.Or(cfg.Name, name)
	var sent, refused atomic.Int64
	line := term.NewStatusLine(a.Stderr)
	var asked questions.Crawl = c
	if cfg.URL == "" && !c.Stopped() && cfg.Every() > 0 { // the crawl may end and begin again
		d, err := engine.WatchDirectory(ctx, cfg.Dir, a.Logger(&cfg.Reader), engine.OpenFiles)
		if err != nil {
			return err
		}
		watching, stop := context.WithCancel(ctx)
		ended := make(chan error, 1)
		go func() { ended <- d.Run(watching) }()
		defer func() { stop(); err = errors.Join(err, <-ended, d.Close()) }()
		asked = engine.Followed{Directory: d}
	}
	f, err := feed.New(asked, c.Spec, sink, feed.Options{
		Name: name, Content: cfg.Content, Fields: cfg.Fields, For: cfg.For, UnknownToo: cfg.UnknownToo, Every: cfg.Every(),
		Dead: feed.DeadFile(cfg.Dir, name), Log: a.Logger(&cfg.Reader),
		Events: feed.Events{
			Sent: func(n, not int) {
				sent.Add(int64(n))
				refused.Add(int64(not))
				line.Show(func() string { return fmt.Sprintf("%s sent", term.Count(sent.Load(), "change")) })
			},
			Failed: func(err error) { line.Show(func() string { return "trying again: " + err.Error() }) },
		},
	})
	if err != nil {
		return err
	}
	err = f.Run(ctx)
	line.Clear()
	if n := refused.Load(); n > 0 {
		fmt.Fprintf(a.Stderr, "%s refused for good: see %s\n", term.Count(n, "change"), feed.DeadFile(cfg.Dir, name))
	}
	if err != nil {
		return fmt.Errorf("%w\nWhat was sent is remembered. To go on, type the same command again", err)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	fmt.Fprintf(a.Stdout, "%s sent to %s\n", term.Count(sent.Load(), "change"), name)
	return nil
}

// listFeeds prints a line for each feed of the crawl.
func (a *commands) listFeeds(ctx context.Context, cfg *config.Feed) error {
	c, err := a.Open(ctx, &cfg.Reader)
	if err != nil {
		return err
	}
	defer c.Close()
	feeds, err := feed.List(ctx, c)
	if err != nil {
		return err
	}
	for _, s := range feeds {
		last := "nothing acknowledged yet"
		if !s.AckedAt.IsZero() {
			last = "last " + humanize.RelTime(s.AckedAt, time.Now(), "ago", "from now")
		}
		fmt.Fprintf(a.Stdout, "%-30s %s behind, %s sent, %s, in %s\n", s.Sink, humanize.Comma(s.Behind), humanize.Comma(s.Sent), last, term.Count(int64(s.Shards), "shard"))
		if s.Refused > 0 {
			fmt.Fprintf(a.Stdout, "  %s refused for good: see %s\n", term.Count(s.Refused, "change"), filepath.Base(feed.DeadFile("", s.Sink)))
		}
		if s.Trouble != "" {
			fmt.Fprintf(a.Stdout, "  %s: %s\n", humanize.RelTime(s.TroubleAt, time.Now(), "ago", "from now"), s.Trouble)
		}
	}
	if len(feeds) == 0 {
		fmt.Fprintln(a.Stderr, "no feeds; to begin one: curtsy feed --to file:///srv/pages")
	}
	return nil
}

// forgetFeed removes the position of a feed.
func (a *commands) forgetFeed(ctx context.Context, cfg *config.Feed, name string) error {
	if err := crawl.CheckFeedName(name); err != nil {
		return app.Usage("--forget: %w", err)
	}
	c, err := a.openFed(ctx, cfg)
	if err != nil {
		return err
	}
	defer c.Close()
	n := 0
	err = questions.FeedForget.Each(ctx, c, crawl.FeedForget{Sink: name}, func(crawl.FeedPosition) error { n++; return nil })
	if err != nil {
		return err
	}
	if n == 0 {
		return fmt.Errorf("there is no feed %q; list them with: curtsy feed --list%s", name, a.About)
	}
	fmt.Fprintf(a.Stdout, "the position of %s is removed\n", name)
	return nil
}
