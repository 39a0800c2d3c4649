package agenthost

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/curtsy/curtsy/internal/mobile"
)

// read decompresses a stream and returns its records, its log and its end.
func readResults(t testing.TB, b []byte) (records, lines []string, end mobile.Summary) {
	t.Helper()
	d, err := zstd.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for r := mobile.NewResultReader(d); ; {
		got, err := r.Next()
		switch {
		case err == io.EOF:
			return records, lines, end
		case err != nil:
			t.Fatalf("after %d records: %v", len(records), err)
		case got.Record != nil:
			records = append(records, string(got.Record))
		case got.Log != nil:
			lines = append(lines, string(got.Log))
		default:
			end = *got.End
		}
	}
}

// TestRepair: wherever a crash cuts a file, what is left has whole records and an end.
func TestRepair(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "a.zst")
	r, err := createResults(name, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		for j := range 2 {
			if err := r.part(bytes.Repeat([]byte{byte('a' + j)}, 1000), j == 1); err != nil {
				t.Fatal(err)
			}
		}
		if i == 1 { // zeros are a block of one repeated octet
			if err := r.part(make([]byte, mobile.MaxPart), true); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.finish(); err != nil {
			t.Fatal(err)
		}
	}
	unfinished, err := os.ReadFile(name)
	if err != nil || int64(len(unfinished)) != r.length() {
		t.Fatal(err, len(unfinished), r.length())
	}
	if err := r.end(mobile.Summary{Outcome: mobile.Done}); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[int]bool{}
	for n := range len(whole) + 1 {
		copied := filepath.Join(dir, "b.zst")
		if err := os.WriteFile(copied, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		s, size, err := repair(copied, mobile.Summary{Outcome: mobile.Interrupted, Reason: "test"})
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(copied)
		if err != nil || int64(len(b)) != size {
			t.Fatalf("cut at %d: %d octets, reported as %d, %v", n, len(b), size, err)
		}
		records, _, end := readResults(t, b)
		counts[len(records)] = true
		want := mobile.Interrupted
		if n == len(whole) {
			want = mobile.Done
		}
		if end != s || end.Outcome != want || want == mobile.Interrupted && end.Records != int64(len(records)) {
			t.Fatalf("cut at %d: %d records, %+v, reported as %+v", n, len(records), end, s)
		}
	}
	if len(counts) != 4 {
		t.Errorf("records that were left: %v", counts)
	}
	if s, size, err := repair(filepath.Join(dir, "new.zst"), mobile.Summary{Outcome: mobile.Interrupted}); err != nil || size == 0 || s.Sent != 0 {
		t.Errorf("a file that was not made yet: %+v %d %v", s, size, err)
	}
}

func TestResultsAreLimited(t *testing.T) {
	r, err := createResults(filepath.Join(t.TempDir(), "a.zst"), 10_000)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; err == nil; i++ {
		err = r.part([]byte(strings.Repeat(fmt.Sprint(i*i*i), 100)), true)
		if i > 1e6 {
			t.Fatal("there is no limit")
		}
	}
	if !errors.Is(err, errFull) {
		t.Fatal(err)
	}
	if err := r.end(mobile.Summary{Outcome: mobile.SendLimit}); err != nil || r.length() > 10_100 {
		t.Errorf("%d octets, %v", r.length(), err)
	}
}

// FuzzFrameLength: our walk over the blocks of a frame agrees with the library.
func FuzzFrameLength(f *testing.F) {
	// The level makes no difference to the form, and this one is fast when it is instrumented.
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<10))
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte("abc"), []byte("rest"))
	f.Add(make([]byte, 200), []byte{})
	f.Fuzz(func(t *testing.T, b, rest []byte) {
		frame := e.EncodeAll(b, nil)
		all := append(bytes.Clone(frame), rest...)
		if n, ok := frameLength(bytes.NewReader(all), 0, int64(len(all))); !ok || n != int64(len(frame)) {
			t.Errorf("%d, %v, want %d", n, ok, len(frame))
		}
		for cut := range min(len(frame), 100) {
			if _, ok := frameLength(bytes.NewReader(frame[:cut]), 0, int64(cut)); ok {
				t.Errorf("a frame that was cut at %d is whole", cut)
			}
		}
		frameLength(bytes.NewReader(rest), 0, int64(len(rest))) // must not panic, or run for ever
	})
}

func TestRangeStart(t *testing.T) {
	for value, want := range map[string]int64{"octets=0-": 0, "octets=17-": 17, "octets=-": -1, "octets=5-9": -1, "bytes=5-": -1, "octets=-5": -1, "octets=+5-": -1, "": -1, "octets=99999999999999999999-": -1} {
		if got, err := rangeStart(value); err == nil && got != want || (err == nil) != (want >= 0) {
			t.Errorf("%q: %d, %v", value, got, err)
		}
	}
}

// TestSendFollows: a reader gets what is written while it reads, from any octet on.
func TestSendFollows(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.zst")
	r, err := createResults(name, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	var copies [3]bytes.Buffer
	done := make(chan error)
	begun := make(chan struct{}, 100)
	if err := errors.Join(r.part([]byte("first"), true), r.finish()); err != nil {
		t.Fatal(err)
	}
	for i := range copies {
		go func() {
			done <- r.send(context.Background(), name, int64(i), &copies[i], func(int64) error { begun <- struct{}{}; return nil })
		}()
	}
	for range copies {
		<-begun
	}
	if err := errors.Join(r.part([]byte("second"), true), r.end(mobile.Summary{Outcome: mobile.Done})); err != nil {
		t.Fatal(err)
	}
	for range copies {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	records, _, _ := readResults(t, copies[0].Bytes())
	if len(records) != 2 || !bytes.Equal(copies[2].Bytes(), copies[0].Bytes()[2:]) {
		t.Errorf("%q", records)
	}
}
