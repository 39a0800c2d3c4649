package agenthost

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/curtsy/curtsy/internal/agenthost/sandbox"
	"github.com/curtsy/curtsy/internal/mobile"
	"github.com/curtsy/curtsy/pkg/atp"
)

// Host accepts robots. It must be the only one with its data folder.
type Host struct {
	p       *plan
	store   *store
	modules *modules
	metrics *metrics
	log     *slog.Logger

	slots   chan struct{}  // has a value for each robot that runs
	running sync.WaitGroup // robots
	life    context.Context
	stop    context.CancelCauseFunc

	mu   sync.Mutex // guards runs
	runs map[string]*run
}

// New opens the data folder and ends the runs that were interrupted. Close must be called.
func New(o Options) (*Host, error) {
	p, err := o.check()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(p.Dir, "results"), 0o700); err != nil {
		return nil, err
	}
	modules, err := openModules(p.Dir)
	if err != nil {
		return nil, err
	}
	store, err := openStore(p.Dir)
	if err != nil {
		return nil, err
	}
	h := &Host{p: p, store: store, modules: modules, log: p.Log, slots: make(chan struct{}, p.Runs), runs: map[string]*run{}}
	h.life, h.stop = context.WithCancelCause(context.Background())
	h.metrics = newMetrics(p.Registry, func() float64 { return float64(len(h.slots)) })
	if err := h.resume(); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return h, nil
}

// Close ends the robots that run, and closes the data folder.
func (h *Host) Close() error {
	h.stop(&sandbox.Ended{Outcome: mobile.Interrupted, Reason: "the host was stopped"})
	h.running.Wait()
	h.p.close()
	return h.store.close()
}

// expireEvery is how often old results are looked for.
const expireEvery = 10 * time.Minute

// How long a stranger may take to send a ticket, and then the holder of a key to send a module.
const (
	receiveTicket = 30 * time.Second
	receiveModule = 10 * time.Minute
)

// MaxConns is how many connections a Host serves at the same time. A listener should not accept
// more (fair.Listener): further ones are refused.
const MaxConns = 64

// Run answers requests until ctx ends. Close then ends the robots that still run.
func (h *Host) Run(ctx context.Context, l net.Listener) error {
	server := &atp.Server{Handler: h, MaxBody: mobile.MaxBody, Receive: receiveTicket, Conns: MaxConns, Log: h.log}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return server.Serve(ctx, l) })
	g.Go(func() error {
		ticker := time.NewTicker(expireEvery)
		defer ticker.Stop()
		for {
			if err := h.expire(time.Now()); err != nil {
				h.log.Error("old results were not deleted", "error", err)
			}
			select {
			case <-ticker.C:
			case <-ctx.Done():
				return nil
			}
		}
	})
	return g.Wait()
}

// resultsEnd is how the names of files of results end.
const resultsEnd = ".zst"

func (h *Host) resultsName(id string) string {
	return filepath.Join(h.p.Dir, "results", id+resultsEnd)
}

func (h *Host) find(id string) *run {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.runs[id]
}

// maxKept is how many runs are kept, those that have not ended included. Each needs some memory and
// a file, and small results alone would never reach the size that all together may have.
const maxKept = 1000

// expire deletes results that were kept long enough, and the oldest ones while all together are
// larger or more than they may be.
func (h *Host) expire(now time.Time) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	var ended []*run
	total := int64(0)
	for _, r := range h.runs {
		total += r.results.length()
		select {
		case <-r.done:
			ended = append(ended, r)
		default:
		}
	}
	slices.SortFunc(ended, func(a, b *run) int { return cmp.Or(a.Ended.Compare(b.Ended), cmp.Compare(a.ID, b.ID)) })
	var err error
	for _, r := range ended {
		if total <= h.p.Results && len(h.runs) <= maxKept && now.Sub(r.Ended) < h.p.Keep {
			continue
		}
		// Without its file, a record is removed at the next start.
		err = errors.Join(err, os.Remove(h.resultsName(r.ID)), h.store.forget(r.ID))
		total -= r.results.length()
		delete(h.runs, r.ID)
	}
	return err
}

// start starts a robot that was admitted. A slot is used until it ends.
func (h *Host) start(r *run) {
	ctx, cancel := context.WithCancelCause(h.life)
	r.cancel, r.done = cancel, make(chan struct{})
	h.mu.Lock()
	h.runs[r.ID] = r
	h.mu.Unlock()
	h.running.Go(func() {
		defer func() { <-h.slots }()
		defer cancel(nil)
		h.execute(ctx, r)
		if err := h.expire(time.Now()); err != nil {
			h.log.Error("old results were not deleted", "error", err)
		}
	})
}

// newID returns an Agent-Id. Whoever knows it may fetch the results and end the run.
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
