package fetcher

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestCheckFires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var fired []string
		c := check{onFire: func(why string) { fired = append(fired, why) }}
		if err := c.begin("a.example", time.Second); err != nil {
			t.Fatal(err)
		}
		var v *violation
		if err := c.begin("a.example", 0); !errors.As(err, &v) || !strings.Contains(err.Error(), "under way") {
			t.Errorf("second request at once: %v", err)
		}
		if err := c.begin("b.example", time.Second); err != nil {
			t.Errorf("another host: %v", err)
		}
		c.end("a.example")
		time.Sleep(time.Second - 1)
		if err := c.begin("a.example", time.Second); !errors.As(err, &v) || !strings.Contains(err.Error(), "owed") {
			t.Errorf("a nanosecond early: %v", err)
		}
		time.Sleep(1)
		if err := c.begin("a.example", time.Second); err != nil {
			t.Errorf("in time: %v", err)
		}
		if c.fired.Load() != 2 || len(fired) != 2 {
			t.Errorf("fired %d times, told %v", c.fired.Load(), fired)
		}
	})
}

func TestCheckForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c check
		for i := range 5000 {
			h := hostN(i)
			c.begin(h, time.Second)
			c.end(h)
			time.Sleep(10 * time.Second)
		}
		if n := len(c.hosts); n > 1500 {
			t.Errorf("%d hosts remembered", n)
		}
	})
}
