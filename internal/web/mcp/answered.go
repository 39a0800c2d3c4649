package mcp

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// answered is a transport that reports the end of its input only when all questions have been
// answered. Without it the SDK abandons what it is still working on, because a program that pipes
// requests into curtsy mcp closes the input after the last of them.
type answered struct{ mcp.Transport }

func (t answered) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := t.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &answeredConn{Connection: c, closed: make(chan struct{}), open: map[jsonrpc.ID]bool{}, none: make(chan struct{}, 1)}, nil
}

type answeredConn struct {
	mcp.Connection
	closing sync.Once
	closed  chan struct{}

	mu   sync.Mutex
	open map[jsonrpc.ID]bool // requests that are not answered
	none chan struct{}       // holds a token when open has become empty
}

func (c *answeredConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	if err == nil {
		if r, ok := m.(*jsonrpc.Request); ok && r.IsCall() {
			c.mu.Lock()
			c.open[r.ID] = true
			c.mu.Unlock()
		}
		return m, nil
	}
	for !c.idle() {
		select {
		case <-c.none:
		case <-c.closed:
			return nil, err
		case <-ctx.Done():
			return nil, err
		}
	}
	if err != io.EOF && ctx.Err() == nil {
		err = fmt.Errorf("the session ends: standard input contains something else than a message of the protocol: %w", err)
	}
	return nil, err
}

func (c *answeredConn) Write(ctx context.Context, m jsonrpc.Message) error {
	err := c.Connection.Write(ctx, m)
	if r, ok := m.(*jsonrpc.Response); ok {
		c.mu.Lock()
		delete(c.open, r.ID)
		c.mu.Unlock()
		if c.idle() {
			select {
			case c.none <- struct{}{}:
			default:
			}
		}
	}
	return err
}

func (c *answeredConn) Close() error {
	c.closing.Do(func() { close(c.closed) })
	return c.Connection.Close()
}

func (c *answeredConn) idle() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.open) == 0
}
