package catalog

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/curtsy/curtsy/internal/catalog/shapes"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/lenientjson"
	"github.com/curtsy/curtsy/internal/rdf"
)

// Limits of a catalogue that is read as a stream.
const (
	MaxCatalogue = 64 << 20  // bytes, by default
	PartBytes    = 256 << 10 // of a part; only one dataset that is longer makes it longer
	maxMember    = 512 << 10 // bytes of one dataset; a longer one is left out
	maxNote      = 8 << 10   // bytes of a value beside the list that is read, such as a context
	maxCutDepth  = 3         // depth at which a list is searched for
	maxContext   = 32 << 10  // bytes of a context, which every part contains
)

var (
	// ErrCatalogueLarge means that a catalogue is longer than Cut may read.
	ErrCatalogueLarge = errors.New("the catalogue is too long")
	// ErrNoCatalogue means that a document has no list that could be divided into parts.
	ErrNoCatalogue = errors.New("it has no list of datasets that can be read in parts")
	// ErrBroken means that nothing of a document can be read as JSON.
	ErrBroken = errors.New("it is not JSON")
)

// Summary describes a document that Cut has read.
type Summary struct {
	Parts   int
	Members int // of its lists, delivered in parts
	LeftOut int // members that cannot be read, are too long or missing, or refer to too many nodes
	Bytes   int64
	SHA256  [32]byte
	Pages   Paging
	JSON    lenientjson.Report // what was odd in the document
	RDF     rdf.Report         // the same of a document in RDF
}

// isList reports whether a list of this name is one of those that Cut divides. A member of it that
// cannot be read is left out alone.
func isList(name []byte) bool {
	known := local(string(name))
	return lists[known] || shapes.IsList(known)
}

// Cut reads a JSON document of any length and delivers the members of its lists of datasets as
// documents of about PartBytes each. ReadJSON can read each part independently of the others. One
// part is in memory at a time. part must not keep its argument; if it returns an error, Cut ends
// and returns this error. Other errors are an error of r, ErrCatalogueLarge beyond limit bytes,
// ErrNoCatalogue, also beyond MaxParts, and ErrBroken. After an error, the delivered parts are not
// the complete document.
//
// Each dataset must be independent of the rest of the document, except in a @graph or in a document
// that is a list. Their nodes are first stored in a file. At the end of the document, the datasets
// are delivered together with the nodes that they refer to (see graph.go). ErrNoSpace means that
// there was no space for that file.
//
// Text that is nearly JSON is read as package lenientjson describes. Summary.JSON lists what was
// forgiven, and what was left out because it cannot be read or because the document ends in the
// middle.
//
// If part is nil, nothing is delivered: Cut only looks for other pages, and checks that the
// document is complete.
func Cut(r io.Reader, limit int64, part func([]byte) error) (Summary, error) {
	return cutUpTo(r, limit, limit, part)
}

// cutUpTo is Cut for a document of at most that many bytes, with the other limits of one of limit
// bytes.
func cutUpTo(r io.Reader, most, limit int64, part func([]byte) error) (Summary, error) {
	src := &counted{r: r, left: most, sum: sha256.New()}
	lenient := lenientjson.NewReader(src, isList)
	c := &cutter{scanner: scanner{in: bufio.NewReaderSize(lenient, 64<<10)}, part: part, most: MaxParts(limit), limit: limit}
	defer c.graph.close()
	err := c.documents()
	if err == nil && src.err == nil {
		err = c.graph.handOn(c)
	}
	c.s.JSON = lenient.Report()
	if c.s.LeftOut += c.s.JSON.LeftOut; c.s.JSON.Cut {
		c.s.LeftOut = max(1, c.s.LeftOut)
	}
	switch {
	case src.err != nil:
		err = src.err // regardless of how the document was parsed
	case c.s.JSON.Failed:
		err = fmt.Errorf("%w: %s", ErrBroken, c.s.JSON.String())
	case err == nil && c.s.Parts == 0 && part != nil:
		err = ErrNoCatalogue
	}
	c.s.Bytes = src.n
	src.sum.Sum(c.s.SHA256[:0])
	return c.s, err
}

// MaxParts is how many parts a document of limit bytes may have. Each list ends a part, and a short
// list costs its receiver as much as one of PartBytes.
func MaxParts(limit int64) int { return 64 + int(2*limit/PartBytes) }

// counted reads at most a number of bytes, and records why it stopped.
type counted struct {
	r       io.Reader
	n, left int64
	sum     hash.Hash
	err     error // except io.EOF
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p[:min(int64(len(p)), c.left+1)])
	if int64(n) > c.left {
		n, err = int(c.left), ErrCatalogueLarge
	}
	c.left -= int64(n)
	c.n += int64(n)
	c.sum.Write(p[:n])
	if err != nil && err != io.EOF {
		c.err = err
	}
	return n, err
}

// cutter processes one document.
type cutter struct {
	scanner
	part  func([]byte) error
	most  int // parts
	limit int64
	s     Summary
	graph graph
	bare  bool // the document is a list, and no graph

	context     []byte // of the document: the meaning of the names in it
	names       jsonReader
	open, close []byte // the text before and after the members of a part
	out         []byte // the current part
	member      []byte
	path        []string
}

// documents reads the document, or several in a row.
func (c *cutter) documents() error {
	first, _ := c.in.Peek(shapes.Look)
	c.bare = shapes.Bare(first)
	for {
		b, err := c.next()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
		case b == '{':
			err = c.object(0)
		case b == '[' && c.bare:
			err = c.divide("")
		case b == '[':
			err = c.list("")
		default: // a text or a number has no list
			c.member, _, err = c.value(b, c.member[:0], maxNote)
		}
		if err != nil {
			return err
		}
	}
}

// object reads the members of an object after its opening brace.
func (c *cutter) object(depth int) error {
	return c.members(func(name string, b byte) error {
		known := local(c.names.called(name))
		switch {
		case b == '[' && (lists[known] || shapes.IsList(known)):
			return c.list(name)
		case b == '{' && (ways[known] || shapes.IsWay(known)) && depth < maxCutDepth:
			c.path = append(c.path, name)
			err := c.object(depth + 1)
			c.path = c.path[:len(c.path)-1]
			return err
		}
		limit := maxNote
		if name == "@context" {
			limit = maxContext
		}
		raw, whole, err := c.value(b, c.member[:0], limit)
		c.member = raw
		switch {
		case err != nil:
			return err
		case name == "@context" && depth == 0:
			c.graph.contextLong = !whole
			if whole {
				c.context = bytes.Clone(raw)
				c.names.contexts = contextsOf(map[string]any{"@context": decoded(raw)})
			}
		case whole:
			c.s.Pages.note(known, raw)
		}
		return nil
	})
}

// list delivers the members of a list after its opening bracket. name is the property with the
// list.
func (c *cutter) list(name string) error {
	if name == "" || local(c.names.called(name)) == "@graph" {
		return c.graph.take(c, name == "")
	}
	return c.divide(name)
}

// divide delivers the members of a list that do not refer to one another. name is the property with
// the list, or "" if the list is the document.
func (c *cutter) divide(name string) error {
	c.open, c.close = c.open[:0], c.close[:0]
	for _, p := range append(c.path[:len(c.path):len(c.path)], name) {
		if name == "" {
			break
		}
		quoted, _ := json.Marshal(p) // a string can always be encoded
		c.open = append(c.open, '{')
		if c.context != nil && len(c.open) == 1 {
			c.open = append(append(append(c.open, `"@context":`...), c.context...), ',')
		}
		c.open = append(append(c.open, quoted...), ':')
		c.close = append(c.close, '}')
	}
	c.open, c.close = append(c.open, '['), append([]byte{']'}, c.close...)
	c.out = append(c.out[:0], c.open...)
	member := func(b byte) error {
		raw, whole, err := c.value(b, c.member[:0], maxMember)
		c.member = raw
		if err != nil {
			return err
		}
		if !whole {
			c.s.LeftOut++
			return nil
		}
		c.s.Pages.member(raw)
		if len(c.out) > len(c.open) && len(c.out)+len(raw) > PartBytes {
			if err := c.flush(); err != nil {
				return err
			}
		}
		if len(c.out) > len(c.open) {
			c.out = append(c.out, ',')
		}
		c.out = append(c.out, raw...)
		c.s.Members++
		return nil
	}
	err := c.elements(func(b byte) error {
		if b == '[' { // DKAN 1 writes a list in a list
			return c.elements(member)
		}
		return member(b)
	})
	if err != nil {
		return err
	}
	return c.flush()
}

// flush delivers the current part and begins the next.
func (c *cutter) flush() error {
	if len(c.out) > len(c.open) {
		if err := c.hand(append(c.out, c.close...)); err != nil {
			return err
		}
	}
	c.out = append(c.out[:0], c.open...)
	return nil
}

// hand delivers a part.
func (c *cutter) hand(part []byte) error {
	if c.part == nil {
		return nil
	}
	if c.s.Parts++; c.s.Parts > c.most {
		return fmt.Errorf("%w: it has more than %d lists", ErrNoCatalogue, c.most)
	}
	return c.part(part)
}

// A catalogue in RDF is converted to JSON-LD, and then read as that.

// maxExpanded is how many times as long as a document its JSON-LD may be. Turtle with short
// prefixes becomes about three times as long.
const maxExpanded = 16

// CutRDF is Cut for a document in RDF. base is its address. Length and digest in the summary are
// those of the document, the parts are JSON-LD. It is not ErrBroken if the document breaks off:
// what was read of it is delivered, and LeftOut counts what was lost.
func CutRDF(r io.Reader, format rdf.Format, base string, limit int64, part func([]byte) error) (Summary, error) {
	src := &counted{r: r, left: limit, sum: sha256.New()}
	o := rdf.Options{Subjects: maxNodes(limit)}
	var space int64
	defer func() { graphSpace.Add(-space) }()
	if part != nil {
		o.Space = func(n int64) error {
			if graphSpace.Add(n) > max(maxGraphSpace, 2*limit) {
				graphSpace.Add(-n)
				return ErrNoSpace
			}
			space += n
			return nil
		}
	}
	nodes := rdf.JSONLD(src, format, base, o)
	defer nodes.Close()
	s, err := cutUpTo(nodes, maxExpanded*limit, limit, part)
	switch {
	case src.err != nil:
		err = src.err
	case errors.Is(err, rdf.ErrSubjects):
		err = fmt.Errorf("%w: %w", ErrNoCatalogue, err)
	case errors.Is(err, ErrCatalogueLarge):
		err = fmt.Errorf("%w: its statements are too long", ErrNoCatalogue)
	}
	s.Bytes = src.n
	src.sum.Sum(s.SHA256[:0])
	s.RDF = nodes.Report
	s.LeftOut += nodes.Report.Lost
	return s, err
}

// readRDF reads a document in RDF, which must be short enough for memory, as ReadJSON does.
func readRDF(body []byte, format rdf.Format, d Document) ([]crawl.DatasetClaim, int, error) {
	nodes := rdf.JSONLD(bytes.NewReader(body), format, d.URL, rdf.Options{})
	defer nodes.Close()
	text, err := io.ReadAll(io.LimitReader(nodes, maxExpanded*MaxDocument))
	if err != nil {
		return nil, 0, fmt.Errorf("%w: %w", ErrTooMuch, err)
	}
	d.Type = ""
	return readJSON(text, d)
}
