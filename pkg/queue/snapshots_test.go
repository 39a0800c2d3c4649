package queue

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/klauspost/compress/s2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/internal/testaid"
	"github.com/curtsy/curtsy/pkg/queue/embedded"
)

func openSnapshots(t testing.TB, c *Conn) *Snapshots {
	t.Helper()
	s, err := c.OpenSnapshots(t.Context(), SnapshotConfig{Bucket: "x-CHECKPOINTS", MaxBytes: 4 << 20})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func noise(n int) []byte {
	b := make([]byte, n)
	r := rand.NewChaCha8([32]byte{1})
	_, _ = r.Read(b)
	return b
}

func writeOf(data []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	}
}

func put(t testing.TB, s *Snapshots, name string, data []byte) int64 {
	t.Helper()
	n, err := s.Put(t.Context(), name, int64(len(data)), writeOf(data))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func wantSnapshot(t testing.TB, s *Snapshots, name string, want []byte) {
	t.Helper()
	var got bytes.Buffer
	if err := s.Get(t.Context(), name, &got); err != nil {
		t.Errorf("Get(%s) = %v", name, err)
	} else if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("%s: %d bytes came back, not the %d that were put", name, got.Len(), len(want))
	}
}

// stored returns how many messages the store has, their size in bytes, and the capacity that it
// reserves.
func stored(t testing.TB, s *Snapshots) (msgs, size uint64, capacity int64) {
	t.Helper()
	info, err := s.st.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return info.State.Msgs, info.State.Bytes, info.Config.MaxBytes
}

func TestSnapshotRoundTrip(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		s := openSnapshots(t, dial(t, startServer(t, embedded.Options{})))
		tests := map[string][]byte{
			"nothing":         {},
			"a byte":          {1},
			"one/piece.1-7 ü": noise(1000),
			"just two pieces": noise(2 * pieceBytes),
			"random":          noise(testaid.Volume(20<<20, 3<<20)),
			"compressible":    bytes.Repeat([]byte("<a href=/>"), testaid.Volume(2<<20, 300<<10)),
		}
		var names []string
		for name, data := range tests {
			_, before, _ := stored(t, s)
			n := put(t, s, name, data)
			_, after, capacity := stored(t, s)
			if took := int64(after - before); took < n || took > n+n/50+1000 {
				t.Errorf("%s: Put = %d bytes, the store grew by %d", name, n, took)
			}
			if int64(after) > capacity {
				t.Errorf("%s: %d bytes in a capacity of %d", name, after, capacity)
			}
			if name == "compressible" && n > int64(len(data)/10) {
				t.Errorf("%d of %d bytes: not compressed", n, len(data))
			}
			names = append(names, name)
		}
		for name, data := range tests {
			wantSnapshot(t, s, name, data)
		}
		got, err := s.Names(t.Context())
		slices.Sort(got)
		slices.Sort(names)
		if err != nil || !slices.Equal(got, names) {
			t.Errorf("Names = %q, %v; want %q", got, err, names)
		}
		for _, name := range names {
			if err := s.Delete(t.Context(), name); err != nil {
				t.Error(err)
			}
			if err := s.Delete(t.Context(), name); err != nil {
				t.Errorf("a second time: %v", err)
			}
			if err := s.Get(t.Context(), name, io.Discard); !errors.Is(err, ErrNoSnapshot) {
				t.Errorf("Get after Delete = %v", err)
			}
		}
		if msgs, _, _ := stored(t, s); msgs != 0 {
			t.Errorf("%d messages are left when all was deleted", msgs)
		}
		if got, err := s.Names(t.Context()); len(got) != 0 || err != nil {
			t.Errorf("Names = %q, %v", got, err)
		}
		for range 2 {
			err := s.c.JS.DeleteStream(t.Context(), s.stream())
			if err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
				t.Fatal(err)
			}
		}
		if err := s.Get(t.Context(), names[0], io.Discard); !errors.Is(err, ErrNoSnapshot) {
			t.Errorf("Get = %v without a store", err)
		}
		if _, err := s.Put(t.Context(), "late", 1, writeOf([]byte{1})); !errors.Is(err, jetstream.ErrStreamNotFound) {
			t.Errorf("Put = %v without a store", err)
		}
	})
}

// A stored snapshot is an object that the tools of NATS can read.
func TestSnapshotIsAnObject(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		c := dial(t, startServer(t, embedded.Options{}))
		s := openSnapshots(t, c)
		data := noise(3 << 20)
		put(t, s, "cp", data)
		obs, err := c.JS.ObjectStore(t.Context(), "x-CHECKPOINTS")
		if err != nil {
			t.Fatal(err)
		}
		b, err := obs.GetBytes(t.Context(), "cp")
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(s2.NewReader(bytes.NewReader(b))); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%d bytes, %v", len(got), err)
		}
		// An object that those tools have stored and deleted again does not exist for Snapshots.
		var z bytes.Buffer
		w := s2.NewWriter(&z)
		_, _ = w.Write(data)
		_ = w.Close()
		if _, err := obs.PutBytes(t.Context(), "theirs", z.Bytes()); err != nil {
			t.Fatal(err)
		}
		wantSnapshot(t, s, "theirs", data)
		if err := obs.Delete(t.Context(), "theirs"); err != nil {
			t.Fatal(err)
		}
		if err := s.Get(t.Context(), "theirs", io.Discard); !errors.Is(err, ErrNoSnapshot) {
			t.Errorf("Get = %v", err)
		}
	})
}

func TestSnapshotNameUsedAgain(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		s := openSnapshots(t, dial(t, startServer(t, embedded.Options{})))
		put(t, s, "cp", noise(2<<20))
		put(t, s, "cp", []byte("newer"))
		wantSnapshot(t, s, "cp", []byte("newer"))
		if err := s.Sweep(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		wantSnapshot(t, s, "cp", []byte("newer"))
		if msgs, _, _ := stored(t, s); msgs != 2 {
			t.Errorf("%d messages are left, want one piece and its name", msgs)
		}
	})
}

// The capacity grows with the stored snapshots, even if others use it meanwhile. If it cannot grow,
// the error is clear.
func TestSnapshotCapacity(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		server := startServer(t, embedded.Options{MaxStore: 100 << 20})
		c := dial(t, server)
		s := openSnapshots(t, c)
		if _, _, capacity := stored(t, s); capacity != 4<<20 {
			t.Errorf("%d bytes reserved", capacity)
		}
		data := noise(5 << 20)
		var wg sync.WaitGroup
		for i := range 3 { // Put notices during the upload that these sizes are too small
			wg.Go(func() {
				if _, err := s.Put(t.Context(), fmt.Sprint(i), int64(1+i)<<10, writeOf(data)); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		for i := range 3 {
			wantSnapshot(t, s, fmt.Sprint(i), data)
		}
		msgs, _, _ := stored(t, s)
		_, err := s.Put(t.Context(), "huge", 200<<20, writeOf(data))
		if err == nil || !strings.Contains(err.Error(), "less storage left to reserve: free some, or raise max_file_store of NATS") {
			t.Errorf("Put beyond the capacity of the server = %v", err)
		}
		endless := func(w io.Writer) error {
			for {
				if _, err := w.Write(data); err != nil {
					return err
				}
			}
		}
		_, err = s.Put(t.Context(), "endless", 1, endless)
		if err == nil || !strings.Contains(err.Error(), "less storage left to reserve") {
			t.Errorf("Put of something that grows beyond it = %v", err)
		}
		if now, _, _ := stored(t, s); now != msgs {
			t.Errorf("%d messages in the store, %d before what failed", now, msgs)
		}
	})
}

// After any error of Put nothing of the snapshot is left.
func TestSnapshotPutFails(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		s := openSnapshots(t, dial(t, startServer(t, embedded.Options{})))
		broken := errors.New("broken")
		data := noise(3 << 20)
		_, err := s.Put(t.Context(), "cp", 1<<20, func(w io.Writer) error {
			if _, err := w.Write(data); err != nil {
				t.Error(err)
			}
			return broken
		})
		if !errors.Is(err, broken) {
			t.Errorf("Put = %v, want the error of write", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		_, err = s.Put(ctx, "cp", 1<<20, func(w io.Writer) error {
			if _, err := w.Write(data); err != nil {
				t.Error(err)
			}
			cancel()
			for {
				if _, err := w.Write(data); err != nil {
					return err
				}
			}
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("Put = %v, its context ended", err)
		}
		_, err = s.Put(t.Context(), "cp", 1<<20, func(w io.Writer) error {
			if _, err := w.Write(data); err != nil {
				return err
			}
			return s.Sweep(t.Context(), 0) // a sweep with too small a minimum age
		})
		if err == nil {
			t.Error("Put went through, its first pieces were removed")
		}
		if msgs, _, _ := stored(t, s); msgs != 0 {
			t.Errorf("%d messages were left", msgs)
		}
		if err := s.Get(t.Context(), "cp", io.Discard); !errors.Is(err, ErrNoSnapshot) {
			t.Errorf("Get = %v", err)
		}
	})
}

// Every kind of damage is distinguished at once from a broker that does not answer.
func TestSnapshotDamage(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		c := dial(t, startServer(t, embedded.Options{}))
		s := openSnapshots(t, c)
		data := noise(4 * pieceBytes)
		ctx := t.Context()
		piece := func(t *testing.T, k uint64) uint64 { // sequence of the k-th stored message
			info, err := s.st.Info(ctx)
			if err != nil {
				t.Fatal(err)
			}
			return info.State.FirstSeq + k
		}
		named := func(t *testing.T, change func(info *jetstream.ObjectInfo)) {
			info, err := s.lookup(ctx, "cp", 1)
			if err != nil {
				t.Fatal(err)
			}
			change(info)
			b, err := json.Marshal(info)
			check(t, err)
			publish(t, c, s.nameSubject("cp"), b)
		}
		damages := map[string]func(t *testing.T){
			"a piece is missing":         func(t *testing.T) { check(t, s.st.DeleteMsg(ctx, piece(t, 1))) },
			"the first piece is missing": func(t *testing.T) { check(t, s.st.DeleteMsg(ctx, piece(t, 0))) },
			"all pieces are missing":     func(t *testing.T) { check(t, s.purge(ctx, s.pieces("*"))) },
			"it was cut short":           func(t *testing.T) { named(t, func(o *jetstream.ObjectInfo) { o.Chunks-- }) },
			"its digest is another":      func(t *testing.T) { named(t, func(o *jetstream.ObjectInfo) { o.Digest = "SHA-256=AAAA" }) },
			"its digest is none":         func(t *testing.T) { named(t, func(o *jetstream.ObjectInfo) { o.Digest = "x" }) },
			"its size is another":        func(t *testing.T) { named(t, func(o *jetstream.ObjectInfo) { o.Size++ }) },
			"more pieces are promised":   func(t *testing.T) { named(t, func(o *jetstream.ObjectInfo) { o.Chunks++ }) },
			"what names it is nonsense":  func(t *testing.T) { publish(t, c, s.nameSubject("cp"), []byte("{")) },
			"its pieces are not S2": func(t *testing.T) {
				named(t, func(o *jetstream.ObjectInfo) {
					u := &upload{s: s, id: "junk", sum: sha256.New()}
					check(t, u.send(ctx, bytes.NewReader(noise(pieceBytes+1))))
					o.NUID, o.Chunks, o.Size, o.Digest = u.id, u.n, u.size, jetstream.GetObjectDigestValue(u.sum)
				})
			},
		}
		for what, damage := range damages {
			put(t, s, "cp", data)
			damage(t)
			start := time.Now()
			err := s.Get(ctx, "cp", io.Discard)
			if !errors.Is(err, ErrNoSnapshot) {
				t.Errorf("%s: Get = %v", what, err)
			}
			if d := time.Since(start); d > time.Second {
				t.Errorf("%s: it took %v to find out", what, d)
			}
			check(t, s.purge(ctx, ">"))
		}
		put(t, s, "cp", data)
		full := errors.New("no space left on device")
		if err := s.Get(ctx, "cp", failing{full}); !errors.Is(err, full) || errors.Is(err, ErrNoSnapshot) {
			t.Errorf("Get = %v, where it was written to is full", err)
		}
		cctx, cancel := context.WithCancel(ctx)
		cancel()
		if err := s.Get(cctx, "cp", io.Discard); !errors.Is(err, context.Canceled) || errors.Is(err, ErrNoSnapshot) {
			t.Errorf("Get = %v, its context had ended", err)
		}
	})
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func publish(t testing.TB, c *Conn, subject string, data []byte) {
	t.Helper()
	_, err := c.JS.PublishMsg(t.Context(), &nats.Msg{Subject: subject, Data: data, Header: nats.Header{jetstream.MsgRollup: {jetstream.MsgRollupSubject}}})
	check(t, err)
}

// Sweep removes the pieces that a killed process left, and no piece of a running upload.
func TestSnapshotSweep(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		s := openSnapshots(t, dial(t, startServer(t, embedded.Options{})))
		put(t, s, "kept", noise(2<<20))
		orphan := &upload{s: s, id: "orphan", sum: sha256.New()}
		check(t, orphan.send(t.Context(), bytes.NewReader(noise(2<<20))))
		const apart = 6 * time.Second
		time.Sleep(apart)
		begun := time.Now()
		writing, written := make(chan bool), make(chan error, 1)
		go func() {
			_, err := s.Put(t.Context(), "in progress", 4<<20, func(w io.Writer) error {
				_, err := w.Write(noise(4 << 20))
				writing <- true
				<-writing
				return err
			})
			written <- err
		}()
		<-writing
		check(t, s.Sweep(t.Context(), time.Hour))
		if n, _, err := s.subjects(t.Context(), s.pieces(">")); err != nil || len(n) != 3 {
			t.Errorf("%d of 3 objects are left where nothing is old: %v", len(n), err)
		}
		check(t, s.Sweep(t.Context(), time.Since(begun)+apart-time.Second))
		close(writing)
		check(t, <-written)
		n, _, err := s.subjects(t.Context(), s.pieces(">"))
		if err != nil || len(n) != 2 || n[s.pieces("orphan")] != 0 {
			t.Errorf("after Sweep: %v, %v", n, err)
		}
		wantSnapshot(t, s, "kept", noise(2<<20))
		wantSnapshot(t, s, "in progress", noise(4<<20))
	})
}

// The connection breaks and the server restarts all the time. The stored snapshot is complete
// nevertheless.
func TestSnapshotsOutliveTheBroker(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		server := startServer(t, embedded.Options{})
		wire := newCable(t, server)
		s := openSnapshots(t, wire.dial(t, testLog(t)))
		data := noise(8 << 20)
		var breaks atomic.Int64
		wire.breakEvery(5*pieceBytes+pieceBytes/2, func() {
			if breaks.Add(1)%3 == 1 {
				if err := server.Restart(); err != nil {
					t.Error(err)
				}
			}
		})
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		for i := range 2 {
			name := fmt.Sprint("cp-", i)
			if _, err := s.Put(ctx, name, int64(len(data)), writeOf(data)); err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			if err := s.Get(ctx, name, &got); err != nil || !bytes.Equal(got.Bytes(), data) {
				t.Fatalf("Get = %v, %d bytes", err, got.Len())
			}
		}
		wire.breakEvery(0, nil)
		if n := breaks.Load(); n < 4 {
			t.Errorf("the connection broke %d times", n)
		}
	})
}

// If the broker is gone for good, Put and Get end with their contexts, and this does not count as
// damage.
func TestSnapshotsWithoutABroker(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		server := startServer(t, embedded.Options{})
		s := openSnapshots(t, newCable(t, server).dial(t, testLog(t)))
		put(t, s, "cp", noise(1000))
		server.Shutdown()
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if err := s.Get(ctx, "cp", io.Discard); err == nil || errors.Is(err, ErrNoSnapshot) {
			t.Errorf("Get = %v", err)
		}
		if _, err := s.Put(ctx, "cp2", 1000, writeOf(noise(1000))); err == nil {
			t.Error("Put without a broker")
		}
		if err := s.Sweep(ctx, 0); err == nil {
			t.Error("Sweep without a broker")
		}
	})
}

// The first Put waits for a broker that is away. A second Put does not wait for the first one after
// its own context has ended.
func TestPutEndsWithItsContext(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		server := startServer(t, embedded.Options{})
		s := openSnapshots(t, dial(t, server))
		server.Shutdown()
		put := func(ctx context.Context, name string) error {
			_, err := s.Put(ctx, name, 1, func(w io.Writer) error { return nil })
			return err
		}
		first := make(chan error, 1)
		go func() { first <- put(t.Context(), "first") }()
		synctest.Wait()
		begin := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := put(ctx, "second"); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != time.Second {
			t.Errorf("%v after %v, want it a second later, when its context has ended", err, time.Since(begin))
		}
		if err := <-first; err == nil {
			t.Error("something was put where there is no broker")
		}
	})
}
