package browser

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// maxMessage is the longest message that is read from a browser. The longest are snapshots: they
// have about five times the length of the HTML that is made of them.
const maxMessage = 96 << 20

var errLong = errors.New("the browser sent a message that is longer than the limit")

// readMessage reads a message without its NUL. It uses memory for what arrived only.
func readMessage(r *bufio.Reader, most int) ([]byte, error) {
	var b []byte
	for {
		part, err := r.ReadSlice(0)
		if len(b)+len(part) > most+1 {
			return nil, errLong
		}
		b = append(b, part...)
		switch {
		case err == nil:
			return b[:len(b)-1], nil
		case !errors.Is(err, bufio.ErrBufferFull):
			if len(b) > 0 && errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
	}
}

// message is a message of the protocol, of either direction.
type message struct {
	ID      int64           `json:"id,omitempty"`
	Session string          `json:"sessionId,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *protocolError  `json:"error,omitempty"`
}

// protocolError is the browser's refusal of a command.
type protocolError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *protocolError) Error() string { return e.Message }

// handler receives the events of a session, by the goroutine that reads. It must not wait for an
// answer of the browser.
type handler func(method string, params json.RawMessage)

// conn is the connection with a browser. It may be used concurrently.
type conn struct {
	out   io.Writer
	wmu   sync.Mutex // of out
	ended chan struct{}

	mu       sync.Mutex // guards the rest
	last     int64
	calls    map[int64]func(message)
	handlers map[string]handler // by session; "": the browser
	err      error              // why it ended
}

// newConn makes a connection. Its serve must be called.
func newConn(out io.Writer) *conn {
	return &conn{out: out, ended: make(chan struct{}), calls: map[int64]func(message){}, handlers: map[string]handler{}}
}

// serve reads messages until the connection ends or something comes that is no message.
func (c *conn) serve(in io.Reader) {
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		b, err := readMessage(r, maxMessage)
		var m message
		if err == nil {
			err = json.Unmarshal(b, &m)
		}
		if err != nil {
			c.mu.Lock()
			c.err = err
			c.mu.Unlock()
			close(c.ended)
			return
		}
		c.mu.Lock()
		answer, h := c.calls[m.ID], c.handlers[m.Session]
		delete(c.calls, m.ID)
		c.mu.Unlock()
		switch {
		case m.ID != 0 && answer != nil:
			answer(m)
		case m.ID == 0 && h != nil:
			h(m.Method, m.Params)
		}
	}
}

// handle sets who receives the events of a session; nil: nobody.
func (c *conn) handle(session string, h handler) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if h == nil {
		delete(c.handlers, session)
	} else {
		c.handlers[session] = h
	}
}

// cause is why the connection has ended.
func (c *conn) cause() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// post sends a command whose answer does not matter, unless it is an error: then failed is called,
// by the goroutine that reads. It may be nil.
func (c *conn) post(session, method string, params any, failed func()) error {
	var answered func(message)
	if failed != nil {
		answered = func(m message) {
			if m.Error != nil {
				failed()
			}
		}
	}
	return c.write(c.number(answered), session, method, params)
}

// number returns the number of a new command, whose answer is given to a function.
func (c *conn) number(answered func(message)) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	if answered != nil {
		c.calls[c.last] = answered
	}
	return c.last
}

func (c *conn) write(id int64, session, method string, params any) error {
	m := message{ID: id, Session: session, Method: method}
	if params != nil {
		b, err := json.Marshal(params)
		if err != nil {
			return err
		}
		m.Params = b
	}
	var b bytes.Buffer
	if err := json.NewEncoder(&b).Encode(m); err != nil {
		return err
	}
	b.Bytes()[b.Len()-1] = 0 // in place of the line feed
	c.wmu.Lock()
	defer c.wmu.Unlock()
	_, err := c.out.Write(b.Bytes())
	return err
}

// call sends a command and waits for its answer.
func (c *conn) call(ctx context.Context, session, method string, params, result any) error {
	answer := make(chan message, 1)
	id := c.number(func(m message) { answer <- m })
	defer func() {
		c.mu.Lock()
		delete(c.calls, id)
		c.mu.Unlock()
	}()
	if err := c.write(id, session, method, params); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	select {
	case m := <-answer:
		if m.Error != nil {
			return fmt.Errorf("%s: %w", method, m.Error)
		}
		if result == nil {
			return nil
		}
		if err := json.Unmarshal(m.Result, result); err != nil {
			return fmt.Errorf("%s: %w", method, err)
		}
		return nil
	case <-c.ended:
		return fmt.Errorf("%s: %w", method, c.cause())
	case <-ctx.Done():
		return ctx.Err()
	}
}
