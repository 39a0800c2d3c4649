package command

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Memory is what a process holds, in bytes: memory that no file stands behind, and pages of files
// that are mapped.
type Memory struct {
	Anonymous int64 `json:"anonymous"`
	Files     int64 `json:"files"`
}

// Add is the sum.
func (m Memory) Add(o Memory) Memory { return Memory{m.Anonymous + o.Anonymous, m.Files + o.Files} }

// Max is the larger of each.
func (m Memory) Max(o Memory) Memory {
	return Memory{max(m.Anonymous, o.Anonymous), max(m.Files, o.Files)}
}

// OwnMemory is what this process holds now; zero where the system does not tell.
func OwnMemory() Memory { return memoryOf("self") }

// MemoryOf is what a process and those that it started hold now, together; zero where the system
// does not tell, as of a process that has ended.
func MemoryOf(pid int) Memory {
	m := memoryOf(strconv.Itoa(pid))
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, l := range lists {
		text, _ := os.ReadFile(l) // the thread may have ended
		for _, child := range strings.Fields(string(text)) {
			if n, err := strconv.Atoi(child); err == nil {
				m = m.Add(MemoryOf(n))
			}
		}
	}
	return m
}

func memoryOf(process string) (m Memory) {
	f, err := os.Open("/proc/" + process + "/status")
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
