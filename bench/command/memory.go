package command

import (
	"bufio"
	"fmt"
	"os"
	"strings"
)

// Memory is what a process holds, in bytes: memory that no file stands behind, and pages of files
// that are mapped.
type Memory struct{ Anonymous, Files int64 }

// OwnMemory is what this process holds now; zero where the system does not tell.
func OwnMemory() (m Memory) {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		return m
	}
	defer f.Close()
	for sc := bufio.NewScanner(f); sc.Scan(); {
		name, rest, _ := strings.Cut(sc.Text(), ":")
		var kib int64
		switch _, _ = fmt.Sscan(rest, &kib); name {
		case "RssAnon":
			m.Anonymous = kib << 10
		case "RssFile":
			m.Files = kib << 10
		}
	}
	return m
}
