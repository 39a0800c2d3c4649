package main

import (
	"math"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// result is what two implementations of the same task cost.
type result struct {
	ours, theirs float64 // ns per call, medians
	ratio        float64 // theirs to ours, the median over rounds
	worst        float64 // the round that was worst for us

	oursAllocs, theirAllocs uint64 // per call
}

// compare measures ours and theirs in turns, each round for about each.
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

// perCall returns the CPU time of one of n calls in ns, garbage collection included. The garbage of
// earlier calls is collected first, so that neither side pays for the garbage of the other; it does
// pay for its own.
func perCall(f func(), n int) float64 {
	runtime.GC()
	start := cpu()
	for range n {
		f()
	}
	return float64(cpu()-start) / float64(n)
}

// cpu returns the CPU time that this process has used so far, in user mode and in the kernel.
// Unlike the clock it does not advance while other processes have the processor.
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
