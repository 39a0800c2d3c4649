package disk

import (
	"bufio"
	"io"
	"os"
	"slices"
)

// Spool is an unnamed temporary file that is written once and then read. It is for data that is too
// large for memory and that no other process may see. It disappears with the process, however that
// ends. The zero value must be opened first. Until Flush only one goroutine may use it; after that
// any number may read.
type Spool struct {
	file *os.File
	to   *bufio.Writer
	size int64
}

// Open creates the file, in the directory for temporary files.
func (s *Spool) Open() (err error) {
	if s.file, err = os.CreateTemp("", "curtsy-"); err != nil {
		return err
	}
	s.to = bufio.NewWriterSize(s.file, 1<<16)
	return os.Remove(s.file.Name())
}

// Size returns how many bytes were added, and thus where the next ones begin.
func (s *Spool) Size() int64 { return s.size }

// Add appends b and returns its length.
func (s *Spool) Add(b []byte) (uint32, error) {
	s.size += int64(len(b))
	_, err := s.to.Write(b)
	return uint32(len(b)), err
}

// Flush ends the writing.
func (s *Spool) Flush() error {
	err := s.to.Flush()
	s.to = nil
	return err
}

// Reader returns a reader of the whole file.
func (s *Spool) Reader() io.Reader { return io.NewSectionReader(s.file, 0, s.size) }

// From returns a reader that begins at position at.
func (s *Spool) From(at int64) io.Reader { return io.NewSectionReader(s.file, at, s.size-at) }

// Read returns size bytes from position at. It uses buf if they fit into it.
func (s *Spool) Read(buf []byte, at int64, size uint32) ([]byte, error) {
	buf = slices.Grow(buf[:0], int(size))[:size]
	_, err := s.file.ReadAt(buf, at)
	return buf, err
}

// Close closes the file. A Spool that was not opened has none.
func (s *Spool) Close() {
	if s.file != nil {
		_ = s.file.Close() // the file has no name and disappears in any case
	}
}
