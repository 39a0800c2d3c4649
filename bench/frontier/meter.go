package main

import (
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// meter is the CPU time and the wall-clock time of some work.
type meter struct{ cpu, wall time.Duration }

var started = time.Now()

// now returns the times of this process so far.
func now() meter {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // it cannot fail for this process
	return meter{time.Duration(u.Utime.Nano() + u.Stime.Nano()), time.Since(started)}
}

func (m meter) sub(o meter) meter { return meter{m.cpu - o.cpu, m.wall - o.wall} }

func (m *meter) add(o meter) { m.cpu, m.wall = m.cpu+o.cpu, m.wall+o.wall }

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// sizeOf returns how many bytes the files in dir take on disk.
func sizeOf(dir string) (n int64, err error) {
	err = filepath.Walk(dir, func(_ string, info os.FileInfo, err error) error {
		if st, ok := info.Sys().(*syscall.Stat_t); ok && err == nil && !info.IsDir() {
			n += st.Blocks * 512
		}
		return err
	})
	return n, err
}
