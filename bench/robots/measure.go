package main

import (
	"math"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// result is what two ways to do the same cost.
type result struct {
	ours, theirs float64 // ns a call, medians
	ratio        float64 // theirs to ours, the median over rounds
	worst        float64 // the round that was worst for us

	oursAllocs, theirAllocs uint64 // a call
}

// compare times ours and theirs in turns, each round for about each.
func compare(ours, theirs func(), rounds int, each time.Duration) result {
	a, b := calls(ours, each), calls(theirs, each)
	var as, bs, ratios []float64
	for i := range rounds {
		var ta, tb float64
		if i%2 == 0 {
			ta = perCall(ours, a)
			tb = perCall(theirs, b)
		} else {
			tb = perCall(theirs, b)
			ta = perCall(ours, a)
		}
		as, bs, ratios = append(as, ta), append(bs, tb), append(ratios, tb/ta)
	}
	return result{
		ours: median(as), theirs: median(bs), ratio: median(ratios), worst: slices.Min(ratios),
		oursAllocs: allocs(ours), theirAllocs: allocs(theirs),
	}
}

// calls finds how often f must be called to take about d.
func calls(f func(), d time.Duration) int {
	for n := 1; ; n *= 2 {
		t := perCall(f, n)
		if total := t * float64(n); total > float64(d)/4 {
			return max(1, int(math.Round(float64(d)/t)))
		}
	}
}

// perCall is the CPU time of one of n calls in ns, garbage collection included. What earlier
// calls left behind is collected first, so that neither side pays for the other's garbage; its
// own it does pay for.
func perCall(f func(), n int) float64 {
	runtime.GC()
	start := cpu()
	for range n {
		f()
	}
	return float64(cpu()-start) / float64(n)
}

// cpu is what this process has used so far, in user mode and in the kernel. Unlike the clock it
// stands still while somebody else has the processor.
func cpu() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		panic(err) // it cannot fail with these arguments
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func allocs(f func()) uint64 {
	const n = 3
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range n {
		f()
	}
	runtime.ReadMemStats(&after)
	return (after.Mallocs - before.Mallocs) / n
}

func median(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}
