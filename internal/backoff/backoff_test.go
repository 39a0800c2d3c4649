package backoff

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestDelay(t *testing.T) {
	t.Parallel()
	d := Delay{Least: time.Second, Most: 5 * time.Second}
	for range 2 {
		for i, want := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 5 * time.Second, 5 * time.Second} {
			if got := d.Next(); got != want {
				t.Errorf("wait %d is %v, want %v", i, got, want)
			}
		}
		d.Reset()
	}
}

func TestSleep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := Delay{Least: time.Second, Most: time.Minute}
		start := time.Now()
		if err := errors.Join(d.Sleep(t.Context()), d.Sleep(t.Context()), Sleep(t.Context(), 0)); err != nil || time.Since(start) != 3*time.Second {
			t.Errorf("slept %v: %v", time.Since(start), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := d.Sleep(ctx); err == nil || time.Since(start) != 4*time.Second {
			t.Errorf("a context that ended was slept through: %v", err)
		}
		if Sleep(ctx, 0) == nil {
			t.Error("the end of the context is not reported")
		}
	})
}
