package simweb

import (
	"bufio"
	"errors"
	"net"
	"os"
	"time"
)

// wire is the client's end of one exchange: replies are written to it, and it notices when the
// client leaves. Its methods are for the goroutine that answers.
type wire struct {
	conn net.Conn
	br   *bufio.Reader
	last time.Time // just before the last write, or when it was noticed that the client had left
	sent int64
	gone bool // the client left while the answer was being written or waited for
	keep bool // what is written is recorded
	kept []byte
}

// chunk is how much is written at a time, so that last is close to the end of a long answer.
const chunk = 64 << 10

// Write sends p and records when its last piece was passed on.
func (c *wire) Write(p []byte) (int, error) {
	n := 0
	for len(p) > 0 {
		if c.gone {
			return n, net.ErrClosed
		}
		piece := p[:min(len(p), chunk)]
		c.last = time.Now()
		k, err := c.conn.Write(piece)
		if c.keep {
			c.kept = append(c.kept, piece[:k]...)
		}
		n += k
		c.sent += int64(k)
		if err != nil {
			c.leave()
			return n, err
		}
		p = p[len(piece):]
	}
	return n, nil
}

// sleep waits, and returns false as soon as the client leaves. A client that has sent more data
// meanwhile counts as present.
func (c *wire) sleep(d time.Duration) bool {
	if d <= 0 || c.gone {
		return !c.gone
	}
	until := time.Now().Add(d)
	for left := d; left > 0; left = time.Until(until) {
		if c.br.Buffered() > 0 { // we cannot notice then that it leaves, but we can be closed
			time.Sleep(min(left, 20*time.Millisecond))
			if c.conn.SetReadDeadline(time.Time{}) != nil {
				c.leave()
				return false
			}
			continue
		}
		c.conn.SetReadDeadline(until)
		_, err := c.br.Peek(1)
		c.conn.SetReadDeadline(time.Time{})
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			c.leave()
			return false
		}
	}
	return true
}

func (c *wire) leave() {
	if !c.gone {
		c.gone, c.last = true, time.Now()
	}
}

// send writes an ordinary reply, with its head and the first piece of its body in one call.
func (c *wire) send(head, body []byte) error {
	if len(body) == 0 {
		_, err := c.Write(head)
		return err
	}
	first := body[:min(len(body), chunk)]
	c.last = time.Now()
	if c.keep {
		c.kept = append(append(c.kept, head...), first...)
	}
	n, err := (&net.Buffers{head, first}).WriteTo(c.conn)
	c.sent += n
	if err != nil {
		c.leave()
		return err
	}
	if rest := body[len(first):]; len(rest) > 0 {
		_, err = c.Write(rest)
	}
	return err
}

// reset makes the following close send an RST.
func (c *wire) reset() {
	if tcp, ok := c.conn.(interface{ SetLinger(int) error }); ok {
		tcp.SetLinger(0)
	}
	c.last = time.Now()
}

// hang answers nothing until the client gives up.
func hang(c *wire) { c.sleep(time.Hour) }

func resetAtOnce(c *wire) { c.reset() }

// truncated announces twice as much as it sends, and closes.
func truncated(ctype, text string) func(*wire) {
	return func(c *wire) {
		r := reply{status: 200, ctype: ctype, body: make([]byte, 2*len(text))}
		if _, err := c.Write(appendHead(nil, &r, false)); err == nil {
			c.Write([]byte(text))
		}
	}
}
