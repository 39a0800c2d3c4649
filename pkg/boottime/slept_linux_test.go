package boottime

import (
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"
)

// On the real clocks: what Now shows moves with CLOCK_BOOTTIME.
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
	if asleep, ok := slept(); !ok || asleep < 0 {
		t.Errorf("the machine has slept for %v (%v)", asleep, ok)
	}
}

// In a bubble it shows the bubble's time, to the microsecond: the time asleep is measured anew each
// second, and its measure varies a little.
func TestNowIsVirtualInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, wall := Now(), NewWall()
		time.Sleep(time.Hour)
		if d := Now() - began - time.Hour; d < -exact || d > exact {
			t.Errorf("an hour took an hour and %v", d)
		}
		if d := wall.Micro(time.Now()) - time.Now().UnixMicro(); d < -exact.Microseconds() || d > exact.Microseconds() {
			t.Errorf("the time of day is %d µs off", d)
		}
	})
}
