package disk

import (
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
)

func TestFloor(t *testing.T) {
	for _, c := range []struct{ free, total, want int64 }{
		{50 << 30, 100 << 30, 5 << 30},
		{5 << 30, 10 << 30, 1 << 30},
		{512 << 20, 100 << 30, 256 << 20}, // already below the floor: half of it
	} {
		if got := floor(c.free, c.total); got != c.want {
			t.Errorf("floor(%d, %d) = %d, want %d", c.free, c.total, got, c.want)
		}
	}
}

func TestFloorBelowAndAbove(t *testing.T) {
	dir := t.TempDir()
	free, _, err := Space(dir)
	if err != nil || free <= 0 {
		t.Fatal(free, err)
	}
	f, err := New(dir, free*4)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Err(); err == nil || !strings.Contains(err.Error(), "--min-free") || !strings.Contains(err.Error(), dir) {
		t.Errorf("below the floor: %v", err)
	}
	if free, err := f.Free(); err != nil || free >= 0 {
		t.Errorf("below the floor there are %d bytes, %v", free, err)
	}
	f.min = 1
	if free, err := f.Free(); err != nil || free <= 0 {
		t.Errorf("above the floor there are %d bytes, %v", free, err)
	}
	changes := make(chan error, 4)
	go f.Watch(t.Context(), slog.New(slog.DiscardHandler), func(err error) { changes <- err })
	if err := <-changes; err == nil {
		t.Error("the first change is not reported")
	}
	if err := <-changes; err != nil || f.Err() != nil {
		t.Errorf("not resumed: %v, %v", err, f.Err())
	}
	if _, err := New(filepath.Join(dir, "none"), 0); err == nil {
		t.Error("a directory that is not there has free space")
	}
}
