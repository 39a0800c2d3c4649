package frontier

import (
	"context"
	"fmt"

	"github.com/curtsy/curtsy/pkg/queue"
)

// appendTo appends an event to the log of another shard.
func (f *Frontier) appendTo(ctx context.Context, shard int, data []byte) error {
	if err := f.fault("send"); err != nil {
		return err
	}
	if _, err := f.logs[shard].Append(ctx, data); err != nil {
		return err
	}
	return f.fault("sent")
}

// handOverPages sends pages to a shard's indexer and returns when they are stored. It waits while
// the stream is full.
func (f *Frontier) handOverPages(ctx context.Context, shard int, data []byte) error {
	w, err := f.handOff(ctx)
	if err == nil {
		err = f.fault("send")
	}
	if err == nil {
		err = w.Send(ctx, f.names.PagesSubject(shard), data)
	}
	if err != nil {
		return err
	}
	return f.fault("sent")
}

// handOff opens the stream to the indexers.
func (f *Frontier) handOff(ctx context.Context) (*queue.Work, error) {
	f.mu.Lock()
	w := f.pages
	f.mu.Unlock()
	if w != nil {
		return w, nil
	}
	w, err := f.q.JoinWork(ctx, f.names.PagesStream(), nil)
	if err != nil {
		return nil, fmt.Errorf("pages hand-off: %w", err)
	}
	f.mu.Lock()
	f.pages = w
	f.mu.Unlock()
	return w, nil
}
