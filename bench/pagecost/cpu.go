package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime/pprof"
	"time"

	"github.com/google/pprof/profile"
	"golang.org/x/sys/unix"
)

// ownCPU returns the CPU time of this process so far, in user mode and in the kernel.
func ownCPU() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		panic(err) // it cannot fail with these arguments
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// usage is what a part of the run cost.
type usage struct {
	wall, cpu time.Duration
	profile   *profile.Profile
}

// profiled runs f with the CPU profiler, and measures it with getrusage.
func profiled(f func() error) (usage, error) {
	var buf bytes.Buffer
	start, began := time.Now(), ownCPU()
	if err := pprof.StartCPUProfile(&buf); err != nil {
		return usage{}, err
	}
	err := f()
	u := usage{wall: time.Since(start), cpu: ownCPU() - began}
	pprof.StopCPUProfile() // compresses and encodes: not part of the crawl
	if err != nil {
		return u, err
	}
	if u.profile, err = profile.Parse(&buf); err != nil {
		return u, fmt.Errorf("read the profile: %w", err)
	}
	return u, nil
}

// save writes the profiles of all rounds into one file.
func save(path string, rounds []round) error {
	var all []*profile.Profile
	for i := range rounds {
		all = append(all, rounds[i].profile)
	}
	merged, err := profile.Merge(all)
	if err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(merged.Write(f), f.Close())
}
