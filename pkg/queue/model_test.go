package queue

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/pkg/boottime"
)

// internal/frontier's TestModel models the ownership rules in virtual time. This test checks the
// values that the model assumes. Whoever changes one of them must change modelTerm and modelRival
// there too, and see the effect.
func TestTermsOfTheModel(t *testing.T) {
	if defaultTerm != 10*time.Second {
		t.Errorf("the default term is %v; internal/frontier's model reckons with 10 s", defaultTerm)
	}
	t.Run("a rival waits one and a half", func(t *testing.T) {
		simnet.Test(t, func(t *testing.T) {
			r := &register{record: `{"epoch":7,"owner":"other"}`, revision: 3}
			if _, err := Own(t.Context(), r, "frontier.0", ownOptions(t, "me")); err != nil {
				t.Fatal(err)
			}
			if waited := r.written - r.read; waited < term*3/2 {
				t.Errorf("took a shard %v after seeing its record, which did not change; the model counts on %v", waited, term*3/2)
			}
		})
	})
	t.Run("an owner counts from sending", func(t *testing.T) {
		simnet.Test(t, func(t *testing.T) {
			r := &register{slow: term / 3}
			s, err := Own(t.Context(), r, "frontier.0", ownOptions(t, "me"))
			if err != nil {
				t.Fatal(err)
			}
			for range 2 { // the first write takes the shard, the second renews it
				for boottime.Now() < r.written+term {
					time.Sleep(term / 50)
				}
				if s.Valid() {
					t.Errorf("may act %v after it sent its last write; the term is %v", boottime.Now()-r.written, term)
				}
				if err := s.Update(t.Context(), nil); err != nil {
					t.Fatal(err)
				}
			}
		})
	})
}

// register is a bucket with one key that records when it is read and written.
type register struct {
	jetstream.KeyValue // nil: no other method is called
	slow               time.Duration

	mu       sync.Mutex // guards the rest
	record   string
	revision uint64
	read     time.Duration // when it first answered with the current revision
	written  time.Duration // when the last write arrived
}

func (r *register) Bucket() string { return "register" }

func (r *register) Get(context.Context, string) (jetstream.KeyValueEntry, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.revision == 0 {
		return nil, jetstream.ErrKeyNotFound
	}
	if r.read == 0 {
		r.read = boottime.Now()
	}
	return registerEntry{value: []byte(r.record), revision: r.revision}, nil
}

func (r *register) Create(ctx context.Context, key string, value []byte, _ ...jetstream.KVCreateOpt) (uint64, error) {
	return r.Update(ctx, key, value, 0)
}

func (r *register) Update(_ context.Context, _ string, value []byte, revision uint64) (uint64, error) {
	now := boottime.Now()
	time.Sleep(r.slow)
	r.mu.Lock()
	defer r.mu.Unlock()
	if revision != r.revision {
		return 0, jetstream.ErrKeyExists
	}
	r.record, r.revision, r.written = string(value), revision+1, now
	return r.revision, nil
}

type registerEntry struct {
	jetstream.KeyValueEntry
	value    []byte
	revision uint64
}

func (e registerEntry) Value() []byte    { return e.value }
func (e registerEntry) Revision() uint64 { return e.revision }
