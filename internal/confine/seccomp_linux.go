//go:build linux && (amd64 || arm64)

package confine

import (
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The offsets of a call's data in a filter: its number, the architecture, and arguments.
const (
	dataNumber = 0
	dataArch   = 4
	dataFirst  = 16 // the first argument; both architectures have its lower half first
)

const (
	load = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
	is   = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	more = unix.BPF_JMP | unix.BPF_JGT | unix.BPF_K
	has  = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
	ret  = unix.BPF_RET | unix.BPF_K

	refuse  = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	unknown = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
)

func begin() []unix.SockFilter {
	arch := uint32(unix.AUDIT_ARCH_X86_64)
	if runtime.GOARCH == "arm64" {
		arch = unix.AUDIT_ARCH_AARCH64
	}
	return []unix.SockFilter{
		{Code: load, K: dataArch},
		{Code: is, K: arch, Jt: 1},
		{Code: ret, K: unix.SECCOMP_RET_KILL_PROCESS},
		{Code: load, K: dataNumber},
	}
}

// allowed allows the system calls that Go's runtime needs to compute, and reading and writing open
// files. It allows new threads but no new processes. Calls that could reach another process of the
// same user, such as the crawler, are allowed for this process only: signals, limits, and who
// receives the signals of a file.
func allowed() []unix.SockFilter {
	f := begin()
	for _, nr := range append([]uint32{
		unix.SYS_READ, unix.SYS_WRITE, unix.SYS_CLOSE, unix.SYS_FSTAT,
		unix.SYS_MMAP, unix.SYS_MUNMAP, unix.SYS_MPROTECT, unix.SYS_MADVISE, unix.SYS_BRK,
		unix.SYS_FUTEX, unix.SYS_SCHED_YIELD, unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_CLOCK_GETTIME, unix.SYS_GETTIMEOFDAY,
		unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_SIGALTSTACK, unix.SYS_RESTART_SYSCALL,
		unix.SYS_GETPID, unix.SYS_GETTID, unix.SYS_SET_ROBUST_LIST, unix.SYS_RSEQ, unix.SYS_SCHED_GETAFFINITY, unix.SYS_GETRANDOM,
		unix.SYS_EPOLL_CTL, unix.SYS_EPOLL_PWAIT, unix.SYS_GETRUSAGE, unix.SYS_EXIT, unix.SYS_EXIT_GROUP,
	}, ofArch...) {
		f = append(f, unix.SockFilter{Code: is, K: nr, Jf: 1}, unix.SockFilter{Code: ret, K: unix.SECCOMP_RET_ALLOW})
	}
	f = append(f, onlyFor(unix.SYS_TGKILL, uint32(os.Getpid()))...)
	f = append(f, onlyFor(unix.SYS_PRLIMIT64, 0)...)
	return append(f,
		// The commands up to F_SETFL concern the file alone.
		unix.SockFilter{Code: is, K: unix.SYS_FCNTL, Jf: 4},
		unix.SockFilter{Code: load, K: dataFirst + 8},
		unix.SockFilter{Code: more, K: unix.F_SETFL, Jt: 1},
		unix.SockFilter{Code: ret, K: unix.SECCOMP_RET_ALLOW},
		unix.SockFilter{Code: ret, K: refuse},
		// A filter cannot see the arguments of clone3; callers then use clone.
		unix.SockFilter{Code: is, K: unix.SYS_CLONE3, Jf: 1},
		unix.SockFilter{Code: ret, K: unknown},
		unix.SockFilter{Code: is, K: unix.SYS_CLONE, Jf: 3},
		unix.SockFilter{Code: load, K: dataFirst},
		unix.SockFilter{Code: has, K: unix.CLONE_THREAD, Jf: 1},
		unix.SockFilter{Code: ret, K: unix.SECCOMP_RET_ALLOW},
		unix.SockFilter{Code: ret, K: refuse})
}

// onlyFor allows a call if its first argument is this process.
func onlyFor(nr, process uint32) []unix.SockFilter {
	return []unix.SockFilter{
		{Code: is, K: nr, Jf: 4},
		{Code: load, K: dataFirst},
		{Code: is, K: process, Jf: 1},
		{Code: ret, K: unix.SECCOMP_RET_ALLOW},
		{Code: ret, K: refuse},
	}
}

// without refuses a call if its second argument is one of these commands.
func without(nr uint32, commands ...uint32) []unix.SockFilter {
	f := []unix.SockFilter{{Code: is, K: nr, Jf: uint8(2*len(commands) + 2)}, {Code: load, K: dataFirst + 8}}
	for _, c := range commands {
		f = append(f, unix.SockFilter{Code: is, K: c, Jf: 1}, unix.SockFilter{Code: ret, K: refuse})
	}
	return append(f, unix.SockFilter{Code: ret, K: unix.SECCOMP_RET_ALLOW})
}

// Commands of fcntl that send signals of a file to a process, which package unix does not have.
const (
	fSetOwn   = 8
	fSetSig   = 10
	fSetOwnEx = 15
)

// reading refuses system calls for the network, for other processes and for changes of files, and
// allows all others. It is for a program that opens its own files.
func reading() []unix.SockFilter {
	f := append(begin(), foreign...)
	for _, nr := range append([]uint32{
		unix.SYS_SOCKET, unix.SYS_SOCKETPAIR, unix.SYS_CONNECT, unix.SYS_IO_URING_SETUP, unix.SYS_BPF,
		unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PIDFD_SEND_SIGNAL, unix.SYS_PIDFD_GETFD,
		unix.SYS_KILL, unix.SYS_TKILL, unix.SYS_TGKILL, unix.SYS_RT_SIGQUEUEINFO, unix.SYS_RT_TGSIGQUEUEINFO,
		unix.SYS_UNLINKAT, unix.SYS_RENAMEAT2, unix.SYS_MKDIRAT, unix.SYS_MKNODAT, unix.SYS_LINKAT, unix.SYS_SYMLINKAT, unix.SYS_TRUNCATE, unix.SYS_FTRUNCATE,
		unix.SYS_FCHMOD, unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_FCHOWN, unix.SYS_FCHOWNAT, unix.SYS_UTIMENSAT, unix.SYS_FALLOCATE,
		unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_FREMOVEXATTR,
		unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_UNSHARE, unix.SYS_SETNS,
		unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD,
		unix.SYS_SETPRIORITY, unix.SYS_IOPRIO_SET, unix.SYS_SCHED_SETATTR, unix.SYS_PROCESS_MADVISE,
	}, changing...) {
		f = append(f, unix.SockFilter{Code: is, K: nr, Jf: 1}, unix.SockFilter{Code: ret, K: refuse})
	}
	f = append(f, onlyFor(unix.SYS_PRLIMIT64, 0)...)
	f = append(f, without(unix.SYS_FCNTL, fSetOwn, fSetSig, fSetOwnEx)...)
	// A terminal that it may read also takes text from it, as if its user had typed that.
	f = append(f, without(unix.SYS_IOCTL, unix.TIOCSTI, unix.TIOCLINUX)...)
	f = append(f, opening(unix.SYS_OPENAT, 2)...)
	return append(append(f, openings...),
		// A filter cannot see the flags of openat2; callers then use openat.
		unix.SockFilter{Code: is, K: unix.SYS_OPENAT2, Jf: 1},
		unix.SockFilter{Code: ret, K: unknown},
		unix.SockFilter{Code: ret, K: unix.SECCOMP_RET_ALLOW})
}

// opening allows a call to open files only for reading. Its flags are in the argument with this
// number, counted from 0.
func opening(nr, flags uint32) []unix.SockFilter {
	return []unix.SockFilter{
		{Code: is, K: nr, Jf: 4},
		{Code: load, K: dataFirst + 8*flags},
		{Code: has, K: unix.O_WRONLY | unix.O_RDWR | unix.O_CREAT | unix.O_TRUNC, Jf: 1},
		{Code: ret, K: refuse},
		{Code: ret, K: unix.SECCOMP_RET_ALLOW},
	}
}

// filter installs a filter for all threads of this process, permanently.
func filter(prog []unix.SockFilter) error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	p := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	failed, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&p)))
	runtime.KeepAlive(prog)
	if errno != 0 {
		return errno
	}
	if failed != 0 { // a thread that has another filter
		return unix.ESRCH
	}
	return nil
}
