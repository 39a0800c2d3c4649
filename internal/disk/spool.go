package disk

import (
	"bufio"
	"io"
	"os"
	"slices"
)

// Spool is a file without a name that is written once and then read: room for what is too much for
// memory and nobody's business. It goes with the process, however that ends. The zero value must be
// opened first. It is for one goroutine until Flush, after which any may read.
type Spool struct {
	file *os.File
	to   *bufio.Writer
	size int64
}

// Open makes the file, in the directory for temporary files.
func (s *Spool) Open() (err error) {
	if s.file, err = os.CreateTemp("", "curtsy-"); err != nil {
		return err
	}
	s.to = bufio.NewWriterSize(s.file, 1<<16)
	return os.Remove(s.file.Name())
}

// Size is how many bytes were added, thus where the next ones begin.
func (s *Spool) Size() int64 { return s.size }

// Add appends something, and says how long it is.
func (s *Spool) Add(b []byte) (uint32, error) {
	s.size += int64(len(b))
	_, err := s.to.Write(b)
	return uint32(len(b)), err
}

// Flush ends writing.
func (s *Spool) Flush() error {
	err := s.to.Flush()
	s.to = nil
	return err
}

// Reader reads all of it.
func (s *Spool) Reader() io.Reader { return io.NewSectionReader(s.file, 0, s.size) }

// From reads all from at on.
func (s *Spool) From(at int64) io.Reader { return io.NewSectionReader(s.file, at, s.size-at) }

// Read returns size bytes from at on, in the room of buf if they fit.
func (s *Spool) Read(buf []byte, at int64, size uint32) ([]byte, error) {
	buf = slices.Grow(buf[:0], int(size))[:size]
	_, err := s.file.ReadAt(buf, at)
	return buf, err
}

// Close lets go of the file. A Spool that was not opened has none.
func (s *Spool) Close() {
	if s.file != nil {
		_ = s.file.Close() // it is gone either way
	}
}
