package service

import (
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"regexp"
)

var notInToken = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

// InstanceName names a process of a kind by machine and data directory, so that it keeps its name
// after a restart. A kind without a directory (dir "") is named by machine and process number.
func InstanceName(kind, dir string) string {
	machine, err := os.Hostname()
	if err != nil {
		machine = "unknown"
	}
	whole := machine // the beginnings of two names may be the same
	machine = notInToken.ReplaceAllString(machine, "_")
	machine = machine[:min(len(machine), 12)]
	if dir == "" {
		return fmt.Sprintf("%s-%s-%d", kind, machine, os.Getpid())
	}
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	h := fnv.New32a()
	h.Write([]byte(whole + "\x00" + dir)) // never fails
	return fmt.Sprintf("%s-%s-%08x", kind, machine, h.Sum32())
}
