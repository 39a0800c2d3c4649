package fetcher

import (
	"context"
	"sync"

	"github.com/curtsy/curtsy/internal/crawl"
)

// halts end visits under way when the spec changes such that nothing more may be asked under them:
// a visit keeps the spec it began with in all else, but whoever pauses a host, or raises its delay,
// means the next request already. A request that is being answered is not cut off. What has not
// been fetched goes back, and the frontier, which follows the same spec, decides when it is
// granted. The zero value is ready, and safe for concurrent use.
type halts struct {
	mu  sync.Mutex
	end map[*crawl.Visit]context.CancelFunc
}

// add has end called once a spec halts the visit, and at once if that of now does. now is read
// after the visit was added, so that no change is missed between.
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
