//go:build linux && (amd64 || arm64)

package confine

import "golang.org/x/sys/unix"

// offline refuses what leads out of a browser: sockets except the unnamed and the local ones, any
// connection from a socket, rings of system calls (they pass no filter), other processes, other
// namespaces and mounts. It allows all else, as a browser makes sandboxes of its own for its pages.
func offline() []unix.SockFilter {
	f := append(begin(), foreign...)
	for _, nr := range []uint32{
		unix.SYS_CONNECT, unix.SYS_BPF,
		unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PIDFD_GETFD,
		unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_SETNS,
		unix.SYS_FSOPEN, unix.SYS_FSMOUNT, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE, unix.SYS_MOUNT_SETATTR,
		unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD,
		unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_KEXEC_LOAD,
	} {
		f = append(f, unix.SockFilter{Code: is, K: nr, Jf: 1}, unix.SockFilter{Code: ret, K: refuse})
	}
	for _, nr := range []uint32{unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER} {
		f = append(f, unix.SockFilter{Code: is, K: nr, Jf: 1}, unix.SockFilter{Code: ret, K: unknown})
	}
	f = append(f, localSocket(unix.SYS_SOCKET, unix.SOCK_STREAM)...)
	f = append(f, localSocket(unix.SYS_SOCKETPAIR, unix.SOCK_STREAM, unix.SOCK_SEQPACKET, unix.SOCK_DGRAM)...)
	f = append(f, without(unix.SYS_IOCTL, unix.TIOCSTI, unix.TIOCLINUX)...)
	return append(f, unix.SockFilter{Code: ret, K: unix.SECCOMP_RET_ALLOW})
}

// localSocket allows a call for sockets of this machine's processes only, and of these kinds.
func localSocket(nr uint32, kinds ...uint32) []unix.SockFilter {
	n := uint8(2 * len(kinds))
	f := []unix.SockFilter{
		{Code: is, K: nr, Jf: n + 5},
		{Code: load, K: dataFirst},
		{Code: is, K: unix.AF_UNIX, Jf: n + 2},
		{Code: load, K: dataFirst + 8},
		{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: 0xf}, // without flags
	}
	for _, k := range kinds {
		f = append(f, unix.SockFilter{Code: is, K: k, Jf: 1}, unix.SockFilter{Code: ret, K: unix.SECCOMP_RET_ALLOW})
	}
	return append(f, unix.SockFilter{Code: ret, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EAFNOSUPPORT)})
}

// Offline refuses this process, and all that it starts, every way to a network, permanently. Files
// and processes of their own stay allowed: it is for a program, such as a browser, that needs them.
func Offline() error { return filter(offline()) }
