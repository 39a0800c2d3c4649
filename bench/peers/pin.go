package main

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// pinned says, in the environment, which core is the crawler's; this process and the web's have
// another.
const pinned = "BENCH_CRAWLER_CORE"

// pinSelf begins this program anew on the first of the cores that it may use and gives the crawler
// the last. It does nothing where there is one core only, or no taskset.
func pinSelf() error {
	if os.Getenv(pinned) != "" {
		return nil
	}
	var set unix.CPUSet
	taskset, err := exec.LookPath("taskset")
	if err != nil || unix.SchedGetaffinity(0, &set) != nil || set.Count() < 2 {
		return nil // measured all the same; the report says so
	}
	var cores []int
	for i := 0; len(cores) < set.Count(); i++ {
		if set.IsSet(i) {
			cores = append(cores, i)
		}
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	env := append(os.Environ(), pinned+"="+strconv.Itoa(cores[len(cores)-1]))
	args := append([]string{"taskset", "-c", strconv.Itoa(cores[0]), self}, os.Args[1:]...)
	if err := syscall.Exec(taskset, args, env); err != nil {
		return fmt.Errorf("taskset: %w", err)
	}
	return nil
}

// onCrawlersCore is a command on the crawler's core.
func onCrawlersCore(argv []string) []string {
	if core := os.Getenv(pinned); core != "" {
		return append([]string{"taskset", "-c", core}, argv...)
	}
	return argv
}
