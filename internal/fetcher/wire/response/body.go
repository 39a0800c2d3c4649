package response

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// ErrChunk is the error of a chunk without a size that can be read. It is unknown where the body
// ends.
var ErrChunk = fmt.Errorf("%w: a chunk has no size", ErrMalformed)

// maxLine bounds the line before a chunk, all trailers together, and all lines before chunks that
// are longer than usualLine.
const (
	maxLine   = 16 << 10
	usualLine = 32
)

// Body reads the body of a response, without its framing. Read returns io.EOF at its end, and
// io.ErrUnexpectedEOF if the connection ended before.
type Body struct {
	br       *bufio.Reader
	left     int64 // of the body, or of the chunk; -1: until the end of the connection
	chunked  bool
	started  bool // a chunk has begun
	extra    int  // bytes of lines before chunks that are longer than usual
	complete bool
	odd      bool
	err      error
}

// Body returns the body that follows the head in br.
func (h *Head) Body(br *bufio.Reader) *Body {
	b := &Body{br: br, left: h.Length, chunked: h.Chunked}
	if h.Chunked {
		b.left = 0
	} else if h.Length == 0 {
		b.complete, b.err = true, io.EOF
	}
	return b
}

// Complete reports whether the body was read to its end, according to its framing, and nothing
// about it was odd. Only then may the connection be used again.
func (b *Body) Complete() bool { return b.complete && !b.odd }

// Read reads what the framing contains.
func (b *Body) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	if len(p) == 0 {
		return 0, nil
	}
	if b.chunked && b.left == 0 {
		if b.err = b.nextChunk(); b.err != nil {
			return 0, b.err
		}
	}
	if b.left >= 0 && int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n, err := b.br.Read(p)
	if b.left >= 0 {
		b.left -= int64(n)
	}
	switch {
	case err == io.EOF && b.left >= 0 && (b.left > 0 || b.chunked):
		b.err = io.ErrUnexpectedEOF
	case err != nil:
		b.err = err
	case b.left == 0 && !b.chunked:
		b.complete, b.err = true, io.EOF
	}
	if n > 0 && b.err != nil && b.err != io.EOF {
		return n, nil // the next call returns the error
	}
	return n, b.err
}

// nextChunk reads the line before a chunk. After the last chunk it reads the trailers, and then
// returns io.EOF.
func (b *Body) nextChunk() error {
	if b.started { // the line end after the data of the chunk before
		line, err := b.line()
		if err != nil {
			return err
		}
		if len(line) > 0 {
			return ErrChunk
		}
	}
	b.started = true
	line, err := b.line()
	if err != nil {
		return err
	}
	if len(line) > usualLine {
		if b.extra += len(line); b.extra > maxLine {
			return ErrTooLarge
		}
	}
	size, _, _ := bytes.Cut(line, []byte{';'})
	n, err := strconv.ParseUint(string(trim(size)), 16, 63)
	if err != nil {
		return ErrChunk
	}
	if n > 0 {
		b.left = int64(n)
		return nil
	}
	for read := 0; ; read += len(line) + 2 {
		switch line, err = b.line(); {
		case errors.Is(err, io.ErrUnexpectedEOF): // its last chunk came, so it is complete
			b.odd, b.complete = true, true
			return io.EOF
		case err != nil:
			return err
		case len(line) == 0:
			b.complete = true
			return io.EOF
		case read > maxLine:
			return ErrTooLarge
		}
	}
}

// line returns the next line without its end, CR LF or LF.
func (b *Body) line() ([]byte, error) {
	line, err := b.br.ReadSlice('\n')
	switch {
	case err == bufio.ErrBufferFull:
		return nil, ErrTooLarge
	case err == io.EOF:
		return nil, io.ErrUnexpectedEOF
	case err != nil:
		return nil, err
	}
	text := bytes.TrimSuffix(line[:len(line)-1], []byte{'\r'})
	b.odd = b.odd || len(text) == len(line)-1
	return text, nil
}
