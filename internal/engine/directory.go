package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier"
	"github.com/curtsy/curtsy/internal/query"
	"github.com/curtsy/curtsy/internal/searchrules"
)

// Directory gives a long-running process access to the crawl in a directory, which may start and
// stop in the meantime. While the crawl is stopped, Directory has its files open for reading. It
// closes them as soon as another process takes the directory: within a tenth of the second for
// which that process waits. Its methods may be called concurrently. Run must be running.
type Directory struct {
	dir     string
	name    string
	log     *slog.Logger
	stopped func(dir string) (*asker.Crawl, error)

	opening chan struct{} // a semaphore: one goroutine opens or closes
	mu      sync.Mutex
	now     *opened // guarded by mu; nil: nothing is open
}

// opened is an open crawl: its files, or a connection to its server.
type opened struct {
	*asker.Crawl
	dir   string
	file  string      // the address of its server if it runs, else its spec
	was   fs.FileInfo // of file, before it was opened
	gone  context.Context
	leave context.CancelFunc // ends gone: questions must go to the next opened
	users sync.WaitGroup     // grows only while Directory.now is this one
}

// WatchDirectory opens the crawl in dir. If it is stopped, it is opened by the given function,
// which is OpenFiles or OpenPages. The errors are those of a command that opens it once.
func WatchDirectory(ctx context.Context, dir string, log *slog.Logger, stopped func(dir string) (*asker.Crawl, error)) (*Directory, error) {
	d := &Directory{dir: dir, log: log, stopped: stopped, opening: make(chan struct{}, 1)}
	if err := d.open(ctx); err != nil {
		return nil, err
	}
	d.name = d.now.Spec.Name
	return d, nil
}

// Name is the name of the crawl.
func (d *Directory) Name() string { return d.name }

// look is the interval at which Run checks whether the crawl has started or stopped. A store waits
// a second for its file.
const look = 100 * time.Millisecond

// Run closes files that another process needs, until ctx ends.
func (d *Directory) Run(ctx context.Context) error {
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		d.mu.Lock()
		o := d.now
		d.mu.Unlock()
		if o != nil && o.stale() {
			if err := d.drop(o); err != nil {
				d.log.Warn("closing", "dir", d.dir, "err", err)
			}
		}
	}
}

// stale reports whether the crawl has started or stopped since it was opened, or whether its spec
// has changed.
func (o *opened) stale() bool {
	if Alive(o.dir) == o.Stopped() {
		return true
	}
	if !o.Stopped() && o.Queue.NC.IsClosed() {
		return true
	}
	is, err := os.Lstat(o.file)
	return err != nil || !os.SameFile(is, o.was) || !is.ModTime().Equal(o.was.ModTime()) || is.Size() != o.was.Size()
}

// Close closes the crawl when nobody uses it any more.
func (d *Directory) Close() error { return d.drop(nil) }

// drop closes the open crawl if it is o or if o is nil. It makes its users stop and waits for them.
func (d *Directory) drop(o *opened) error {
	d.opening <- struct{}{}
	defer func() { <-d.opening }()
	return d.close(o)
}

// close is drop for a caller that has the token.
func (d *Directory) close(o *opened) error {
	d.mu.Lock()
	now := d.now
	if now == nil || o != nil && o != now {
		d.mu.Unlock()
		return nil
	}
	d.now = nil
	d.mu.Unlock()
	now.leave()
	now.users.Wait()
	return now.Close()
}

// enter returns the crawl in its present state, opened if necessary. The caller must call
// users.Done.
func (d *Directory) enter(ctx context.Context) (*opened, error) {
	for {
		d.mu.Lock()
		o := d.now
		if o != nil {
			o.users.Add(1)
		}
		d.mu.Unlock()
		if o == nil {
			if err := d.open(ctx); err != nil {
				return nil, err
			}
			continue
		}
		if !o.stale() {
			return o, nil
		}
		o.users.Done()
		if err := d.drop(o); err != nil {
			d.log.Warn("closing", "dir", d.dir, "err", err)
		}
	}
}

// open opens the crawl unless it is open.
func (d *Directory) open(ctx context.Context) error {
	select {
	case d.opening <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-d.opening }()
	d.mu.Lock()
	o := d.now
	d.mu.Unlock()
	if o != nil {
		return nil
	}
	o = &opened{dir: d.dir}
	o.gone, o.leave = context.WithCancel(context.Background())
	o.file = filepath.Join(d.dir, serverFile)
	var err error
	if o.was, err = os.Lstat(o.file); err == nil || errors.Is(err, fs.ErrNotExist) {
		o.Crawl, err = Dial(ctx, d.dir, d.log)
	}
	if errors.Is(err, ErrNotRunning) {
		o.file = frontier.SpecFile(d.dir)
		if o.was, err = os.Lstat(o.file); err == nil || errors.Is(err, fs.ErrNotExist) {
			o.Crawl, err = d.stopped(d.dir)
		}
	}
	if err != nil {
		return err
	}
	d.mu.Lock()
	d.now = o
	d.mu.Unlock()
	return nil
}

// tries is how often a question is asked if the crawl starts or stops in between.
const tries = 3

// Ask calls do with the crawl, and again if the crawl started or stopped in the meantime.
func (d *Directory) Ask(ctx context.Context, do func(context.Context, *asker.Crawl) error) error {
	for n := 1; ; n++ {
		o, err := d.enter(ctx)
		if err != nil && ctx.Err() == nil && Alive(d.dir) {
			return fmt.Errorf("%w: %w", ask.ErrNobody, err)
		}
		if err != nil {
			return err
		}
		err = d.once(ctx, o, do)
		if err == nil || n == tries || ctx.Err() != nil || o.gone.Err() == nil && !o.stale() {
			return err
		}
	}
}

func (d *Directory) once(ctx context.Context, o *opened, do func(context.Context, *asker.Crawl) error) error {
	defer o.users.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(o.gone, cancel)()
	return do(ctx, o.Crawl)
}

// Search is Search of asker.Crawl.
func (d *Directory) Search(ctx context.Context, r crawl.SearchRequest) (a crawl.SearchAnswer, err error) {
	return d.SearchBy(ctx, r, nil)
}

// SearchBy is SearchBy of asker.Crawl.
func (d *Directory) SearchBy(ctx context.Context, r crawl.SearchRequest, change func(*searchrules.Rules) *searchrules.Rules) (a crawl.SearchAnswer, err error) {
	err = d.Ask(ctx, func(ctx context.Context, c *asker.Crawl) (err error) {
		a, err = c.SearchBy(ctx, r, change)
		return err
	})
	return a, err
}

// Suggest is Suggest of asker.Crawl.
func (d *Directory) Suggest(ctx context.Context, r crawl.SuggestRequest) (a crawl.SuggestAnswer, err error) {
	err = d.Ask(ctx, func(ctx context.Context, c *asker.Crawl) (err error) {
		a, err = c.Suggest(ctx, r)
		return err
	})
	return a, err
}

// Fields is Fields of asker.Crawl.
func (d *Directory) Fields(ctx context.Context) (fields query.Schema, err error) {
	err = d.Ask(ctx, func(ctx context.Context, c *asker.Crawl) (err error) {
		fields, err = c.Fields(ctx)
		return err
	})
	return fields, err
}

// Page is Page of asker.Crawl.
func (d *Directory) Page(ctx context.Context, url, content string) (rec crawl.PageRecord, found bool, err error) {
	err = d.Ask(ctx, func(ctx context.Context, c *asker.Crawl) (err error) {
		rec, found, err = c.Page(ctx, url, content)
		return err
	})
	return rec, found, err
}
