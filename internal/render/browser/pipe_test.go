package browser

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
)

func TestReadMessage(t *testing.T) {
	long := strings.Repeat("x", 100)
	for _, c := range []struct {
		in   string
		want []string
		err  error
	}{
		{"a\x00bc\x00", []string{"a", "bc"}, io.EOF},
		{"a\x00bc", []string{"a"}, io.ErrUnexpectedEOF},
		{"\x00", []string{""}, io.EOF},
		{long + "\x00a\x00", []string{long, "a"}, io.EOF},
		{long + "y\x00", nil, errLong},
		{long + long + long, nil, errLong},
	} {
		r := bufio.NewReaderSize(strings.NewReader(c.in), 16)
		var got []string
		var err error
		for {
			var b []byte
			if b, err = readMessage(r, len(long)); err != nil {
				break
			}
			got = append(got, string(b))
		}
		if strings.Join(got, "|") != strings.Join(c.want, "|") || !errors.Is(err, c.err) {
			t.Errorf("%.20q: %q, %v; want %q, %v", c.in, got, err, c.want, c.err)
		}
	}
}

// fake is the other end of a connection.
type fake struct {
	*bufio.Reader
	io.Writer
}

// connect returns a connection, and the browser's end of it.
func connect(t *testing.T) (*conn, fake) {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	c := newConn(outW)
	go c.serve(inR)
	t.Cleanup(func() { _ = inW.Close(); _ = outW.Close(); <-c.ended })
	return c, fake{bufio.NewReader(outR), inW}
}

func (f fake) read(t *testing.T) (m message) {
	t.Helper()
	b, err := readMessage(f.Reader, 1<<20)
	if err == nil {
		err = json.Unmarshal(b, &m)
	}
	if err != nil {
		t.Error(err)
	}
	return m
}

func (f fake) write(t *testing.T, s string) {
	t.Helper()
	if _, err := io.WriteString(f, s+"\x00"); err != nil {
		t.Error(err)
	}
}

func TestConn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, f := connect(t)
		var events []string
		c.handle("s", func(method string, params json.RawMessage) { events = append(events, method+string(params)) })
		go func() {
			// Two commands are answered in the other order; events come between them.
			m := f.read(t)
			m2 := f.read(t)
			f.write(t, `{"method":"A","sessionId":"s","params":{"x":1}}`)
			f.write(t, `{"method":"B","sessionId":"another"}`)
			f.write(t, `{"id":99,"result":{}}`)
			f.write(t, `{"id":`+string(rune('0'+m2.ID))+`,"result":{"is":"`+m2.Method+m2.Session+string(m2.Params)[:1]+`"}}`)
			f.write(t, `{"id":`+string(rune('0'+m.ID))+`,"error":{"code":1,"message":"no"}}`)
		}()
		var first error
		done := make(chan struct{})
		go func() {
			defer close(done)
			first = c.call(t.Context(), "", "First", nil, nil)
		}()
		synctest.Wait()
		var got struct {
			Is string `json:"is"`
		}
		if err := c.call(t.Context(), "s", "Second", object{"a": "b"}, &got); err != nil || got.Is != "Seconds{" {
			t.Errorf("%q, %v", got.Is, err)
		}
		<-done
		var refused *protocolError
		if !errors.As(first, &refused) || first.Error() != "First: no" {
			t.Errorf("%v", first)
		}
		if len(events) != 1 || events[0] != `A{"x":1}` {
			t.Errorf("events: %q", events)
		}
	})
}

// A command whose answer does not matter, and one that failed.
func TestConnPost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, f := connect(t)
		go func() {
			f.read(t)
			f.write(t, `{"id":1,"error":{"code":1,"message":"no"}}`)
			f.read(t)
			f.write(t, `{"id":2,"result":{}}`)
			f.read(t)
			f.write(t, `{"id":3,"error":{"code":1,"message":"no"}}`)
		}()
		failed := ""
		for _, name := range []string{"", "second", "third"} {
			var after func()
			if name != "" {
				after = func() { failed += name }
			}
			if err := c.post("s", "M", nil, after); err != nil {
				t.Error(err)
			}
		}
		synctest.Wait()
		if failed != "third" {
			t.Errorf("failed: %q", failed)
		}
	})
}

// Whoever waits for an answer gets an error when the connection ends, or when he gives up.
func TestConnEnds(t *testing.T) {
	for _, c := range []struct {
		name string
		last string
		want error
	}{{"it closes", "", io.EOF}, {"within a message", "{", io.ErrUnexpectedEOF}, {"no message", "garbage\x00", nil}} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				conn, f := connect(t)
				go func() {
					f.read(t)
					_, _ = io.WriteString(f, c.last)
					_ = f.Writer.(*io.PipeWriter).Close()
				}()
				err := conn.call(t.Context(), "", "M", nil, nil)
				var syntax *json.SyntaxError
				if c.want != nil && !errors.Is(err, c.want) || c.want == nil && !errors.As(err, &syntax) {
					t.Errorf("%v, want %v", err, c.want)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		c, f := connect(t)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			f.read(t)
			cancel()
		}()
		if err := c.call(ctx, "", "M", nil, nil); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if len(c.calls) != 0 {
			t.Error("a call that was given up is remembered")
		}
	})
}
