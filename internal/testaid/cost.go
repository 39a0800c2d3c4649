package testaid

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
)

// MaxAlloc is how many bytes may be allocated to read one page, in addition to the size of the
// page.
const MaxAlloc = 64 << 20

// CheckCost fails the test if reading one of some pages allocates more than MaxAlloc, or takes a
// time that grows faster than the page. pages makes them of about a given size. Memory is measured
// with pages of that size, and time with smaller ones (Linear). If a limit cuts off the cost of a
// page, a small page may take longer in proportion. It is then measured again in a larger size.
// prepare receives a page and returns a function that reads it, in the goroutine that calls it.
// Allocations of other goroutines count, so nothing else may run at the same time.
func CheckCost(t testing.TB, what string, size int, pages func(size int) []Bomb, prepare func(Bomb) (read func())) {
	t.Helper()
	CheckCostWithin(t, what, size, MaxAlloc, pages, prepare)
}

// CheckCostWithin is CheckCost with another limit than MaxAlloc.
func CheckCostWithin(t testing.TB, what string, size, maxAlloc int, pages func(size int) []Bomb, prepare func(Bomb) (read func())) {
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
		if _, _, ok := measure(5, prepare(eighth[i]), prepare(all[i])); !ok {
			Linear(t, name, prepare(largeEighth()[i]), prepare(largeAll()[i]))
		}
	}
}

// The sizes of pages whose time is measured. A limit that cuts off the cost of a page does so below
// the size large.
var (
	small = Volume(32<<10, 16<<10)
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
