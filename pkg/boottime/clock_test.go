package boottime

import (
	"testing"
	"time"
)

// machine is a machine whose clocks a test sets.
type machine struct {
	boot, wall, run time.Duration
	asked           int
	torn            time.Duration // time that passes while the boot clock is read
	none            bool
}

func (m *machine) pass(d time.Duration) { m.boot, m.wall, m.run = m.boot+d, m.wall+d, m.run+d }

func (m *machine) sleep(d time.Duration) { m.boot, m.wall = m.boot+d, m.wall+d }

func (m *machine) clock() *clock {
	return &clock{
		goes: func() (wall, run time.Duration) { return m.wall, m.run },
		boot: func() (time.Duration, bool) {
			m.asked++
			b := m.boot
			m.pass(m.torn)
			return b, !m.none
		},
	}
}

func TestClock(t *testing.T) {
	m := &machine{boot: time.Hour, wall: 1e18, run: time.Minute}
	c := m.clock()
	right := func(when string, asked int) {
		t.Helper()
		m.asked = 0
		if got := c.now(); got != m.boot || m.asked != asked {
			t.Errorf("%s: it shows %v, asked %d times; it is %v, to be asked %d times", when, got, m.asked, m.boot, asked)
		}
	}
	right("at first", 1)
	m.pass(maxAge - 1)
	right("a second later, but for a nanosecond", 0)
	m.pass(1)
	right("a second later", 1)
	m.sleep(time.Hour)
	right("after an hour of sleep", 1)
	right("directly after that", 0)
	m.sleep(exact)
	right("after a moment of sleep", 1)
	m.wall -= time.Minute
	right("when the time of day was set back", 1)
	m.wall += 2 * time.Minute
	m.sleep(time.Minute)
	right("when it was set forward, and the machine slept", 1)
	m.run -= time.Minute // no real clock does this
	m.wall -= time.Minute
	m.boot -= time.Minute
	right("when the monotonic clock goes back", 1)
}

// A reading that took too long is correct when it is made, but is not reused.
func TestClockTorn(t *testing.T) {
	m := &machine{boot: time.Hour, wall: 1e18, run: time.Minute, torn: exact}
	c := m.clock()
	for range 3 {
		if want := m.boot; c.now() != want {
			t.Error("the reading of the boot clock is not returned")
		}
	}
	if m.asked != 3 {
		t.Errorf("asked %d times of 3", m.asked)
	}
	m.torn = exact - 1
	c.now()
	if got := c.now(); m.asked != 4 || got != m.boot {
		t.Errorf("asked %d times, to be asked 4 times, and %v off", m.asked, got-m.boot)
	}
}

func TestNoBootClock(t *testing.T) {
	m := &machine{run: time.Minute, none: true}
	c := m.clock()
	m.pass(time.Second)
	if got := c.now(); got != m.run {
		t.Errorf("%v, want Go's clock, %v", got, m.run)
	}
}

func BenchmarkNow(b *testing.B) {
	for b.Loop() {
		Now()
	}
}
