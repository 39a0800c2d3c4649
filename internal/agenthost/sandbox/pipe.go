package sandbox

import (
	"encoding/binary"
	"errors"
	"io"

	"github.com/curtsy/curtsy/internal/mobile"
)

// The messages between parent and child: a kind, a length (four octets, big-endian), a payload.
const (
	// To the child, before the robot runs, in this order.
	msgInput  = 'i' // a piece of the input; any number of them
	msgModule = 'm' // a piece of the module; likewise
	msgStart  = 's'
	// To the child: the answer to its question. A code or a number of octets, and then octets.
	msgAnswer = 'a'
	// From the child.
	msgReady  = 'r' // once: what the child could not give up
	msgEnd    = 'x' // the robot has ended: 0 or 1 for failed, and the reason
	msgList   = 'l' // how many octets (four octets), and the path after which to begin
	msgOpen   = 'o' // a path; the answer has the head of the document
	msgRead   = 'd' // how many octets (four octets)
	msgPart   = 'p' // a part of a record
	msgRecord = 'e' // the last part of a record
	msgLog    = 'g' // a line
)

// maxMessage is the longest payload: a part of a document, and the code in front of it.
const maxMessage = mobile.MaxPart + 16

var errMessage = errors.New("a message between the processes of a robot is malformed")

// writeMessage writes a message with the payload a and then b.
func writeMessage(w io.Writer, kind byte, a, b []byte) error {
	buf := make([]byte, 5, 5+len(a)+len(b))
	buf[0] = kind
	binary.BigEndian.PutUint32(buf[1:], uint32(len(a)+len(b)))
	buf = append(append(buf, a...), b...)
	if len(buf) > 5+maxMessage {
		return errMessage
	}
	_, err := w.Write(buf)
	return err
}

// readMessage reads a message into buf, which has maxMessage octets.
func readMessage(r io.Reader, buf []byte) (kind byte, payload []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	n := binary.BigEndian.Uint32(head[1:])
	if n > maxMessage {
		return 0, nil, errMessage
	}
	if _, err := io.ReadFull(r, buf[:n]); err != nil {
		return 0, nil, io.ErrUnexpectedEOF
	}
	return head[0], buf[:n], nil
}

// number cuts four octets off a payload.
func number(payload []byte) (n uint32, rest []byte, err error) {
	if len(payload) < 4 {
		return 0, nil, errMessage
	}
	return binary.BigEndian.Uint32(payload), payload[4:], nil
}
