package fetcher

import (
	"context"
	"sync"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/requests"
)

// halts ends running visits if a changed spec allows no more requests in them, or when the hours of
// their hosts end. A visit keeps its spec in everything else, but an operator who pauses a host, or
// raises its delay, wants this for the next request. A request that is being answered is not cut
// off. URLs that were not fetched are returned, and the frontier, which follows the same spec,
// decides when they are granted. The zero value is ready for use. It may be used concurrently.
//
// The timers here let a visit end without a request in vain. They may be late, so package wire
// looks at the clock once more when the first byte of a request goes out.
type halts struct {
	mu  sync.Mutex // guards end and its contents
	end map[*crawl.Visit]*halt
}

// halt is how a visit is ended.
type halt struct {
	end    context.CancelFunc
	closes *time.Timer // looks at the hours of its host; nil: they never end
}

// add makes end be called when a config halts the visit, and at once if the current one does. The
// current config is read after the visit was added, so that no change is missed.
func (h *halts) add(job *crawl.Visit, end context.CancelFunc, now func() *requests.Config) {
	h.mu.Lock()
	if h.end == nil {
		h.end = make(map[*crawl.Visit]*halt)
	}
	h.end[job] = &halt{end: end}
	h.mu.Unlock()
	cfg := now()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.look(job, cfg, now)
}

func (h *halts) remove(job *crawl.Visit) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if v := h.end[job]; v != nil && v.closes != nil {
		v.closes.Stop()
	}
	delete(h.end, job)
}

// follow ends the visits that a config halts.
func (h *halts) follow(now func() *requests.Config) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for job := range h.end {
		h.look(job, now(), now)
	}
}

// look ends a visit if cfg halts it, and otherwise arranges to look again when its hours end. mu
// must be locked.
func (h *halts) look(job *crawl.Visit, cfg *requests.Config, now func() *requests.Config) {
	v, at := h.end[job], time.Now()
	if v == nil {
		return // it has ended
	}
	if v.closes != nil {
		v.closes.Stop()
		v.closes = nil
	}
	if cfg.Halts(job.Host, job.Delay, at) {
		v.end()
		return
	}
	if closes := cfg.Hours.Of(string(job.Host)).Closes(at); !closes.IsZero() {
		v.closes = time.AfterFunc(closes.Sub(at), func() {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.look(job, now(), now)
		})
	}
}
