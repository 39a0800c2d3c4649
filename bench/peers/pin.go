package main

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// pinned is the environment variable with the core of the crawler; this process and the web have
// another.
const pinned = "BENCH_CRAWLER_CORE"

// pinSelf starts this program again on the first of the cores that it may use and gives the crawler
// the last. It does nothing if there is only one core, or no taskset.
func pinSelf() error {
	if os.Getenv(pinned) != "" {
		return nil
	}
	var set unix.CPUSet
	taskset, err := exec.LookPath("taskset")
	if err != nil || unix.SchedGetaffinity(0, &set) != nil || set.Count() < 2 {
		return nil // measured nevertheless; the report states it
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

// onCrawlersCore returns a command that runs on the core of the crawler.
func onCrawlersCore(argv []string) []string {
	if core := os.Getenv(pinned); core != "" {
		return append([]string{"taskset", "-c", core}, argv...)
	}
	return argv
}
