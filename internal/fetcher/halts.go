package fetcher

import (
	"context"
	"sync"

	"github.com/curtsy/curtsy/internal/crawl"
)

// halts ends running visits if a changed spec allows no more requests in them. A visit keeps its
// spec in everything else, but an operator who pauses a host, or raises its delay, wants this for
// the next request. A request that is being answered is not cut off. URLs that were not fetched are
// returned, and the frontier, which follows the same spec, decides when they are granted. The zero
// value is ready for use. It may be used concurrently.
type halts struct {
	mu  sync.Mutex
	end map[*crawl.Visit]context.CancelFunc
}

// add makes end be called when a spec halts the visit, and at once if the current spec does. The
// current spec is read after the visit was added, so that no change is missed.
func (h *halts) add(job *crawl.Visit, end context.CancelFunc, now func() *crawl.Spec) {
	h.mu.Lock()
	if h.end == nil {
		h.end = make(map[*crawl.Visit]context.CancelFunc)
	}
	h.end[job] = end
	h.mu.Unlock()
	if now().Halts(job.Host, job.Delay) {
		end()
	}
}

func (h *halts) remove(job *crawl.Visit) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.end, job)
}

// follow ends the visits that a spec halts.
func (h *halts) follow(spec *crawl.Spec) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for job, end := range h.end {
		if spec.Halts(job.Host, job.Delay) {
			end()
		}
	}
}
