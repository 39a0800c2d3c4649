package budget

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go/jetstream"
)

// memoryKV has one key. Its writes fail if fail says so, before or after they took effect. If it is
// nil, none fails.
type memoryKV struct {
	jetstream.KeyValue
	v    []byte
	rev  uint64
	fail func() (before, after bool)
}

type memoryEntry struct {
	jetstream.KeyValueEntry
	v   []byte
	rev uint64
}

func (e memoryEntry) Value() []byte { return e.v }

func (e memoryEntry) Revision() uint64 { return e.rev }

func (k *memoryKV) Get(context.Context, string) (jetstream.KeyValueEntry, error) {
	if k.rev == 0 {
		return nil, jetstream.ErrKeyNotFound
	}
	return memoryEntry{v: k.v, rev: k.rev}, nil
}

func (k *memoryKV) Create(ctx context.Context, key string, v []byte, _ ...jetstream.KVCreateOpt) (uint64, error) {
	return k.Update(ctx, key, v, 0)
}

func (k *memoryKV) Update(_ context.Context, _ string, v []byte, revision uint64) (uint64, error) {
	var before, after bool
	if k.fail != nil {
		before, after = k.fail()
	}
	if before {
		return 0, errors.New("not written")
	}
	if revision != k.rev {
		return 0, &jetstream.APIError{Code: 400, ErrorCode: jetstream.JSErrCodeStreamWrongLastSequence}
	}
	k.v, k.rev = v, k.rev+1
	if after {
		return 0, errors.New("written, but the answer was lost")
	}
	return k.rev, nil
}
