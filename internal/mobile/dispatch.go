package mobile

import (
	"bufio"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Limits of the body of a DISPATCH, after decompression.
const (
	MaxInput  = 16 << 20 // octets of the input
	MaxModule = 32 << 20 // octets of the module
	maxText   = 128      // octets of the lines with the signature and the length
	MaxBody   = MaxTicket + 2*maxText + MaxInput + MaxModule
)

// ErrDispatch means that the body of a DISPATCH cannot be parsed. It is wrapped with the reason.
var ErrDispatch = errors.New("not the body of a DISPATCH")

// WriteDispatch writes the body of a DISPATCH up to the octets of the module. The caller appends
// these, unless the host has the module already.
func WriteDispatch(w io.Writer, line, signature, input []byte) error {
	if len(line) > MaxTicket || len(input) > MaxInput {
		return fmt.Errorf("%w: a ticket has at most %d octets, an input %d", ErrDispatch, MaxTicket, MaxInput)
	}
	_, err := fmt.Fprintf(w, "%s\n%s\n%d\n%s", line, base64.StdEncoding.EncodeToString(signature), len(input), input)
	return err
}

// Dispatch reads the body of a DISPATCH step by step, so that a host can refuse a ticket before it
// reads what a stranger wants it to store. It must not be used concurrently.
type Dispatch struct {
	Line, Signature []byte // of the ticket

	rest *bufio.Reader
}

// ReadDispatch reads the ticket and its signature, without checking them.
func ReadDispatch(body io.Reader) (*Dispatch, error) {
	d := &Dispatch{rest: bufio.NewReaderSize(body, MaxTicket+2)}
	line, err := d.line(MaxTicket)
	if err != nil {
		return nil, err
	}
	text, err := d.line(maxText)
	if err != nil {
		return nil, err
	}
	signature, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil || base64.StdEncoding.EncodeToString(signature) != text {
		return nil, fmt.Errorf("%w: the second line is not the base64 text of a signature", ErrDispatch)
	}
	d.Line, d.Signature = []byte(line), signature
	return d, nil
}

// Input reads the input. It is called once, before the module is read.
func (d *Dispatch) Input() ([]byte, error) {
	text, err := d.line(maxText)
	if err != nil {
		return nil, err
	}
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil || strconv.FormatUint(n, 10) != text || n > MaxInput {
		return nil, fmt.Errorf("%w: the third line is not a number up to %d", ErrDispatch, MaxInput)
	}
	// Memory grows with what arrives, not with what was announced.
	input, err := io.ReadAll(io.LimitReader(d.rest, int64(n)))
	if err != nil {
		return nil, err
	}
	if len(input) < int(n) {
		return nil, fmt.Errorf("%w: the input has %d octets, not %d", ErrDispatch, len(input), n)
	}
	return input, nil
}

// Module returns the octets of the module, after Input. They are all that is left of the body. The
// reader has no octets if the sender believes that the host has the module.
func (d *Dispatch) Module() io.Reader { return d.rest }

// line reads a line that ends with LF.
func (d *Dispatch) line(most int) (string, error) {
	line, err := d.rest.ReadSlice('\n')
	switch {
	case err == io.EOF:
		return "", fmt.Errorf("%w: it ends within its first three lines", ErrDispatch)
	case errors.Is(err, bufio.ErrBufferFull) || err == nil && len(line)-1 > most:
		return "", fmt.Errorf("%w: a line of more than %d octets", ErrDispatch, most)
	case err != nil:
		return "", err
	}
	return strings.TrimSuffix(string(line), "\n"), nil
}
