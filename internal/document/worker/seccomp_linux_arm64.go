package worker

import "golang.org/x/sys/unix"

// ofArch are calls that only this architecture has.
var ofArch []uint32

// changing are calls that change files, and that only this architecture has.
var changing = []uint32{unix.SYS_RENAMEAT}

// There are no others that open files, and one numbering.
var openings, foreign []unix.SockFilter
