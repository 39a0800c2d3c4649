// Package confine limits what a child process of this program can do, before it reads what
// strangers wrote: documents (internal/document/worker) and mobile robots
// (internal/agenthost/sandbox). A child is the same program, started again.
//
// On Linux, a confined process opens no file and no socket, starts no process, has a limit of
// memory (RLIMIT_DATA) and of CPU time (RLIMIT_CPU), and on amd64 and arm64 the kernel refuses all
// system calls except about forty that move bytes between open files, manage memory and threads,
// and return the time (seccomp). That needs no privileges. On other systems it limits nothing.
package confine

import (
	"os"
	"runtime"
)

// CodeLate is the exit code of a process whose CPU time was over.
const CodeLate = 3

// Self is the path of this program, even if its file was replaced meanwhile.
func Self() string {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe"
	}
	exe, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return exe
}
