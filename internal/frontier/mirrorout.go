package frontier

import (
	"context"
	"fmt"

	"github.com/curtsy/curtsy/pkg/queue"
)

// handOverPages hands pages to a shard's indexer and returns when they are stored. It waits while there is no room.
func (f *Frontier) handOverPages(ctx context.Context, shard int, data []byte) error {
	w, err := f.handOff(ctx)
	if err != nil {
		return err
	}
	return w.Send(ctx, f.names.PagesSubject(shard), data)
}

// handOff opens the hand-off to the indexers as it was made.
func (f *Frontier) handOff(ctx context.Context) (*queue.Work, error) {
	f.mu.Lock()
	w := f.pages
	f.mu.Unlock()
	if w != nil {
		return w, nil
	}
	st, err := f.q.JS.Stream(ctx, f.names.PagesStream())
	if err != nil {
		return nil, fmt.Errorf("pages hand-off: %w", err)
	}
	c := st.CachedInfo().Config
	w, err = f.q.OpenWork(ctx, queue.WorkConfig{
		Stream: c.Name, Subjects: c.Subjects, MaxBytes: c.MaxBytes, Replicas: c.Replicas, MaxMsgsPerSubject: max(c.MaxMsgsPerSubject, 0),
	})
	if err != nil {
		return nil, fmt.Errorf("pages hand-off: %w", err)
	}
	f.mu.Lock()
	f.pages = w
	f.mu.Unlock()
	return w, nil
}
