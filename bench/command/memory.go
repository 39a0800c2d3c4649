package command

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Memory is the resident memory of a process in bytes: anonymous memory, and pages of mapped files.
type Memory struct {
	Anonymous int64 `json:"anonymous"`
	Files     int64 `json:"files"`
}

// Add returns the sum.
func (m Memory) Add(o Memory) Memory { return Memory{m.Anonymous + o.Anonymous, m.Files + o.Files} }

// Max returns the larger value of each kind.
func (m Memory) Max(o Memory) Memory {
	return Memory{max(m.Anonymous, o.Anonymous), max(m.Files, o.Files)}
}

// OwnMemory returns the current memory of this process; zero if the system does not report it.
func OwnMemory() Memory { return memoryOf("self") }

// MemoryOf returns the current memory of a process and its child processes together; zero if the
// system does not report it, for example because the process has ended.
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
		name, value, _ := strings.Cut(sc.Text(), ":")
		var kib int64
		switch _, _ = fmt.Sscan(value, &kib); name {
		case "RssAnon":
			m.Anonymous = kib << 10
		case "RssFile":
			m.Files = kib << 10
		}
	}
	return m
}
