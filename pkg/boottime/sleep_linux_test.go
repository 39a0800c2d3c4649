package boottime

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"
)

// With the real clocks, Now follows CLOCK_BOOTTIME.
func TestNowMovesWithTheBootClock(t *testing.T) {
	for range 1000 {
		before, err := read(unix.CLOCK_BOOTTIME)
		if err != nil {
			t.Fatal(err)
		}
		a := Now()
		b := Now()
		after, err := read(unix.CLOCK_BOOTTIME)
		if err != nil {
			t.Fatal(err)
		}
		if d := b - a; d < -exact || d > after-before+2*exact {
			t.Fatalf("it moved by %v while the boot clock moved by %v at most", d, after-before)
		}
	}
	if most, width, ok := measureSleep(); !ok || most < 0 || width < 0 {
		t.Errorf("the machine has slept for %v, or %v less (%v)", most, width, ok)
	}
}

// However long the process is stopped between two of its steps, a time of day is the one that was
// read with the time.
func TestWallIsReadOnce(t *testing.T) {
	for range 1000 {
		w := NewWall()
		runtime.Gosched()
		if got, want := w.Micro(w.start), w.start.UnixMicro(); got != want {
			t.Fatalf("its own beginning is %d µs off", got-want)
		}
	}
}

// In a bubble it shows the bubble's time, exactly.
func TestNowIsVirtualInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, wall := Now(), NewWall()
		for range 3600 {
			time.Sleep(time.Second) // a reading of the boot clock is used for this long
			if d := Now() - began - time.Since(wall.start); d != 0 {
				t.Fatalf("after %v it is %v off", time.Since(wall.start), d)
			}
		}
		if got, want := wall.Micro(time.Now()), time.Now().UnixMicro(); got != want {
			t.Errorf("the time of day is %d µs off", got-want)
		}
	})
}
