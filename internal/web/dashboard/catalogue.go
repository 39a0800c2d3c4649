package dashboard

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/curtsy/curtsy/internal/asker"
)

// catalogue is what the pages about datasets are made of. A dataset is combined from documents of
// all shards, so none can be shown before all shards have been read. That is done once for each
// state of the stored datasets, and the result is a table. Each page asks whether the state is
// still the current one.
//
// A table of another state is made again in the background. Until then pages show the old table,
// with its time. At most a tenth of the time is spent on that, however often the stored datasets
// change. Nothing that the operator has removed is shown from an old table.
type catalogue struct {
	ask  Ask
	log  *slog.Logger
	wait time.Duration // how long a page waits for a table that is made

	mu    sync.RWMutex  // for reading the table, and for replacing it
	table *datasetTable // nil: none was made yet

	work   sync.Mutex    // guards what follows
	making chan struct{} // closed when a new one is made; nil: none is
	failed error         // of the last try
	ended  time.Time     // of it
	took   time.Duration // it
}

const (
	tableLasts  = 10 * time.Minute       // documents expire by themselves
	tableShare  = 10                     // making tables takes at most a tenth of the time
	tableWait   = 150 * time.Millisecond // each page is there within 200 ms
	tableWithin = 10 * time.Minute       // no table takes so long
)

// errMaking reports that there is no table yet, and that one is being made.
var errMaking = errors.New("the catalogue is being built")

// read calls do with a table. old is its time if it is not current. The error is errMaking if no
// table can be shown yet.
func (k *catalogue) read(ctx context.Context, c *asker.Crawl, do func(*datasetTable) error) (old time.Time, err error) {
	state, forgotten, err := c.DatasetsState(ctx)
	if err != nil {
		return old, err
	}
	if k.fresh(state, forgotten) {
		return old, k.use(forgotten, do)
	}
	if making := k.make(forgotten); making != nil {
		wait := time.NewTimer(k.wait)
		defer wait.Stop()
		select {
		case <-making:
		case <-wait.C:
		case <-ctx.Done():
			return old, ctx.Err()
		}
	}
	err = k.use(forgotten, func(t *datasetTable) error {
		if t.state != state {
			old = t.at
		}
		return do(t)
	})
	k.work.Lock()
	defer k.work.Unlock()
	if errors.Is(err, errMaking) && k.making == nil && k.failed != nil {
		return old, k.failed
	}
	return old, err
}

// fresh reports whether the table is of a state.
func (k *catalogue) fresh(state, forgotten string) bool {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.table != nil && k.table.state == state && k.table.forgotten == forgotten && time.Since(k.table.at) < tableLasts
}

// use calls do with the table, unless the table contains something that has been forgotten.
func (k *catalogue) use(forgotten string, do func(*datasetTable) error) error {
	k.mu.RLock()
	defer k.mu.RUnlock()
	if k.table == nil || k.table.forgotten != forgotten {
		return errMaking
	}
	return errors.Join(do(k.table), k.table.missing)
}

// make starts making a table, unless one is being made, or the last one took so long that it is too
// early. The returned channel is closed when the table is made; nil means that it is not worth
// waiting.
func (k *catalogue) make(forgotten string) <-chan struct{} {
	k.mu.RLock()
	needed := k.table == nil || k.table.forgotten != forgotten
	k.mu.RUnlock()
	k.work.Lock()
	defer k.work.Unlock()
	if k.making == nil {
		if !needed && time.Since(k.ended) < (tableShare-1)*k.took {
			return nil
		}
		k.making = make(chan struct{})
		// It ends by itself: when the crawl ends that it asks, or after tableWithin.
		go k.renew(k.making)
	}
	if !needed && k.took > k.wait {
		return nil
	}
	return k.making
}

// renew replaces the table.
func (k *catalogue) renew(done chan struct{}) {
	ctx, cancel := context.WithTimeout(context.Background(), tableWithin)
	defer cancel()
	began := time.Now()
	var t *datasetTable
	err := k.ask(ctx, func(ctx context.Context, c *asker.Crawl) (err error) {
		t.close() // of a crawl that has ended meanwhile
		t, err = makeTable(ctx, c)
		return err
	})
	if err == nil {
		k.mu.Lock()
		was := k.table
		k.table = t
		k.mu.Unlock()
		was.close()
	} else {
		k.log.Warn("the catalogue cannot be built", "err", err)
		t.close()
	}
	k.work.Lock()
	defer k.work.Unlock()
	k.making, k.failed, k.ended, k.took = nil, err, time.Now(), time.Since(began)
	close(done)
}
