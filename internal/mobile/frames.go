package mobile

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// MaxWindow is the largest window of a zstd frame of results, and the most that a frame without a
// window may decompress to. A reader needs about this much memory.
const MaxWindow = 1 << 20

// ErrFrame means that octets are not zstd frames as a host may send them. It is wrapped with the
// reason.
var ErrFrame = errors.New("not a stream of zstd frames")

// Frames reads a compressed stream of results frame by frame (RFC 8878 §3.1.1), without decoding
// it. So a reader knows where each frame begins, and can continue there later. Frames with a larger
// window than MaxWindow, with a dictionary, and skippable ones are refused. It must not be used
// concurrently.
type Frames struct {
	r      *bufio.Reader
	at     int64  // octets that were read of r
	header []byte // octets that were parsed and not handed out yet
	inside bool   // a frame was begun, and not read to its end
	last   bool   // its last block was begun
	sum    bool   // it ends with a checksum
	left   int64  // octets of the block, or of the checksum, behind header
	block  int64  // the most octets of a block
	buf    [18]byte
	err    error // ended the stream
}

// NewFrames reads frames from r, where one begins.
func NewFrames(r io.Reader) *Frames { return &Frames{r: bufio.NewReaderSize(r, MaxPart)} }

// Offset returns how many octets of the stream belong to what was read. Between two frames it is
// where the next one begins.
func (f *Frames) Offset() int64 { return f.at - int64(len(f.header)) }

// Next begins the next frame. It returns io.EOF if the stream ends between two frames. The frame
// before must have been read to its end.
func (f *Frames) Next() error {
	switch {
	case f.err != nil:
		return f.err
	case f.inside:
		return f.fail("a frame was not read to its end")
	}
	if _, err := f.r.Peek(1); err != nil {
		f.err = err
		return err
	}
	head, err := f.take(f.buf[:0], 5)
	if err != nil {
		return err
	}
	if binary.LittleEndian.Uint32(head) != 0xFD2FB528 {
		return f.fail("a frame has another magic number")
	}
	bits := head[4]
	single := bits&(1<<5) != 0
	if bits&(1<<3) != 0 || bits&3 != 0 {
		return f.fail("a frame has a dictionary or a reserved bit")
	}
	more := []int{0, 2, 4, 8}[bits>>6]
	if single && more == 0 {
		more = 1
	}
	if !single {
		more++ // the window
	}
	if head, err = f.take(head, more); err != nil {
		return err
	}
	window := windowOf(head[5:], single)
	if window > MaxWindow {
		return f.fail(fmt.Sprintf("a frame has a window of more than %d octets", MaxWindow))
	}
	f.header, f.inside, f.last, f.left = head, true, false, 0
	f.sum, f.block = bits&(1<<2) != 0, int64(min(window, 128<<10))
	return nil
}

// windowOf returns the size of the window by the fields after the descriptor, which are the content
// size alone if there is a single segment.
func windowOf(fields []byte, single bool) uint64 {
	if !single {
		exponent, mantissa := fields[0]>>3, fields[0]&7
		base := uint64(1) << (10 + exponent)
		return base + base/8*uint64(mantissa)
	}
	var size uint64
	for i, b := range fields {
		size |= uint64(b) << (8 * i)
	}
	if len(fields) == 2 {
		size += 256
	}
	return size
}

// Read reads octets of the frame, and returns io.EOF at its end. A stream that ends before is an
// io.ErrUnexpectedEOF.
func (f *Frames) Read(p []byte) (int, error) {
	for len(f.header) == 0 && f.left == 0 {
		switch {
		case f.err != nil:
			return 0, f.err
		case !f.inside:
			return 0, io.EOF
		case f.last && f.sum:
			f.sum, f.left = false, 4
		case f.last:
			f.inside = false
		default:
			if err := f.nextBlock(); err != nil {
				return 0, err
			}
		}
	}
	if len(p) == 0 {
		return 0, nil
	}
	if len(f.header) > 0 {
		n := copy(p, f.header)
		f.header = f.header[n:]
		return n, nil
	}
	n, err := f.r.Read(p[:min(int64(len(p)), f.left)])
	f.at, f.left = f.at+int64(n), f.left-int64(n)
	return n, f.inFrame(err)
}

// nextBlock reads the header of the next block.
func (f *Frames) nextBlock() error {
	head, err := f.take(f.buf[:0], 3)
	if err != nil {
		return err
	}
	size := int64(head[0])>>3 | int64(head[1])<<5 | int64(head[2])<<13
	kind := head[0] >> 1 & 3
	if kind == 3 || size > max(f.block, 1) {
		return f.fail("a block is of an unknown kind or too large")
	}
	if kind == 1 { // one octet, repeated
		size = 1
	}
	f.header, f.left, f.last = head, size, head[0]&1 == 1
	return nil
}

// take appends n octets of a frame to b.
func (f *Frames) take(b []byte, n int) ([]byte, error) {
	from := len(b)
	b = b[:from+n]
	got, err := io.ReadFull(f.r, b[from:])
	f.at += int64(got)
	return b, f.inFrame(err)
}

// inFrame is an error that occurred within a frame.
func (f *Frames) inFrame(err error) error {
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		f.err = err
	}
	return err
}

func (f *Frames) fail(why string) error {
	f.err = fmt.Errorf("%w: %s", ErrFrame, why)
	return f.err
}
