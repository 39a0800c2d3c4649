package confine

import "golang.org/x/sys/unix"

// ofArch are system calls that exist only on this architecture.
var ofArch = []uint32{unix.SYS_EPOLL_WAIT, unix.SYS_ARCH_PRCTL}

// changing are system calls that change files and exist only on this architecture.
var changing = []uint32{
	unix.SYS_UNLINK, unix.SYS_RMDIR, unix.SYS_RENAME, unix.SYS_RENAMEAT, unix.SYS_MKDIR, unix.SYS_MKNOD, unix.SYS_LINK, unix.SYS_SYMLINK, unix.SYS_CREAT,
	unix.SYS_CHMOD, unix.SYS_CHOWN, unix.SYS_LCHOWN, unix.SYS_UTIME, unix.SYS_UTIMES, unix.SYS_FUTIMESAT,
}

// openings are other system calls that open files.
var openings = opening(unix.SYS_OPEN, 1)

// foreign refuses the calls of another numbering (x32), which is in none of the lists.
var foreign = []unix.SockFilter{
	{Code: has, K: 1 << 30, Jf: 1},
	{Code: ret, K: refuse},
}
