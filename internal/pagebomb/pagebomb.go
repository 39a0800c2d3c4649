// Package pagebomb makes pages that are cheap to send and were dear to read, and measures what
// reading them costs. It is for tests: whatever reads what strangers wrote is held to the same
// limits with the same pages.
package pagebomb

import (
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/curtsy/curtsy/internal/lineartest"
	"github.com/curtsy/curtsy/internal/racing"
)

// MaxAlloc is what reading one page may cost, whatever is in it:
// how many bytes may be allocated beside the page's own size, for whatever length of time. The
// time may be as long as the page's length says.
const MaxAlloc = 64 << 20

// Bomb is a page made to hurt.
type Bomb struct {
	Name string
	Body []byte
}

// text is a bomb before its text is bytes.
type text struct{ name, body string }

func bombs(all []text) []Bomb {
	out := make([]Bomb, len(all))
	for i, c := range all {
		out[i] = Bomb{c.name, []byte(c.body)}
	}
	return out
}

// Check fails the test if reading one of some pages costs more than it may. pages makes them of
// about a size: size, to measure how much memory is allocated, and smaller ones to see that eight
// times the page takes eight times the time (lineartest.Linear). A page whose cost is cut off by a
// limit may take longer as long as it is small, and is measured in a larger size instead. prepare
// is given a page and returns what reads it, in the goroutine that calls it. Other goroutines'
// allocations count, so nothing else may run beside it.
func Check(t testing.TB, what string, size int, pages func(size int) []Bomb, prepare func(Bomb) (read func())) {
	t.Helper()
	CheckWith(t, what, size, MaxAlloc, pages, prepare)
}

// CheckWith is Check with another limit than MaxAlloc.
func CheckWith(t testing.TB, what string, size, maxAlloc int, pages func(size int) []Bomb, prepare func(Bomb) (read func())) {
	t.Helper()
	eighth, all := pages(small/8), pages(small)
	largeEighth := sync.OnceValue(func() []Bomb { return pages(large / 8) })
	largeAll := sync.OnceValue(func() []Bomb { return pages(large) })
	for i, b := range pages(size) {
		name := fmt.Sprintf("%s of %s", what, b.Name)
		alloc := allocated(prepare(b))
		if limit := int64(maxAlloc + len(b.Body)); alloc > limit {
			t.Errorf("%s: %d bytes: %.1f MiB allocated, limit %.1f", name, len(b.Body), float64(alloc)/(1<<20), float64(limit)/(1<<20))
		}
		if _, _, ok := lineartest.Measure(5, prepare(eighth[i]), prepare(all[i])); !ok {
			lineartest.Linear(t, name, prepare(largeEighth()[i]), prepare(largeAll()[i]))
		}
	}
}

// The sizes of pages whose time is measured: no limit cuts off what a large page costs later than
// there.
var (
	small = racing.Volume(32<<10, 16<<10)
	large = 512 << 10
)

// allocated returns how many bytes f allocates.
func allocated(f func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}
