package command

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
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
	for _, child := range children(pid) {
		m = m.Add(MemoryOf(child))
	}
	return m
}

// PeaksOf enters into peaks, by process, the resident memory that a process and its child processes
// have had at most so far, in bytes. The system keeps that number for the program that a process
// runs now, and forgets it when the process ends.
func PeaksOf(pid int, peaks map[int]int64) {
	peaks[pid] = max(peaks[pid], statusOf(strconv.Itoa(pid))["VmHWM"])
	for _, child := range children(pid) {
		PeaksOf(child, peaks)
	}
}

// CPUsOf enters into spent, by process, the CPU time that a process and its child processes have
// used so far. It is for processes whose parent does not wait for them, so that the system does not
// add their time to that of the parent.
func CPUsOf(pid int, spent map[int]time.Duration) {
	spent[pid] = max(spent[pid], CPUOf(pid))
	for _, child := range children(pid) {
		CPUsOf(child, spent)
	}
}

// children returns the child processes of a process.
func children(pid int) (all []int) {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, l := range lists {
		text, _ := os.ReadFile(l) // the thread may have ended
		for _, child := range strings.Fields(string(text)) {
			if n, err := strconv.Atoi(child); err == nil {
				all = append(all, n)
			}
		}
	}
	return all
}

func memoryOf(process string) Memory {
	s := statusOf(process)
	return Memory{Anonymous: s["RssAnon"], Files: s["RssFile"]}
}

// statusOf returns the numbers of bytes in the status of a process, by name.
func statusOf(process string) map[string]int64 {
	all := map[string]int64{}
	f, err := os.Open("/proc/" + process + "/status")
	if err != nil {
		return all
	}
	defer f.Close()
	for sc := bufio.NewScanner(f); sc.Scan(); {
		name, value, _ := strings.Cut(sc.Text(), ":")
		if number, found := strings.CutSuffix(value, " kB"); found {
			kib, _ := strconv.ParseInt(strings.TrimSpace(number), 10, 64) // otherwise it is 0
			all[name] = kib << 10
		}
	}
	return all
}
