package fair

import (
	"testing"
	"time"
)

func TestAllowance(t *testing.T) {
	a := Allowance{Burst: 3, Every: time.Minute}
	now, full := time.Unix(1e9, 0), time.Time{}
	use := func() (ok bool) {
		if a.From(full).After(now) {
			return false
		}
		full = a.Use(full, now)
		return true
	}
	for i := range 3 {
		if !use() {
			t.Fatalf("number %d of a burst of 3 has to wait", i+1)
		}
	}
	if use() || !a.From(full).Equal(now.Add(time.Minute)) {
		t.Errorf("the next one after a burst may be at %v, not a minute later", a.From(full).Sub(now))
	}
	n := 0
	for range 3600 {
		now = now.Add(time.Second)
		if use() {
			n++
		}
	}
	if n != 60 {
		t.Errorf("%d in an hour after the burst, not 60", n)
	}
	now = full
	for n = 0; use(); n++ {
	}
	if n != 3 {
		t.Errorf("%d at once after a rest, not the burst of 3", n)
	}
}
