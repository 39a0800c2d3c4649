package control

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/cmd/curtsy/internal/term"
	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/control"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/dustin/go-humanize"
)

// awayFor is how long reindex waits for shards that do not answer when all others are done. A shard
// that moves, or whose indexer restarts, is back by then.
const awayFor = 15 * time.Second

// reindexing is the progress of a reindex of a running crawl.
type reindexing struct {
	mark   string
	builds map[int]crawl.IndexBuild // the last answer of each shard that has answered
	shown  map[int]string           // troubles that were printed
}

// working reports whether a shard that answers now is not done.
func (r *reindexing) working(now map[int]crawl.IndexBuild) bool {
	for _, b := range now {
		if b.Mark != r.mark {
			return true
		}
	}
	return false
}

// pages are the pages in new indexes, and those still to be indexed.
func (r *reindexing) pages() (done, left int64) {
	for _, b := range r.builds {
		done += b.Done
		if b.Mark != r.mark {
			left += b.Left
		}
	}
	return done, left
}

// reindexRunning makes the indexers of a running crawl build their indexes again, and watches until
// all are done. If they are already doing so, it watches that. ended reports whether the process
// has ended that runs the whole crawl.
func (a *commands) reindexRunning(ctx context.Context, l *asker.Crawl, ended func() bool) error {
	if !l.Spec.Search {
		return fmt.Errorf("crawl %q has no search index, because --search is off", l.Spec.Name)
	}
	now, err := l.Indexes(ctx)
	if err != nil && !errors.Is(err, ask.ErrIncomplete) {
		return err
	}
	if len(now) == 0 {
		return err
	}
	r := &reindexing{mark: l.Spec.Reindex, builds: now, shown: map[int]string{}}
	seen, underWay := l.Spec.Reindex, r.working(now)
	if !underWay {
		var begun bool
		if r.mark, begun, err = control.Reindex(ctx, l, app.Me(), seen); err != nil {
			return err
		}
		underWay = !begun // another operator was faster
	}
	if underWay {
		fmt.Fprintf(a.Stderr, "the index is already being built again, since %s; its progress follows\n", sinceMark(r.mark))
	}
	err = a.watchReindex(ctx, l, r, ended)
	if errors.Is(err, context.Canceled) {
		fmt.Fprintln(a.Stderr, "the indexers continue; the same command shows their progress")
	}
	return err
}

func sinceMark(mark string) string {
	t, err := time.Parse(time.RFC3339Nano, mark)
	if err != nil {
		return mark
	}
	return t.Local().Format(time.DateTime)
}

// watchReindex shows the progress of the shards until all are done, or until those that are not
// done have not answered for awayFor.
func (a *commands) watchReindex(ctx context.Context, l *asker.Crawl, r *reindexing, ended func() bool) error {
	line := term.NewStatusLine(a.Stderr)
	defer line.Clear()
	var away time.Time // since when shards are missing and all others are done
	for first := true; ; first = false {
		if !first {
			select {
			case <-ctx.Done():
			case <-time.After(200 * time.Millisecond):
			}
		}
		now, err := l.Indexes(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		for k, b := range now {
			r.builds[k] = b
			if b.Trouble != "" && b.Trouble != r.shown[k] {
				line.Clear()
				fmt.Fprintf(a.Stderr, "shard %d: %s; it is tried again\n", k, term.Clean(b.Trouble))
			}
			r.shown[k] = b.Trouble
		}
		var missing *ask.IncompleteError
		if err != nil && !errors.As(err, &missing) && !errors.Is(err, ask.ErrNobody) {
			return err
		}
		if l.Queue.NC.IsClosed() || ended() {
			return errors.New("the crawl has ended; the rest of its index is built when it runs again")
		}
		done, left := r.pages()
		line.Show(func() string {
			return fmt.Sprintf("%s indexed, %s left", term.Count(done, "page"), humanize.Comma(left))
		})
		if !r.working(r.builds) && err == nil && len(r.builds) == l.Spec.Shards {
			line.Clear()
			a.printReindexed(done)
			return nil
		}
		// A shard that was done before it stopped answering is not waited for.
		if err == nil || r.working(now) {
			away = time.Time{}
			continue
		}
		if away.IsZero() {
			away = time.Now()
		}
		if time.Since(away) >= awayFor {
			line.Clear()
			return a.missedReindex(l, r, done)
		}
	}
}

func (a *commands) printReindexed(pages int64) {
	fmt.Fprintf(a.Stdout, "%s indexed\n", term.Count(pages, "page"))
}

// missedReindex ends a reindex for which some shards did not answer.
func (a *commands) missedReindex(l *asker.Crawl, r *reindexing, pages int64) error {
	e := &ask.IncompleteError{Question: "reindex", Shards: l.Spec.Shards}
	for k := range l.Spec.Shards {
		if b, ok := r.builds[k]; !ok || b.Mark != r.mark {
			e.Missing = append(e.Missing, k)
		}
	}
	if len(e.Missing) == 0 {
		a.printReindexed(pages)
		return nil
	}
	if len(e.Missing) < e.Shards {
		a.printReindexed(pages)
	}
	return app.Exit(app.ExitPartial, fmt.Errorf("%w\nTheir indexers do not answer. They build their index when they are back; the same command shows their progress.", e))
}
