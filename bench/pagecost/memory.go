package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"time"
)

// memory is the most that a process had at once, in bytes: memory that no file stands behind, and
// pages of files that are mapped. 0 where the system does not tell.
type memory struct{ anonymous, files int64 }

// watched runs f and says what this process had at most meanwhile, looking twenty times a second.
func watched(f func() error) (m memory, err error) {
	done := make(chan error, 1)
	go func() { done <- f() }()
	t := time.NewTicker(50 * time.Millisecond)
	defer t.Stop()
	for {
		now := memoryOf("self")
		m.anonymous, m.files = max(m.anonymous, now.anonymous), max(m.files, now.files)
		select {
		case err := <-done:
			return m, err
		case <-t.C:
		}
	}
}

// memoryOf is what a process has now.
func memoryOf(pid string) (m memory) {
	f, err := os.Open("/proc/" + pid + "/status")
	if err != nil {
		return m
	}
	defer f.Close()
	for sc := bufio.NewScanner(f); sc.Scan(); {
		name, rest, _ := strings.Cut(sc.Text(), ":")
		var kib int64
		switch _, _ = fmt.Sscan(rest, &kib); name {
		case "RssAnon":
			m.anonymous = kib << 10
		case "RssFile":
			m.files = kib << 10
		}
	}
	return m
}
