package indexer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/curtsy/curtsy/internal/pages"
)

// home says where a shard's pages are.
type home struct {
	Instance string `json:"instance"` // of the indexer, for people
	Store    string `json:"store"`    // identity of the page store: who has that file is home
}

// claimGap is how much longer an indexer waits before it claims another shard, for each it has claimed: indexers that
// start together share a new crawl's shards about evenly.
const claimGap = 25 * time.Millisecond

// comeHome opens the shard's page store once this indexer is its home: because the record says so, because the file
// the record names is here, or because there is no record yet and we are first. Until then it waits.
func (x *Indexer) comeHome(ctx context.Context, id int, kv jetstream.KeyValue, log *slog.Logger) (*pages.Store, error) {
	said := ""
	for {
		store, h, err := x.tryHome(ctx, id, kv, log)
		if store != nil || err != nil {
			return store, err
		}
		if h.Instance != said {
			said = h.Instance
			log.Info("the shard's pages are with another indexer; leaving them to it", "home", said)
		}
		if !sleep(ctx, 2*time.Second) {
			return nil, ctx.Err()
		}
	}
}

// tryHome looks once. Without store and error the home is elsewhere.
func (x *Indexer) tryHome(ctx context.Context, id int, kv jetstream.KeyValue, log *slog.Logger) (*pages.Store, home, error) {
	key, path := fmt.Sprintf("home.%d", id), pagesFile(x.o.Dir, id)
	h, revision, err := readHome(ctx, kv, key)
	if err == nil && revision == 0 {
		x.claiming.Lock()
		defer x.claiming.Unlock()
		if !x.o.Embedded && !sleep(ctx, claimGap*time.Duration(min(x.claimed, 8))) {
			return nil, h, ctx.Err()
		}
		x.claimed++
		h, revision, err = readHome(ctx, kv, key)
	}
	if err != nil {
		return nil, h, err
	}
	_, statErr := os.Stat(path)
	here := !errors.Is(statErr, fs.ErrNotExist)
	if revision != 0 && !here && h.Instance != x.o.Instance {
		return nil, h, nil
	}
	store, err := pages.Open(path, pages.Options{})
	if err != nil {
		return nil, h, err
	}
	ours := home{Instance: x.o.Instance, Store: store.Identity()}
	switch {
	case h == ours:
		return store, h, nil
	case revision == 0:
	case h.Store == ours.Store:
		log.Info("the shard's pages have moved here", "from", h.Instance)
	case h.Instance != ours.Instance:
		log.Warn("the page store here is not the crawl's", "file", path, "home", h.Instance)
		return nil, h, store.Close()
	default:
		log.Error("the page store the crawl had here is gone; its pages come back as they are crawled again", "file", path)
	}
	if err := writeHome(ctx, kv, key, ours, revision); err != nil {
		err = errors.Join(err, store.Close())
		if !here {
			os.Remove(path) // it never held a page
		}
		if changedMeanwhile(err) {
			return nil, h, nil
		}
		return nil, h, err
	}
	return store, ours, nil
}

// readHome returns a shard's home; revision 0 when it has none yet.
func readHome(ctx context.Context, kv jetstream.KeyValue, key string) (h home, revision uint64, err error) {
	e, err := kv.Get(ctx, key)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return h, 0, nil
	}
	if err == nil {
		if err = json.Unmarshal(e.Value(), &h); err == nil {
			return h, e.Revision(), nil
		}
	}
	return h, 0, fmt.Errorf("read %s: %w", key, err)
}

// writeHome replaces the record that has this revision, 0 for none.
func writeHome(ctx context.Context, kv jetstream.KeyValue, key string, h home, revision uint64) error {
	value, err := json.Marshal(h)
	if err == nil && revision == 0 {
		_, err = kv.Create(ctx, key, value)
	} else if err == nil {
		_, err = kv.Update(ctx, key, value, revision)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", key, err)
	}
	return nil
}

// changedMeanwhile reports whether a write came too late.
func changedMeanwhile(err error) bool {
	var api *jetstream.APIError
	return errors.Is(err, jetstream.ErrKeyExists) ||
		errors.As(err, &api) && api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence
}
