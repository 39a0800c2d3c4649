package catalog

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/curtsy/curtsy/internal/disk"
)

// Limits of graphs that are put aside.
const (
	maxGraphSpace = 256 << 20 // bytes of all files together, or two of the longest
	maxGraphPart  = 768 << 10 // bytes of a part, beside its context: it is to fit into a message
	spillBytes    = 64 << 10  // of a node that are in memory while it comes
)

// ErrNoSpace says that a graph could not be put aside. It may be another time.
var ErrNoSpace = errors.New("there is no space for a temporary file of a graph")

// maxNodes is how many nodes with a name a document may have of which so many bytes may be read:
// half a million, unless told otherwise. Each takes some 60 bytes of memory.
func maxNodes(limit int64) int { return int(min(64+limit/128, 1<<22)) }

// graphSpace is how many bytes the files of all graphs have.
var graphSpace atomic.Int64

// graph is what a document says as nodes that refer to one another: its @graph, or all of a
// document that is a list. Any node may be referred to from anywhere, so none is handed on before
// all are there. Until then they wait in a file without a name, and take no memory. resolve.go has
// what comes then.
type graph struct {
	file   disk.Spool
	opened bool
	space  int64 // taken out of graphSpace
	most   int64 // of graphSpace
	failed error

	bare        bool // the document is the list
	contextLong bool // it has a context that is too long to be kept
}

// take puts the nodes of a list aside whose bracket was read.
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

// separate writes what stands before a node: in the file all lists of the document are one.
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

// close lets go of the file.
func (g *graph) close() {
	g.file.Close()
	graphSpace.Add(-g.space)
	g.space = 0
}

// handOn hands the datasets of the graph on, in parts that have all they refer to.
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
