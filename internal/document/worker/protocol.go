package worker

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/curtsy/curtsy/internal/document"
)

// The messages between parent and child. Both are the same program, so there is only one version.
//
//	parent: type, charset, body, each after its length (uint32); limits as four uint32
//	child:  a byte for the kind of answer, and a text after its length
const (
	ready = 'r' // once, when the child is ready: what it could not give up
	whole = 'w' // HTML
	part  = 'p' // HTML of the part that was read
	not   = 'n' // why the document cannot be read
)

// maxWord is the longest media type or charset, and the longest error.
const maxWord = 1 << 10

func writeText(w io.Writer, s []byte) error {
	if err := binary.Write(w, binary.BigEndian, uint32(len(s))); err != nil {
		return err
	}
	_, err := w.Write(s)
	return err
}

var errLong = errors.New("longer than the limit")

// readText reads a text of at most most bytes. It allocates memory for the bytes that arrive, not
// for the announced length.
func readText(r io.Reader, most int) ([]byte, error) {
	var n uint32
	if err := binary.Read(r, binary.BigEndian, &n); err != nil {
		return nil, err
	}
	if int64(n) > int64(most) {
		return nil, fmt.Errorf("%d bytes: %w", n, errLong)
	}
	b := make([]byte, 0, min(int(n), 64<<10))
	for len(b) < int(n) {
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
		k, err := r.Read(b[len(b):min(cap(b), int(n))])
		if b = b[:len(b)+k]; err != nil && len(b) < int(n) {
			return nil, io.ErrUnexpectedEOF
		}
	}
	return b, nil
}

// question is a request to a child.
type question struct {
	file   document.File
	limits document.Limits // without Until
	cpu    uint32          // milliseconds for this document
}

func (q *question) write(to io.Writer) error {
	w := bufio.NewWriterSize(to, 64<<10)
	for _, s := range [...]string{q.file.Type, q.file.Charset} {
		if err := writeText(w, []byte(s)); err != nil {
			return err
		}
	}
	lim := [...]uint32{uint32(q.limits.Pages), uint32(q.limits.HTML), uint32(q.limits.Links), q.cpu}
	if err := binary.Write(w, binary.BigEndian, lim); err != nil {
		return err
	}
	if err := writeText(w, q.file.Body); err != nil {
		return err
	}
	return w.Flush()
}

func readQuestion(r io.Reader) (q question, err error) {
	kind, err := readText(r, maxWord)
	if err != nil {
		return q, err
	}
	charset, err := readText(r, maxWord)
	if err != nil {
		return q, err
	}
	var lim [4]uint32
	if err := binary.Read(r, binary.BigEndian, &lim); err != nil {
		return q, err
	}
	body, err := readText(r, document.MaxBody)
	if err != nil {
		return q, err
	}
	q.file = document.File{Type: string(kind), Charset: string(charset), Body: body}
	q.limits = document.Limits{Pages: int(lim[0]), HTML: int(lim[1]), Links: int(lim[2])}
	q.cpu = lim[3]
	return q, nil
}

func writeAnswer(to io.Writer, what byte, text []byte) error {
	w := bufio.NewWriterSize(to, 64<<10)
	if err := w.WriteByte(what); err != nil {
		return err
	}
	if err := writeText(w, text); err != nil {
		return err
	}
	return w.Flush()
}

func readAnswer(r *bufio.Reader, most int) (what byte, text []byte, err error) {
	if what, err = r.ReadByte(); err != nil {
		return 0, nil, err
	}
	if what == not || what == ready {
		most = maxWord
	}
	text, err = readText(r, most)
	return what, text, err
}
