package site

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// errUnsettled means that the file was written to while it was read.
var errUnsettled = errors.New("it changes while it is being read")

// errNoFile means that the path does not lead to a regular file.
var errNoFile = errors.New("it is not a regular file")

// statFile returns the stat of the regular file at name, or of the file that a link there leads to.
func statFile(name string) (stat, error) {
	var st unix.Stat_t
	err := unix.Stat(name, &st)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP):
		return stat{}, errNoFile
	case err != nil:
		return stat{}, &fs.PathError{Op: "stat", Path: name, Err: err}
	}
	return fromStat(&st)
}

func fromStat(st *unix.Stat_t) (stat, error) {
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return stat{}, errNoFile
	}
	return stat{st.Size, unix.TimespecToNsec(st.Mtim), unix.TimespecToNsec(st.Ctim), st.Ino}, nil
}

// digest reads the file at name. The error is errNoFile, errUnsettled, or the error of reading.
func digest(ctx context.Context, name string) (r record, err error) {
	r.at = time.Now().UnixNano()
	// O_NONBLOCK, because the file may just have been replaced by a pipe, and opening that would
	// block.
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return r, errNoFile
	}
	if err != nil {
		return r, err
	}
	defer f.Close()
	if r.stat, err = fileStat(f); err != nil {
		return r, err
	}
	h := sha256.New()
	if _, err := io.Copy(h, &stoppable{ctx, f}); err != nil {
		return r, err
	}
	after, err := fileStat(f)
	if err != nil {
		return r, err
	}
	if after != r.stat {
		return r, errUnsettled
	}
	h.Sum(r.sum[:0])
	return r, nil
}

func fileStat(f *os.File) (stat, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return stat{}, &fs.PathError{Op: "stat", Path: f.Name(), Err: err}
	}
	return fromStat(&st)
}

// stoppable is a reader that ends a long read when ctx ends.
type stoppable struct {
	ctx context.Context
	r   io.Reader
}

func (s *stoppable) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	return s.r.Read(p)
}
