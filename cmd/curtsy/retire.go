package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/cmd/curtsy/internal/term"
	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/control"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/indexer/assignment"
	"github.com/spf13/cobra"
)

func (a *commands) retireCommand() *cobra.Command {
	cfg := config.NewReader()
	var undo bool
	cmd := &cobra.Command{
		Use:   "retire INDEXER",
		Short: "Move all shards of an indexer to the other indexers",
		Long: `Move all shards of an indexer, with their pages, to the other indexers, and wait until it has
none. That indexer and the others must be running. Afterwards you can stop it and remove its
directory. A frontier does not need this: stop it. --undo assigns shards to the indexer again.`,
		Example: `  curtsy retire --nats nats://127.0.0.1:4222 --crawl docs indexer-2`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || crawl.CheckName(args[0]) != nil {
				return app.Usage("curtsy retire needs the name of one indexer (its --instance); use for example: curtsy retire indexer-2")
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&undo, "undo", false, "assign shards to the indexer again")
	return app.Configured(cmd, cfg, func(cmd *cobra.Command, args []string, _ *config.Source) error {
		l, err := a.Reach(cmd.Context(), cfg)
		if err != nil {
			return err
		}
		defer l.Close()
		if undo {
			if err := control.Unretire(cmd.Context(), l, app.Me(), args[0]); err != nil {
				return err
			}
			fmt.Fprintf(a.Stdout, "shards are assigned to %s again\n", args[0])
			return nil
		}
		return a.retire(cmd.Context(), l, args[0])
	})
}

// retire marks the indexer as retired and waits until no shard is assigned to it. If the wait is
// interrupted, the mark stays.
func (a *commands) retire(ctx context.Context, l *asker.Crawl, name string) error {
	at, err := assignment.Instances(ctx, l.Bucket, l.Spec.Shards)
	if err != nil {
		return err
	}
	if !slices.Contains(at, name) {
		return fmt.Errorf("indexer %[2]q has no shard of crawl %[1]q; the indexers with shards are: %[3]s", l.Spec.Name, name, strings.Join(instances(at), ", "))
	}
	if len(instances(at)) == 1 && !otherIndexer(ctx, l, name) {
		return fmt.Errorf("%s is the only indexer of crawl %q; start another one first", name, l.Spec.Name)
	}
	if err := control.Retire(ctx, l, app.Me(), name); err != nil {
		return err
	}
	for last := -1; ; {
		left := 0
		for _, h := range at {
			if h == name {
				left++
			}
		}
		switch {
		case left == 0:
			fmt.Fprintf(a.Stdout, "%s has no shards any more; you can stop it\n", name)
			return nil
		case left != last:
			fmt.Fprintf(a.Stderr, "%s still has %s to move\n", name, term.Count(int64(left), "shard"))
			last = left
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s still has %s; it continues to move them: %w", name, term.Count(int64(left), "shard"), ctx.Err())
		case <-time.After(500 * time.Millisecond):
		}
		if at, err = assignment.Instances(ctx, l.Bucket, l.Spec.Shards); err != nil {
			return err
		}
	}
}

// instances are the names of the indexers with assignments, sorted, each once.
func instances(homes []string) []string {
	homes = slices.Clone(homes)
	slices.Sort(homes)
	return slices.DeleteFunc(slices.Compact(homes), func(s string) bool { return s == "" })
}

// otherIndexer reports whether an indexer other than name is present.
func otherIndexer(ctx context.Context, l *asker.Crawl, name string) bool {
	kv, err := l.Queue.JS.KeyValue(ctx, crawl.Names(l.Spec.Name).Members())
	if err != nil {
		return false
	}
	keys, err := kv.Keys(ctx)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(keys, func(k string) bool { return strings.HasPrefix(k, "indexer.") && k != "indexer."+name })
}
