package service

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/simnet"
)

// A bucket that was deleted and created again numbers its messages from 1. A watch of the old
// bucket would never get them.
func TestSpecOfABucketMadeAnew(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		nc, kv := bucket(t)
		put := func(kv jetstream.KeyValue, pages int64) {
			t.Helper()
			if _, err := ChangeSpec(t.Context(), kv, func(*crawl.Spec) (crawl.Spec, error) {
				return crawl.Spec{Name: "t", Shards: 1, MaxPages: pages}, nil
			}); err != nil {
				t.Fatal(err)
			}
		}
		for pages := range int64(5) {
			put(kv, 1+pages)
		}
		seen := make(chan crawl.Spec, 10)
		go func() {
			if err := WatchSpec(t.Context(), kv, crawl.Spec{}, func(s crawl.Spec) { seen <- s }); err != nil {
				t.Error(err)
			}
		}()
		next := func(want int64) {
			t.Helper()
			for {
				select {
				case s := <-seen:
					if s.MaxPages == want {
						return
					}
				case <-time.After(10 * lookAgain):
					t.Fatalf("a spec of %d pages was never heard of", want)
				}
			}
		}
		next(5)
		js, err := jetstream.New(nc)
		if err != nil {
			t.Fatal(err)
		}
		if err := js.DeleteKeyValue(t.Context(), kv.Bucket()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * lookAgain) // it is away for a while
		again, err := js.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: kv.Bucket(), MaxBytes: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		put(again, 7)
		next(7)
		put(again, 8)
		next(8)
	})
}

// A change of the spec keeps fields that this version does not know. A newer version may have
// stored there what protects a host from requests.
func TestSpecOfANewerVersion(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		_, kv := bucket(t)
		const newer = `{"name":"t","shards":2,"paused":true,"max_pages":7,"never":{"a.example":[1]},"seeds":null}`
		if _, err := kv.PutString(t.Context(), specKey, newer); err != nil {
			t.Fatal(err)
		}
		for pages := range int64(3) {
			if _, err := ChangeSpec(t.Context(), kv, func(s *crawl.Spec) (crawl.Spec, error) {
				next := *s
				next.Paused, next.MaxPages = false, pages
				return next, nil
			}); err != nil {
				t.Fatal(err)
			}
			e, err := kv.Get(t.Context(), specKey)
			if err != nil {
				t.Fatal(err)
			}
			var is map[string]any
			if err := json.Unmarshal(e.Value(), &is); err != nil {
				t.Fatal(err)
			}
			if fmt.Sprint(is["never"]) != "map[a.example:[1]]" {
				t.Errorf("what this version does not know is %v now", is["never"])
			}
			if spec, err := ReadSpec(t.Context(), kv); err != nil || spec.Paused || spec.MaxPages != pages || spec.Shards != 2 {
				t.Errorf("%+v, %v", spec, err)
			}
		}
	})
}

// overtaken refuses the first write with the error of a cluster in which another write is running.
type overtaken struct {
	jetstream.KeyValue
	told bool
}

func (b *overtaken) Update(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	if !b.told {
		b.told = true
		return 0, &jetstream.APIError{Code: 400, ErrorCode: 10164, Description: "wrong last sequence"}
	}
	return b.KeyValue.Update(ctx, key, value, revision)
}

// A change that is overtaken by another is repeated on the result of the other, with one server or
// several.
func TestASpecChangedByTwo(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		_, kv := bucket(t)
		for _, kv := range []jetstream.KeyValue{kv, &overtaken{KeyValue: kv}} {
			if _, err := ChangeSpec(t.Context(), kv, func(*crawl.Spec) (crawl.Spec, error) { return crawl.Spec{Name: "t"}, nil }); err != nil {
				t.Error(err)
			}
		}
	})
}
