package remote

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/curtsy/curtsy/internal/render"
)

// Limits of a message, in bytes.
const (
	maxHead = 1 << 20  // URLs, headers and the like
	maxBody = 64 << 20 // a body or the HTML of a result
)

// message is what a session carries. Exactly one field is set.
type message struct {
	Page     *render.Page     `json:"page,omitempty"`
	Request  *render.Request  `json:"request,omitempty"`
	Response *render.Response `json:"response,omitempty"`
	Result   *render.Result   `json:"result,omitempty"`
	Failed   *render.Failed   `json:"failed,omitempty"`
}

var (
	errTooLarge = errors.New("too large for a remote renderer")
	errMessage  = errors.New("the other side sent a malformed message")
)

// encode returns a message as the length of its head, the head in JSON, and the body.
func (m message) encode() ([]byte, error) {
	body := m.body()
	m = m.without()
	head, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	if len(head) > maxHead || len(body) > maxBody {
		return nil, fmt.Errorf("%d bytes, and %d of URLs and headers, are %w", len(body), len(head), errTooLarge)
	}
	b := make([]byte, 0, 4+len(head)+len(body))
	b = binary.BigEndian.AppendUint32(b, uint32(len(head)))
	return append(append(b, head...), body...), nil
}

// decode reads a message. Its body is a slice of b.
func decode(b []byte) (m message, err error) {
	if len(b) < 4 {
		return message{}, errMessage
	}
	n := int64(binary.BigEndian.Uint32(b))
	if b = b[4:]; n > maxHead || n > int64(len(b)) || int64(len(b))-n > maxBody {
		return message{}, errMessage
	}
	if err := json.Unmarshal(b[:n], &m); err != nil {
		return message{}, fmt.Errorf("%w: %w", errMessage, err)
	}
	body, kinds := b[n:], 0
	for _, set := range []bool{m.Page != nil, m.Request != nil, m.Response != nil, m.Result != nil, m.Failed != nil} {
		if set {
			kinds++
		}
	}
	switch {
	case kinds != 1:
		return message{}, errMessage
	case m.Page != nil:
		m.Page.Body = body
	case m.Response != nil:
		m.Response.Body = body
	case m.Result != nil:
		m.Result.HTML = body
	case len(body) > 0:
		return message{}, errMessage
	}
	return m, nil
}

func (m message) body() []byte {
	switch {
	case m.Page != nil:
		return m.Page.Body
	case m.Response != nil:
		return m.Response.Body
	case m.Result != nil:
		return m.Result.HTML
	}
	return nil
}

// without returns a copy of m that has no body.
func (m message) without() message {
	switch {
	case m.Page != nil:
		p := *m.Page
		p.Body, m.Page = nil, &p
	case m.Response != nil:
		r := *m.Response
		r.Body, m.Response = nil, &r
	case m.Result != nil:
		r := *m.Result
		r.HTML, m.Result = nil, &r
	}
	return m
}
