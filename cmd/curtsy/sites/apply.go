package sites

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/cmd/curtsy/internal/term"
	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/cli"
	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/control"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/engine"
	"github.com/curtsy/curtsy/internal/service"
	"github.com/curtsy/curtsy/internal/settings"
	"github.com/curtsy/curtsy/internal/siterules"
	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"
)

// awayFor is how long apply waits for shards that do not answer when all others are done. A shard
// that moves, or whose indexer restarts, is back by then.
const awayFor = 15 * time.Second

// look is the interval at which apply asks how far the rules are applied.
const look = 200 * time.Millisecond

// applying is a `curtsy sites apply`.
type applying struct {
	app    *app.App
	cfg    *config.Reader
	text   settings.Sites
	rules  *siterules.Rules
	asJSON bool
}

func (a *commands) applyCommand() *cobra.Command {
	p := &applying{app: a.App, cfg: config.NewReader()}
	cmd := &cobra.Command{
		Use:   "apply FILE",
		Short: "Apply a changed file of site rules to a crawl",
		Long: `Replace the site rules of a crawl by those in a file, and apply them to what the crawl has stored.
No page is requested for that. When the command returns, all stored pages have the fields and the
content that the new rules make of them, pages that they skip are removed, and the URLs that they
allow or forbid are queued or refused. At the end it prints how many pages were read again, on how
many each field is empty, and how many URLs the rules have changed. Seeds of the file are added.

In a running crawl its processes do the work, and the crawl continues; ^C only ends the progress
display. In a crawl that is not running, this command does the work; after ^C, the same command or
the crawl continues. URLs that were added are fetched when the crawl runs.`,
		Annotations: cli.ExitCodes("0 The rules were applied.", "1 They could not be applied.", "2 The command line or the file of rules is wrong. Nothing has changed.",
			"4 Some shards do not answer. They apply the rules when they are back."),
		Example: `  curtsy sites apply sites.yaml
  curtsy sites apply --nats nats://127.0.0.1:4222 --crawl docs sites.yaml`,
		Args: app.OneArg("file of site rules", "sites.yaml"),
	}
	cmd.Flags().BoolVar(&p.asJSON, "json", false, "print one JSON object")
	return app.Configured(cmd, p.cfg, func(cmd *cobra.Command, args []string, _ *config.Source) (err error) {
		if p.rules, err = readRules(args[0]); err != nil {
			return err
		}
		if p.text, err = settings.ReadSites(filepath.Clean(args[0])); err != nil {
			return app.Usage("%w", err)
		}
		return p.run(cmd.Context())
	})
}

// run applies the rules to the crawl that the settings name.
func (p *applying) run(ctx context.Context) error {
	p.app.About = config.About(p.cfg.Dir, p.cfg.NATS)
	l, err := p.app.Running(ctx, p.cfg)
	if errors.Is(err, engine.ErrNotRunning) {
		return p.stopped(ctx)
	}
	if err != nil {
		return err
	}
	defer l.Close()
	res, err := p.apply(ctx, l, func() bool { return p.cfg.URL == "" && !engine.Alive(p.cfg.Dir) })
	if errors.Is(err, context.Canceled) {
		fmt.Fprintln(p.app.Stderr, "the crawl continues to apply the rules; the same command shows its progress")
	}
	if err != nil {
		return err
	}
	return p.print(res)
}

// stopped opens the crawl in the directory for as long as it takes: with its frontier and its
// indexer, and without a fetcher, so that no request is sent.
func (p *applying) stopped(ctx context.Context) (err error) {
	e, err := p.app.OpenStopped(ctx, p.cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	var res *applied
	err = e.Run(ctx, func(ctx context.Context, _ crawl.Status) (err error) {
		if res, err = p.apply(ctx, e.Crawl(), nil); err != nil {
			return err
		}
		return p.settle(ctx, e.Crawl(), res)
	})
	if err != nil {
		return fmt.Errorf("the rules are not applied to all pages yet; type the same command again, or resume the crawl: %w", err)
	}
	return p.print(res)
}

// apply changes the rules of a running crawl and waits until they are applied. ended reports that
// the process has ended that runs the whole crawl; nil: this one runs it.
func (p *applying) apply(ctx context.Context, l *asker.Crawl, ended func() bool) (*applied, error) {
	before, err := asker.Status(ctx, l.Queue, l.Spec)
	if err != nil && !errors.Is(err, ask.ErrIncomplete) {
		return nil, err
	}
	res := &applied{discovered: before.Discovered}
	if res.spec, res.Changed, err = control.ApplySites(ctx, l, app.Me(), p.text); err != nil {
		return nil, err
	}
	line := term.NewStatusLine(p.app.Stderr)
	defer line.Clear()
	var away time.Time // since when shards are missing and all others are done
	for {
		now, err := l.SitesApplied(ctx, res.spec)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		missing := errors.Is(err, ask.ErrIncomplete) || errors.Is(err, ask.ErrNobody)
		if err != nil && !missing {
			return nil, err
		}
		if ended != nil && (l.Queue.NC.IsClosed() || ended()) {
			return nil, errors.New("the crawl has ended; the rules are applied to the rest of its pages when it runs again")
		}
		if spec, err := service.ReadSpec(ctx, l.Bucket); err == nil && spec.Sites != res.spec.Sites {
			return nil, errors.New("somebody else has given the crawl other site rules in the meantime")
		}
		res.found = now
		line.Show(func() string {
			return fmt.Sprintf("%s passed, %s read again, %s of about %s", term.Count(now.Made.Pages, "page"), humanize.Comma(now.Made.Read),
				humanize.Comma(min(now.Made.Pages, now.Stored)), humanize.Comma(now.Stored))
		})
		switch {
		case len(now.Behind) == 0:
			// Links of stored pages that are in scope now.
			if err := asker.Applied(ctx, l.Queue, l.Spec); err != nil {
				return nil, err
			}
			return res, p.count(ctx, l, res)
		case !missing:
			away = time.Time{}
		case away.IsZero():
			away = time.Now()
		case time.Since(away) >= awayFor:
			line.Clear()
			return nil, app.Exit(app.ExitPartial, fmt.Errorf("the rules are set, but %d of %d shards do not answer: %w\nThey apply the rules when they are back; the same command shows the progress.",
				len(now.Behind), l.Spec.Shards, err))
		}
		select {
		case <-ctx.Done():
		case <-time.After(look):
		}
	}
}

// count asks for the final numbers.
func (p *applying) count(ctx context.Context, l *asker.Crawl, res *applied) (err error) {
	if res.found, err = l.SitesApplied(ctx, res.spec); errors.Is(err, ask.ErrIncomplete) {
		err = nil // all shards had answered before
	}
	return err
}

// settle waits until everything that follows from the rules is done in a crawl that fetches
// nothing.
func (p *applying) settle(ctx context.Context, l *asker.Crawl, res *applied) error {
	for {
		done, err := l.SitesSettled(ctx, res.spec)
		if err != nil {
			return err
		}
		if done {
			return p.count(ctx, l, res)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(look / 10):
		}
	}
}
