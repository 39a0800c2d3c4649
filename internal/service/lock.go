package service

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/curtsy/curtsy/internal/disk"
)

// Lock is an exclusive lock of a process on a directory. It ends with the process in any case.
type Lock struct{ file *os.File }

// LockedError says which process uses a directory.
type LockedError struct {
	Dir string
	PID int // 0: unknown
}

// Error names the directory and the process.
func (e *LockedError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("%s is in use by another process", e.Dir)
	}
	return fmt.Sprintf("%s is in use by process %d", e.Dir, e.PID)
}

// LockDir locks dir with a file of that name in it, and creates both if they are missing. The error
// is a *LockedError if another process has the lock.
func LockDir(dir, name string) (*Lock, error) {
	if err := os.MkdirAll(dir, disk.DirMode); err != nil {
		return nil, err
	}
	f, err := disk.OpenRegular(filepath.Join(dir, name), os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	for range 5 {
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			break
		}
		time.Sleep(10 * time.Millisecond) // Locked may have had it for a moment
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	if err != nil {
		defer f.Close()
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("lock %s: %w", f.Name(), err)
		}
		return nil, &LockedError{Dir: dir, PID: readPID(f.Name())}
	}
	// The number is for people and for the message above. The lock itself is in the kernel.
	if err := f.Truncate(0); err == nil {
		_, err = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
		if err != nil {
			f.Close()
			return nil, err
		}
	}
	return &Lock{f}, nil
}

// LockData is LockDir for a data directory. It fails if a file there cannot be used (disk.Check).
// It also makes files private that an older version left readable for other users.
func LockData(dir, name string) (*Lock, error) {
	l, err := LockDir(dir, name)
	if err != nil {
		return nil, err
	}
	if err := cmp.Or(disk.Check(dir, true), disk.Tighten(dir)); err != nil {
		return nil, errors.Join(err, l.Unlock())
	}
	return l, nil
}

// Unlock releases the directory. The file stays, because without it two processes could lock two
// different files of the same name.
func (l *Lock) Unlock() error { return l.file.Close() }

// Locked reports whether a process has the lock on dir. The answer may be out of date when it
// arrives.
func Locked(dir, name string) bool {
	f, err := disk.OpenRegular(filepath.Join(dir, name), os.O_RDONLY)
	if err != nil {
		return false
	}
	defer f.Close() // this also releases the lock
	return errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}

func readPID(name string) int {
	body, err := disk.ReadRegular(name)
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(body)))
	if err != nil {
		return 0
	}
	return pid
}
