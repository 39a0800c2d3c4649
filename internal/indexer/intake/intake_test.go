package intake

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/disk"
)

func open(t testing.TB, dir string) *Intake {
	t.Helper()
	return openSmall(t, dir, 0)
}

// openSmall opens an intake with files of a size.
func openSmall(t testing.TB, dir string, fileBytes int64) *Intake {
	t.Helper()
	in, err := Open(dir, 3, fileBytes, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func put(t testing.TB, in *Intake, msg string) {
	t.Helper()
	if err := in.Append(t.Context(), []byte(msg)); err != nil {
		t.Fatal(err)
	}
}

// take takes what is there.
func take(t testing.TB, in *Intake, n, limit int) (batch []Message, texts []string) {
	t.Helper()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	batch, err := in.Take(ended, n, limit)
	if err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	for _, m := range batch {
		texts = append(texts, string(m.Data))
	}
	return batch, texts
}

func files(t testing.TB, dir string) (names []string) {
	t.Helper()
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		names = append(names, e.Name())
	}
	return names
}

func TestMessagesAreTakenInOrderWithinLimits(t *testing.T) {
	in := open(t, t.TempDir())
	for _, m := range []string{"one", "two", "three", "four"} {
		put(t, in, m)
	}
	for _, want := range [][]string{{"one", "two"}, {"three"}, {"four"}} {
		if _, got := take(t, in, 2, len("three")+1); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("taken: %q, want %q", got, want)
		}
	}
	if _, got := take(t, in, 2, 10); got != nil {
		t.Errorf("taken twice: %q", got)
	}
	if n := in.Pending(); n != 4 {
		t.Errorf("%d are pending, want 4", n)
	}
}

func TestLengthOfMessages(t *testing.T) {
	in := open(t, t.TempDir())
	for size, ok := range map[int]bool{0: false, 1: true, MaxMessage: true, MaxMessage + 1: false} {
		if err := in.Append(t.Context(), make([]byte, size)); (err == nil) != ok {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

// What a process appended is there for the next one, unless it is settled and its file is removed.
func TestMessagesSurviveAKill(t *testing.T) {
	dir := t.TempDir()
	in := open(t, dir)
	put(t, in, "stored")
	put(t, in, "left")
	batch, _ := take(t, in, 1, 100)
	in.Settle(batch[0])
	in = open(t, dir) // the earlier one is not closed
	if n := in.Pending(); n != 2 {
		t.Errorf("%d are pending, want 2: the file is read from its beginning", n)
	}
	put(t, in, "new")
	batch, texts := take(t, in, 9, 100)
	if fmt.Sprint(texts) != "[stored left]" {
		t.Errorf("taken: %q", texts)
	}
	for _, m := range batch {
		in.Settle(m)
	}
	if got := files(t, dir); len(got) != 1 {
		t.Errorf("files: %q, want only the one with the new message", got)
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	in = open(t, dir)
	if batch, texts = take(t, in, 9, 100); fmt.Sprint(texts) != "[new]" {
		t.Errorf("after closing: %q", texts)
	}
	in.Settle(batch[0])
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if got := files(t, dir); len(got) != 0 {
		t.Errorf("nothing waits, and there are files: %q", got)
	}
	if err := in.Append(t.Context(), []byte("late")); !errors.Is(err, ErrClosed) {
		t.Errorf("appended after closing: %v", err)
	}
}

// The intakes of other shards, and other files, are left alone.
func TestFilesOfOthers(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"intake-33-1.log", "intake-3-01.log", "intake-3-x.log", "intake-3-1.log.bak"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("other"), disk.FileMode); err != nil {
			t.Fatal(err)
		}
	}
	in := open(t, dir)
	put(t, in, "mine")
	if _, texts := take(t, in, 9, 100); fmt.Sprint(texts) != "[mine]" {
		t.Errorf("taken: %q", texts)
	}
	if got := files(t, dir); len(got) != 5 {
		t.Errorf("files: %q", got)
	}
}

// A file of another format is not touched, and the error says what to do.
func TestOtherFormat(t *testing.T) {
	dir := t.TempDir()
	path := partPath(dir, 3, 7)
	for text, ok := range map[string]bool{"": true, string(head[:5]): true, string(head): true, "curtsy intake 2\nmore": false, "x": false} {
		if err := os.WriteFile(path, []byte(text), disk.FileMode); err != nil {
			t.Fatal(err)
		}
		in, err := Open(dir, 3, 0, slog.New(slog.DiscardHandler))
		if ok != (err == nil) || !ok && (!errors.Is(err, errFormat) || !strings.Contains(err.Error(), path)) {
			t.Errorf("%q: %v", text, err)
		}
		if err == nil {
			if err := in.Close(); err != nil {
				t.Error(err)
			}
		} else if left, _ := os.ReadFile(path); string(left) != text {
			t.Errorf("%q has become %q", text, left)
		}
	}
}

// A file that is used again does not bring back the messages of its earlier life.
func TestFilesAreUsedAgain(t *testing.T) {
	dir := t.TempDir()
	in := open(t, dir)
	large := strings.Repeat("l", partBytes/4)
	var all []Message
	for range 4 { // with what is around them they pass partBytes
		put(t, in, large)
		batch, _ := take(t, in, 1, partBytes)
		all = append(all, batch...)
	}
	put(t, in, "second file")
	for _, m := range all {
		in.Settle(m)
	}
	if got := files(t, dir); fmt.Sprint(got) != "[intake-3-2.log intake-3-spare.log]" {
		t.Fatalf("files: %q", got)
	}
	for range 4 {
		put(t, in, large)
	}
	put(t, in, "third file")
	if got := files(t, dir); fmt.Sprint(got) != "[intake-3-2.log intake-3-3.log]" {
		t.Fatalf("files: %q", got)
	}
	in = open(t, dir)
	var texts []string
	for {
		_, some := take(t, in, 1, partBytes)
		if some == nil {
			break
		}
		texts = append(texts, some[0][:min(12, len(some[0]))])
	}
	if l := large[:12]; fmt.Sprint(texts) != fmt.Sprint([]string{"second file", l, l, l, l, "third file"}) {
		t.Errorf("taken: %q", texts)
	}
}

// Beyond its capacity an intake waits until something is settled.
func TestCapacity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := open(t, t.TempDir())
		for range capacity / MaxMessage {
			put(t, in, strings.Repeat("m", MaxMessage))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := in.Append(ctx, []byte("x")); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("one more: %v", err)
		}
		appended := false
		go func() {
			put(t, in, "x")
			appended = true
		}()
		synctest.Wait()
		if appended {
			t.Error("appended beyond the capacity")
		}
		batch, _ := take(t, in, 1, 1)
		in.Settle(batch[0])
		synctest.Wait()
		if !appended {
			t.Error("not appended after a message was settled")
		}
	})
}

// Take waits for a message, and ends with its context.
func TestTakeWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := open(t, t.TempDir())
		ctx, cancel := context.WithCancel(t.Context())
		var got []Message
		var err error
		done := make(chan struct{})
		go func() {
			defer close(done)
			got, err = in.Take(ctx, 9, 100)
		}()
		synctest.Wait()
		put(t, in, "m")
		<-done
		if len(got) != 1 || err != nil {
			t.Fatalf("taken: %v, %v", got, err)
		}
		cancel()
		if got, err = in.Take(ctx, 9, 100); got != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("after the end: %v, %v", got, err)
		}
	})
}

// A disk without space keeps the message waiting; when there is space again, it is appended once.
func TestFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		in := open(t, dir)
		put(t, in, "one")
		p := in.parts[0]
		good := p.f
		readOnly, err := os.Open(p.path) // every write to it fails
		if err != nil {
			t.Fatal(err)
		}
		p.f = readOnly
		var appended atomic.Bool
		go func() {
			put(t, in, "two")
			appended.Store(true)
		}()
		time.Sleep(time.Minute)
		in.mu.Lock()
		if appended.Load() {
			t.Error("appended to a file that cannot be written")
		}
		p.f = good
		in.mu.Unlock()
		time.Sleep(time.Minute)
		if !appended.Load() {
			t.Error("not appended after the file could be written again")
		}
		if err := readOnly.Close(); err != nil {
			t.Error(err)
		}
		in = open(t, dir)
		if _, texts := take(t, in, 9, 100); fmt.Sprint(texts) != "[one two]" {
			t.Errorf("taken: %q", texts)
		}
	})
}

// A message is synced if it waits for more than a second, and only then.
func TestSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := open(t, t.TempDir())
		synced := func() int64 {
			t.Helper()
			if err := in.Sync(time.Now()); err != nil {
				t.Fatal(err)
			}
			return in.parts[0].synced
		}
		put(t, in, "m")
		time.Sleep(syncAfter - 1)
		if synced() != 0 {
			t.Error("synced too early")
		}
		time.Sleep(time.Nanosecond)
		if n := synced(); n != in.parts[0].size {
			t.Errorf("synced up to %d of %d", n, in.parts[0].size)
		}
		put(t, in, "n")
		time.Sleep(syncAfter)
		batch, _ := take(t, in, 9, 100)
		for _, m := range batch {
			in.Settle(m)
		}
		if n := synced(); n == in.parts[0].size {
			t.Error("synced although nothing waits")
		}
	})
}

// TestKills appends, takes, settles, and copies the files at random moments, also cut off within
// the last message, as a kill or a failing machine leaves them. What was appended and not settled
// is always there, in order; nothing else is but whole messages that were settled.
func TestKills(t *testing.T) {
	const most = 9 << 10 // bytes of a file
	for seed := range uint64(25) {
		r := rand.New(rand.NewPCG(seed, 34))
		dir := t.TempDir()
		in := openSmall(t, dir, most)
		appended, settled := 0, map[int]bool{}
		var out []Message
		text := func(n int) string { return fmt.Sprintf("%d:%s", n, strings.Repeat("t", n*7919%(most/3))) }
		number := func(m []byte) (n int) {
			before, _, _ := bytes.Cut(m, []byte(":"))
			fmt.Sscan(string(before), &n)
			return n
		}
		for range 60 {
			switch k := r.IntN(10); {
			case k < 5:
				put(t, in, text(appended))
				appended++
			case k < 7:
				batch, _ := take(t, in, 1+r.IntN(3), 1+r.IntN(most))
				out = append(out, batch...)
			case k < 9:
				for len(out) > 0 && r.IntN(4) > 0 {
					i := r.IntN(len(out))
					in.Settle(out[i])
					settled[number(out[i].Data)] = true
					out = append(out[:i], out[i+1:]...)
				}
			default: // a kill
				next := filepath.Join(t.TempDir(), "next")
				if err := os.CopyFS(next, os.DirFS(dir)); err != nil {
					t.Fatal(err)
				}
				last := in.parts[len(in.parts)-1]
				unsafe := -1
				if r.IntN(2) == 1 && len(last.sizes) > 0 { // the last message was not complete
					cut := last.size - 1 - r.Int64N(int64(last.sizes[len(last.sizes)-1]))
					if err := os.Truncate(filepath.Join(next, filepath.Base(last.path)), cut); err != nil {
						t.Fatal(err)
					}
					unsafe = appended - 1
				}
				if err := in.Close(); err != nil {
					t.Fatal(err)
				}
				dir, out = next, nil
				in = openSmall(t, dir, most)
				was := -1
				found := map[int]bool{}
				for {
					batch, texts := take(t, in, 5, partBytes)
					if batch == nil {
						break
					}
					for i, m := range batch {
						n := number(m.Data)
						if n <= was || n >= appended || texts[i] != text(n) {
							t.Fatalf("seed %d: message %d after %d", seed, n, was)
						}
						was, found[n] = n, true
						if settled[n] {
							in.Settle(m)
						} else {
							out = append(out, m)
						}
					}
				}
				for n := range appended {
					if !found[n] && !settled[n] && n != unsafe {
						t.Fatalf("seed %d: message %d of %d is lost", seed, n, appended)
					}
				}
				if unsafe >= 0 && !found[unsafe] {
					settled[unsafe] = true // its sender appends it again, as another one
				}
			}
		}
		if err := in.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// FuzzOpen reads files of any content: an error, or whole messages.
func FuzzOpen(f *testing.F) {
	whole := appendFrame(bytes.Clone(head), 1, []byte("a message"))
	f.Add(whole)
	f.Add(append(bytes.Clone(whole), whole[len(head):len(whole)-3]...))
	f.Add([]byte("curtsy intake 9\n"))
	f.Add(append(bytes.Clone(head), 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 1))
	f.Fuzz(func(t *testing.T, file []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(partPath(dir, 3, 1), file, disk.FileMode); err != nil {
			t.Fatal(err)
		}
		in, err := Open(dir, 3, 0, slog.New(slog.DiscardHandler))
		if err != nil {
			return
		}
		again := bytes.Clone(head)
		for {
			batch, _ := take(t, in, 9, 1<<20)
			if batch == nil {
				break
			}
			for _, m := range batch {
				again = appendFrame(again, 1, m.Data)
				in.Settle(m)
			}
		}
		if len(again) > len(head) && !bytes.HasPrefix(file, again) {
			t.Errorf("messages that are not in the file: %q", again)
		}
		if err := in.Close(); err != nil {
			t.Error(err)
		}
	})
}
