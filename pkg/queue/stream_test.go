package queue

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/pkg/queue/embedded"
)

// An existing stream never becomes smaller. A stream that cannot be made bigger is used unchanged.
func TestExistingStreams(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		c := dial(t, startServer(t, embedded.Options{MaxStore: 64 << 20}))
		config := func(stream string) jetstream.StreamConfig {
			t.Helper()
			s, err := c.JS.Stream(t.Context(), stream)
			check(t, err)
			return s.CachedInfo().Config
		}
		for _, x := range []struct {
			ask, replicas int64 // MiB
			want          int64
		}{{8, 1, 8}, {16, 1, 16}, {4, 1, 16}, {100, 1, 16}, {8, 3, 16}} {
			_, err := c.OpenLog(t.Context(), LogConfig{Stream: "L", Subject: "l", MaxBytes: x.ask << 20, Replicas: int(x.replicas)})
			if got := config("L"); err != nil || got.MaxBytes != x.want<<20 || got.Replicas != 1 {
				t.Errorf("OpenLog(%d MiB, %d replicas) = %v, and it has %d and %d", x.ask, x.replicas, err, got.MaxBytes>>20, got.Replicas)
			}
		}
		for range 2 { // the second call has the same result as the first: nothing of that is left
			if _, err := c.OpenLog(t.Context(), LogConfig{Stream: "M", Subject: "m", MaxBytes: 100 << 20}); err == nil || !strings.Contains(err.Error(), "max_file_store") {
				t.Errorf("a new log too large for the server: %v", err)
			}
		}
		if _, err := c.OpenBucket(t.Context(), "three", 3); err == nil || !strings.Contains(err.Error(), "start more NATS servers") {
			t.Errorf("three replicas on one server: %v", err)
		}
		_, err := c.JS.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: "theirs"})
		check(t, err)
		kv, err := c.OpenBucket(t.Context(), "theirs", 0)
		check(t, err)
		if got := config("KV_theirs"); got.MaxBytes != -1 {
			t.Errorf("a bucket without a limit has one now: %d", got.MaxBytes)
		}
		if _, err := kv.Create(t.Context(), "k", nil); err != nil {
			t.Error(err)
		}
	})
}

// A server in this process keeps the blocks that it works on in the memory of this process. They
// are small, whatever the capacity of a stream is.
func TestSmallBlocks(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		c := dial(t, startServer(t, embedded.Options{Dir: dir}))
		l := openLog(t, c)
		s, err := c.JS.Stream(t.Context(), "x-EVENTS-0")
		check(t, err)
		if capacity := s.CachedInfo().Config.MaxBytes; capacity != 1<<30 {
			t.Errorf("the log has a capacity of %d bytes, want 1 GiB", capacity)
		}
		for range 12 { // 9 MiB
			_, err := l.Append(t.Context(), make([]byte, 768<<10))
			check(t, err)
		}
		blocks, err := filepath.Glob(filepath.Join(dir, "jetstream", "*", "streams", "x-EVENTS-0", "msgs", "*.blk"))
		check(t, err)
		if len(blocks) != 3 {
			t.Errorf("9 MiB lie in %d blocks, want 3 of up to 4 MiB", len(blocks))
		}
	})
}
