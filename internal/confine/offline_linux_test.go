package confine_test

import (
	"fmt"
	"os"
	"os/exec"

	"github.com/curtsy/curtsy/internal/confine"
	"golang.org/x/sys/unix"
)

// offline prints what a process could do that must reach no network, and so does one below it.
func offline(what string) {
	if what == "offline" {
		if missing := confine.Limit(1<<40, 1<<20); len(missing) > 0 {
			fmt.Println("missing", missing)
		}
		if err := confine.Offline(); err != nil {
			fmt.Println(err)
		}
	}
	for name, s := range map[string][3]int{
		"TCP": {unix.AF_INET, unix.SOCK_STREAM | unix.SOCK_CLOEXEC}, "TCP over IPv6": {unix.AF_INET6, unix.SOCK_STREAM}, "UDP": {unix.AF_INET, unix.SOCK_DGRAM},
		"raw": {unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP}, "packets": {unix.AF_PACKET, unix.SOCK_RAW}, "netlink": {unix.AF_NETLINK, unix.SOCK_RAW},
		"virtual machines": {unix.AF_VSOCK, unix.SOCK_STREAM}, "cryptography": {unix.AF_ALG, unix.SOCK_SEQPACKET}, "local datagrams": {unix.AF_UNIX, unix.SOCK_DGRAM},
	} {
		if _, err := unix.Socket(s[0], s[1], s[2]); err != unix.EAFNOSUPPORT {
			fmt.Println("a socket for", name, err)
		}
	}
	local, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		fmt.Println("no local socket:", err)
	}
	if err := unix.Connect(local, &unix.SockaddrUnix{Name: "/run/dbus/system_bus_socket"}); err != unix.EPERM {
		fmt.Println("it connects:", err)
	}
	for _, kind := range []int{unix.SOCK_STREAM, unix.SOCK_SEQPACKET, unix.SOCK_DGRAM} {
		if _, err := unix.Socketpair(unix.AF_UNIX, kind, 0); err != nil {
			fmt.Println("no pair of sockets:", err)
		}
	}
	if _, _, err := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, 0, 0); err != unix.ENOSYS {
		fmt.Println("a ring of system calls:", err)
	}
	if err := unix.PtraceAttach(os.Getppid()); err != unix.EPERM {
		fmt.Println("it controls another process:", err)
	}
	if err := unix.Setns(local, unix.CLONE_NEWNET); err != unix.EPERM {
		fmt.Println("it enters another namespace:", err)
	}
	fmt.Println(what)
	if what == "offline" {
		cmd := exec.Command(confine.Self())
		cmd.Env = []string{childEnv + "=below offline"}
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stdout
		if err := cmd.Run(); err != nil {
			fmt.Println("it starts no process:", err)
		}
	}
}
