package confine

import "golang.org/x/sys/unix"

// ofArch are system calls that exist only on this architecture.
var ofArch []uint32

// changing are system calls that change files and exist only on this architecture.
var changing = []uint32{unix.SYS_RENAMEAT}

// There are no other system calls that open files, and only one numbering.
var openings, foreign []unix.SockFilter
