package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier"
	"github.com/curtsy/curtsy/internal/service"
	"github.com/curtsy/curtsy/pkg/queue"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
)

func (a *app) forgetCommand() *cobra.Command {
	cfg := config.NewReader()
	var undo bool
	cmd := &cobra.Command{
		Use:   "forget HOST|URL",
		Short: "Take a host, or a URL and all below it, out of a crawl",
		Long: `Take a host, or a URL and all that begins with it, out of a crawl: its pages leave the store, the search, the catalogue and exports,
and it is not fetched again. From the moment the command returns nobody is shown it. Of a crawl that runs the pages themselves are
removed soon after; of one at rest in --dir they are by then. --undo lets it be crawled again, when the crawl runs.`,
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
		if cfg.URL == "" {
			l, err := a.dialDir(cmd.Context(), cfg)
			if errors.Is(err, errNotRunning) {
				return a.forgetAtRest(cmd.Context(), cfg, entry, undo)
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

// forgetSpec changes the spec. It says nothing when nothing changes by that.
func forgetSpec(ctx context.Context, kv jetstream.KeyValue, entry string, undo bool) (spec crawl.Spec, changed bool, err error) {
	spec, err = service.ChangeSpec(ctx, kv, func(old *crawl.Spec) (next crawl.Spec, err error) {
		if old == nil {
			return next, service.ErrNoSpec
		}
		next, changed, err = old.Forget(entry, undo)
		return next, err
	})
	return spec, changed, err
}

// sayForgotten says what has become of an entry.
func (a *app) sayForgotten(entry string, undo, changed bool) {
	what := "is forgotten"
	switch {
	case !changed && undo:
		what = "was not forgotten"
	case !changed:
		what = "was forgotten already"
	case undo:
		what = "may be crawled again"
	}
	fmt.Fprintln(a.stdout, entry, what)
}

func (a *app) forget(ctx context.Context, l *live, entry string, undo bool) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_, changed, err := forgetSpec(ctx, l.kv, entry, undo)
	if err != nil {
		return err
	}
	if undo {
		a.sayForgotten(entry, undo, changed)
		return nil
	}
	// Whoever works on the crawl has the changed spec within a moment: wait until all say so.
	for {
		spec, err := service.ReadSpec(ctx, l.kv) // somebody may have forgotten more meanwhile
		if err == nil {
			var hidden bool
			if hidden, _, err = askForgotten(ctx, l.q, spec); hidden {
				a.sayForgotten(entry, undo, changed)
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s is to be forgotten, but not everybody who works on the crawl has said so yet: %w", entry, errors.Join(err, ctx.Err()))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// askForgotten asks all shards whether they go by what spec says is forgotten, so that nothing of it is granted or shown any more, and
// whether all that follows from it is done.
func askForgotten(ctx context.Context, q *queue.Conn, spec crawl.Spec) (hidden, done bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	text := spec.ForgottenText()
	st, err := frontier.Ask(ctx, q, spec)
	if err != nil {
		return false, false, err
	}
	hidden, done = true, true
	for _, s := range st.Shards {
		hidden, done = hidden && s.Forgotten == text, done && !s.Forgetting
	}
	err = ask.Gather(ctx, q.NC, crawl.Names(spec.Name), "indexer-status", struct{}{}, spec.Shards, func(raw json.RawMessage) error {
		var part crawl.IndexerStatus
		err := json.Unmarshal(raw, &part)
		hidden, done = hidden && part.Forgotten == text, done && !part.Forgetting && part.Behind == 0
		return err
	})
	return hidden && err == nil, done && err == nil, err
}

// forgetAtRest opens the crawl in a directory for as long as it takes to change its spec and to carry that out: with its frontier and
// its indexer, without a fetcher, so that no request is sent. Cut short after the spec is changed, the rest is done when the crawl, or
// this command, runs next; until then it is hidden.
func (a *app) forgetAtRest(ctx context.Context, cfg *config.Reader, entry string, undo bool) (err error) {
	from, err := openFiles(cfg.Dir) // says what to type when there is no crawl
	if err != nil {
		return err
	}
	if err := from.Close(); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(cfg.Dir, "nats")); errors.Is(err, fs.ErrNotExist) {
		return usage("the crawl in %s belongs to a server; name it: curtsy forget --nats URL --crawl NAME %s", cfg.Dir, entry)
	}
	c := config.NewCrawl()
	c.Dir, c.Common, c.NATS = cfg.Dir, cfg.Common, cfg.NATS
	e := &engine{cfg: c, log: a.logger(cfg), reg: prometheus.NewRegistry()}
	defer func() { err = errors.Join(err, e.Close()) }()
	if err := e.take(ctx, func(string) bool { return false }); err != nil {
		return err
	}
	var changed bool
	if e.spec, changed, err = forgetSpec(ctx, e.kv, entry, undo); err != nil {
		return err
	}
	if err := e.makeServices(ctx); err != nil {
		return err
	}
	if err := e.carryOut(ctx); err != nil {
		return fmt.Errorf("%s: not all is done yet; do the same again, or let the crawl go on: %w", entry, err)
	}
	a.sayForgotten(entry, undo, changed)
	return nil
}

// carryOut runs frontier and indexer until what the spec says is forgotten is. Nothing is fetched.
func (e *engine) carryOut(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return named("frontier", e.frontier.Run(ctx)) })
	g.Go(func() error { return named("indexer", e.indexer.Run(ctx)) })
	err := errors.Join(frontier.WaitReady(ctx, e.q, e.spec), e.indexersReady(ctx))
	for done := false; !done && err == nil; {
		select {
		case <-ctx.Done():
			err = ctx.Err()
		case <-time.After(20 * time.Millisecond):
			_, done, _ = askForgotten(ctx, e.q, e.spec) // who does not answer yet will
		}
	}
	stop()
	return errors.Join(g.Wait(), err)
}
