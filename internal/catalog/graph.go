package catalog

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/curtsy/curtsy/internal/disk"
)

// Limits of graphs that are stored in a file.
const (
	maxGraphSpace = 256 << 20 // bytes of all files together, or of two files of the longest graphs
	maxGraphPart  = 768 << 10 // bytes of a part without its context: it must fit into a message
	spillBytes    = 64 << 10  // of a node that are in memory while it is read
)

// ErrNoSpace means that there is no space to store a graph now. Trying again later may succeed.
var ErrNoSpace = errors.New("there is no space for a temporary file of a graph")

// maxNodes is how many named nodes a document may have if limit bytes of it may be read: half a
// million by default. Each takes about 60 bytes of memory.
func maxNodes(limit int64) int { return int(min(64+limit/128, 1<<22)) }

// graphSpace is how many bytes the files of all graphs take.
var graphSpace atomic.Int64

// graph is the part of a document whose nodes refer to one another: its @graph, or the whole
// document if it is a list. Any node may be referred to from anywhere, so no node is delivered
// before all are read. Until then they are stored in an unnamed file and take no memory. resolve.go
// delivers them.
type graph struct {
	file   disk.Spool
	opened bool
	space  int64 // reserved in graphSpace
	most   int64 // of graphSpace
	failed error

	bare        bool // the document itself is the list
	contextLong bool // its context is too long to be kept
}

// take stores the nodes of a list after its opening bracket.
func (g *graph) take(c *cutter, bare bool) error {
	g.most = max(maxGraphSpace, 2*c.limit)
	if g.bare = bare; c.part != nil && !g.opened {
		if err := g.file.Open(); err != nil {
			return fmt.Errorf("%w: %w", ErrNoSpace, err)
		}
		g.opened = true
	}
	limit := maxNote
	if c.part != nil {
		c.spill, limit = g.add, spillBytes
		defer func() { c.spill = nil }()
	}
	return c.elements(func(b byte) error {
		if c.part != nil {
			g.separate()
		}
		raw, whole, err := c.value(b, c.member[:0], limit)
		c.member = raw
		if err != nil {
			return err
		}
		if whole {
			c.s.Pages.member(raw)
		}
		if c.part != nil {
			g.add(raw)
		}
		return g.failed
	})
}

// separate writes the text before a node: the file is one list, which combines all lists of the
// document.
func (g *graph) separate() {
	if g.file.Size() == 0 {
		g.add([]byte{'['})
	} else {
		g.add([]byte{','})
	}
}

func (g *graph) add(b []byte) {
	n := int64(len(b))
	if g.failed != nil {
		return
	}
	if graphSpace.Add(n) > g.most {
		graphSpace.Add(-n)
		g.failed = ErrNoSpace
		return
	}
	g.space += n
	if _, err := g.file.Add(b); err != nil {
		g.failed = fmt.Errorf("%w: %w", ErrNoSpace, err)
	}
}

// close closes the file.
func (g *graph) close() {
	g.file.Close()
	graphSpace.Add(-g.space)
	g.space = 0
}

// handOn delivers the datasets of the graph, in parts that contain everything they refer to.
func (g *graph) handOn(c *cutter) error {
	if g.file.Size() == 0 {
		return nil
	}
	if g.contextLong {
		return fmt.Errorf("%w: its context is longer than %d bytes", ErrNoCatalogue, maxContext)
	}
	g.add([]byte{']'})
	if g.failed != nil {
		return g.failed
	}
	if err := g.file.Flush(); err != nil {
		return fmt.Errorf("%w: %w", ErrNoSpace, err)
	}
	resolving.Lock()
	defer resolving.Unlock()
	r := newResolver(c)
	if err := r.index(); err != nil {
		return err
	}
	return r.emit()
}
