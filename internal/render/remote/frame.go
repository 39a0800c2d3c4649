package remote

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// version is that of the protocol. Each frame begins with it.
const version = 1

// The flags of a frame. One without flags is a sign of life.
const (
	opens = 1 << iota // asks for a slot
	part              // has a part of a message
	last              // has the last part of a message
	ends              // the sender has left the session; the payload is the reason
)

// frameHeader is the length of a frame without its payload.
const frameHeader = 10

// frame is what is sent at once. Its payload is a slice of the data that it was read from.
type frame struct {
	flags   byte
	sent    uint32 // parts that its sender has sent, with this one
	got     uint32 // parts that its sender has received
	payload []byte
}

var errFrame = errors.New("the other side sent a malformed frame")

func (f frame) append(b []byte) []byte {
	b = append(b, version, f.flags)
	b = binary.BigEndian.AppendUint32(b, f.sent)
	b = binary.BigEndian.AppendUint32(b, f.got)
	return append(b, f.payload...)
}

func parseFrame(b []byte) (frame, error) {
	if len(b) > 0 && b[0] != version {
		return frame{}, fmt.Errorf("the other side uses version %d of the protocol, and this process version %d: upgrade the older one", b[0], version)
	}
	if len(b) < frameHeader || b[1] >= ends<<1 {
		return frame{}, errFrame
	}
	return frame{b[1], binary.BigEndian.Uint32(b[2:]), binary.BigEndian.Uint32(b[6:]), b[frameHeader:]}, nil
}
