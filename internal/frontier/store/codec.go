package store

import (
	"encoding/binary"
	"errors"
)

// ErrRecord: a record in a file cannot be read, because the file is damaged or another program
// wrote it.
var ErrRecord = errors.New("malformed record")

// AppendText appends the length of s, and s.
func AppendText(b []byte, s string) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}

// Scanner reads varints and texts, and remembers whether one was malformed.
type Scanner struct {
	B   []byte
	Bad bool
}

// Refuse notes that what was read is malformed.
func (s *Scanner) Refuse() { s.Bad = true }

// Byte reads one byte.
func (s *Scanner) Byte() byte {
	if len(s.B) == 0 {
		s.Bad = true
		return 0
	}
	c := s.B[0]
	s.B = s.B[1:]
	return c
}

// Fixed64 reads eight bytes.
func (s *Scanner) Fixed64() uint64 {
	if len(s.B) < 8 {
		s.Bad, s.B = true, nil
		return 0
	}
	n := binary.BigEndian.Uint64(s.B)
	s.B = s.B[8:]
	return n
}

// Uint reads a varint.
func (s *Scanner) Uint() uint64 {
	v, n := binary.Uvarint(s.B)
	if n <= 0 {
		s.Bad, s.B = true, nil
		return 0
	}
	s.B = s.B[n:]
	return v
}

// Text reads a text with its length. The result is a slice of B.
func (s *Scanner) Text() []byte {
	n := s.Uint()
	if n > uint64(len(s.B)) {
		s.Bad, s.B = true, nil
		return nil
	}
	t := s.B[:n]
	s.B = s.B[n:]
	return t
}
