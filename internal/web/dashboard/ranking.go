package dashboard

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// ranking is a list of hosts as it was a short time ago. The crawl has to read all hosts for it,
// and each overview that is followed live asks once a second, so one answer is used several times.
// Its zero value is ready. It may be used by many goroutines.
type ranking struct {
	mu    sync.Mutex // guards what follows
	state string     // of the crawl, when it was asked
	until time.Time  // the answer is given again
	rows  []crawl.HostRow
	asked chan struct{} // closed when a running question has an answer; nil: none is running
}

// Questions take at most one part in rankShare of the time. After an error or an answer without
// rows they may take ten times as much, so that the list does not stay empty for long.
const rankShare = 100

// of returns the last answer, or asks again. It asks again if the crawl is in another state. While
// another goroutine asks, it returns the last answer if there is one. Without an answer there are
// no rows.
func (k *ranking) of(ctx context.Context, state string, ask func() ([]crawl.HostRow, error)) []crawl.HostRow {
	k.mu.Lock()
	for {
		known := k.state == state && !k.until.IsZero()
		if known && (k.asked != nil || time.Now().Before(k.until)) {
			defer k.mu.Unlock()
			return slices.Clone(k.rows)
		}
		if k.asked == nil {
			break
		}
		wait := k.asked
		k.mu.Unlock()
		select {
		case <-wait:
		case <-ctx.Done():
			return nil
		}
		k.mu.Lock()
	}
	done := make(chan struct{})
	k.asked = done
	k.mu.Unlock()

	began := time.Now()
	rows, err := ask()
	lasts := rankShare * time.Since(began)
	if err != nil || len(rows) == 0 {
		lasts /= 10
	}

	k.mu.Lock()
	defer k.mu.Unlock()
	if k.asked = nil; ctx.Err() != context.Canceled { // otherwise the client left
		k.state, k.until, k.rows = state, time.Now().Add(lasts), rows
	}
	close(done)
	return slices.Clone(rows)
}
