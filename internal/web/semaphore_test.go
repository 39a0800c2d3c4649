package web

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// One question is answered and one waits. A third is refused, and one whose time is over before a
// slot is free is not answered.
func TestDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSemaphore(1, 1, time.Second)
		leave := make(chan bool)
		first, second := make(chan error), make(chan error)
		failed := errors.New("as do says")
		go func() {
			first <- s.Do(t.Context(), func(context.Context) error { <-leave; return failed })
		}()
		synctest.Wait()
		go func() {
			second <- s.Do(t.Context(), func(context.Context) error { t.Error("its time was over"); return nil })
		}()
		synctest.Wait()
		if n := s.Waiting(); n != 2 {
			t.Errorf("%d questions", n)
		}
		if err := s.Do(t.Context(), func(context.Context) error { t.Error("past all places"); return nil }); err != ErrBusy {
			t.Errorf("one more: %v", err)
		}
		if err := <-second; err != ErrBusy {
			t.Errorf("too late: %v", err)
		}
		leave <- true
		if err := <-first; err != failed {
			t.Errorf("the first: %v", err)
		}
		err := s.Do(t.Context(), func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		if err != context.DeadlineExceeded || s.Waiting() != 0 {
			t.Errorf("a slow one: %v, %d are left", err, s.Waiting())
		}
	})
}
