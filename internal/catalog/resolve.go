package catalog

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"io"
	"math"
	"slices"
	"strings"
	"sync"
)

// A graph in a file is read twice. In the first pass, the position of each named node is recorded,
// and which nodes describe datasets, as jsonReader.index and jsonReader.walk would find them in the
// whole document. In the second pass, these nodes are delivered together with the nodes that they
// refer to, directly or indirectly, so that a part describes its datasets exactly as the document
// does. A dataset for which that is impossible is left out and counted.

// resolving is locked while a graph is read, so that a process has only one table of names, which
// takes 50 MiB at most unless longer catalogues are allowed. Nobody waits for this mutex except our
// own indexers.
var resolving sync.Mutex

// followed are the properties in whose values jsonReader looks up nodes.
var followed = func() map[string]bool {
	all := map[string]bool{"conformsTo": true, "@list": true, "@set": true}
	for name := range properties {
		all[name] = true
	}
	for _, name := range []string{"@id", "@type", "@graph", "dataset", "landingPage", "contentUrl", "downloadURL", "accessURL", "containedIn"} {
		delete(all, name) // they lead out of the document, or to other datasets
	}
	return all
}()

// span is the position of a node in the file.
type span struct {
	at   int64
	size int64
}

// role is the role of a node.
type role byte

const (
	aside  role = iota // other nodes may refer to it
	among              // it counts if it describes a dataset
	listed             // a member of a catalogue's list, which needs no type
)

// Flags that are stored for a name together with the number of the span with its node.
const (
	flagUntyped = 1 << 31
	flagTop     = 1 << 30 // it is the name of the whole span
)

type rootNode struct {
	span uint32
	role role
}

// resolver processes one graph.
type resolver struct {
	c     *cutter
	names *jsonReader // for the meaning of names; it makes no claims
	left  int64       // bytes that may still be read in the second pass
	most  int         // nodes

	seed  maphash.Seed
	spans []span
	ids   map[uint64]uint32 // by the hash of a name
	roots []rootNode
	named []uint64 // hashes of names in catalogues' lists

	buf []byte
	part
}

// part is the part that is delivered next.
type part struct {
	in     map[uint32]role
	bytes  int64
	values int
	first  int64 // bytes of the first dataset and the nodes it refers to
}

func newResolver(c *cutter) *resolver {
	return &resolver{
		c: c, names: &jsonReader{left: math.MaxInt, contexts: c.names.contexts}, left: 16<<20 + 8*c.graph.file.Size(), most: maxNodes(c.limit),
		seed: maphash.MakeSeed(), ids: map[uint64]uint32{}, part: part{in: map[uint32]role{}},
	}
}

// decoded decodes JSON. It returns nil if raw is invalid or has more values than one document may
// have.
func decoded(raw []byte) (v any) {
	if values(raw, maxValues) > maxValues {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if dec.Decode(&v) != nil {
		return nil
	}
	return v
}

// section reads the file from a position on.
type section struct {
	scanner
	at int64
	r  io.Reader
}

func (r *resolver) section(at int64) *section {
	s := &section{at: at}
	s.r = r.c.graph.file.From(at)
	s.in = bufio.NewReaderSize(s, 64<<10)
	return s
}

// Read counts the bytes, for pos.
func (s *section) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	s.at += int64(n)
	return n, err
}

// pos is the position of the next byte.
func (s *section) pos() int64 { return s.at - int64(s.in.Buffered()) }

// index does the first pass.
func (r *resolver) index() error {
	s := r.section(0)
	if _, err := s.next(); err != nil { // the bracket
		return err
	}
	return s.elements(func(b byte) error { return r.node(s, b, among, 0) })
}

// node records a node that begins with first. depth is the number of long nodes that contain it.
func (r *resolver) node(s *section, first byte, as role, depth int) error {
	at := s.pos() - 1
	raw, whole, err := s.value(first, r.buf[:0], maxMember)
	if r.buf = raw; err != nil {
		return err
	}
	where := span{at, s.pos() - at}
	if !whole {
		return r.long(where, as, depth)
	}
	v := decoded(raw)
	if v == nil && string(raw) != "null" {
		r.c.s.LeftOut++
		return nil
	}
	if m, ok := v.(map[string]any); ok && r.c.graph.bare && depth == 0 && m["@context"] != nil {
		r.names.contexts.add(m["@context"], 0)
	}
	n, ids := uint32(len(r.spans)), len(r.ids)
	if err := r.note(v, n, 0); err != nil {
		return err
	}
	hasDataset := as != aside && r.tells(v, as == listed, 0)
	if hasDataset {
		r.roots = append(r.roots, rootNode{n, as})
	}
	if hasDataset || len(r.ids) > ids {
		r.spans = append(r.spans, where)
	}
	return r.bounded()
}

func (r *resolver) bounded() error {
	if len(r.ids) > r.most || len(r.spans) > r.most || len(r.named) > r.most {
		return fmt.Errorf("%w: a graph of more than %d nodes", ErrNoCatalogue, r.most)
	}
	return nil
}

// long reads a node that is longer than the limit, for example a catalogue that lists all its
// datasets. Its contents are recorded as if they were outside of it. The node itself is lost.
func (r *resolver) long(where span, as role, depth int) error {
	s := r.section(where.at)
	first, err := s.next()
	if err != nil {
		return err
	}
	if first == '"' {
		return nil // a string is not a node
	}
	if first != '{' || depth == maxCutDepth {
		r.c.s.LeftOut++
		return nil
	}
	n := uint32(len(r.spans))
	r.spans = append(r.spans, where)
	self := map[string]any{}
	err = s.members(func(name string, b byte) error {
		known, role := local(r.names.called(name)), aside
		if slices.Contains(leads, known) {
			role = among
		}
		if known == "dataset" {
			role = listed
		}
		switch {
		case known == "@id" || known == "@type":
			raw, _, err := s.value(b, r.buf[:0], maxNote)
			r.buf = raw
			self[known] = decoded(raw)
			return err
		case b == '[':
			return s.elements(func(b byte) error { return r.node(s, b, role, depth+1) })
		}
		return r.node(s, b, role, depth+1)
	})
	if err != nil {
		return err
	}
	r.names.rename(self)
	if as != aside && r.names.newNode(self).is("Dataset") || as == listed && self["@type"] == nil {
		r.c.s.LeftOut++
	}
	if id, ok := self["@id"].(string); ok {
		if self["@type"] == nil {
			n |= flagUntyped
		}
		r.name(id, n)
	}
	return r.bounded()
}

// hash returns the hash of a name. If two names had the same hash, a part would contain a wrong
// node. The seed is secret, so nobody can cause this.
func (r *resolver) hash(id string) uint64 { return maphash.String(r.seed, id) }

func (r *resolver) name(id string, value uint32) {
	if _, twice := r.ids[r.hash(id)]; !twice {
		r.ids[r.hash(id)] = value
	}
}

// note records the names in a node, as jsonReader.index does, and renames its members.
func (r *resolver) note(v any, n uint32, depth int) error {
	if depth > maxWalk {
		return nil
	}
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			if err := r.note(e, n, depth+1); err != nil {
				return err
			}
		}
	case map[string]any:
		r.names.rename(v)
		if id, ok := v["@id"].(string); ok && len(v) > 1 {
			value := n
			if depth == 0 {
				value |= flagTop
			}
			if v["@type"] == nil {
				value |= flagUntyped
			}
			if r.name(id, value); len(r.ids) > r.most {
				return r.bounded()
			}
		}
		for _, e := range v {
			if err := r.note(e, n, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// tells reports whether jsonReader.walk would find a dataset in v, and records the names in
// catalogues' lists.
func (r *resolver) tells(v any, inList bool, depth int) (yes bool) {
	if depth > maxWalk {
		return false
	}
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			yes = r.tells(e, inList, depth+1) || yes
		}
	case string:
		if inList && isName(v) && len(r.named) <= r.most {
			r.named = append(r.named, r.hash(v))
		}
	case map[string]any:
		n := r.names.newNode(v)
		yes = n.is("Dataset") || inList && v["@type"] == nil && len(n.keys) > 1
		for _, name := range leads {
			if e, ok := n.keys[name]; ok {
				yes = r.tells(e, name == "dataset", depth+1) || yes
			}
		}
	}
	return yes
}

// emit does the second pass.
func (r *resolver) emit() error {
	done := map[uint32]bool{}
	slices.Sort(r.named)
	for _, id := range slices.Compact(r.named) {
		switch where, ok := r.ids[id]; {
		case !ok || where&flagUntyped == 0:
		case where&flagTop == 0:
			r.c.s.LeftOut++ // inside another node that is no dataset, or too long
		default:
			r.roots = append(r.roots, rootNode{where &^ (flagTop | flagUntyped), listed})
		}
	}
	slices.SortFunc(r.roots, func(a, b rootNode) int { return cmp.Or(cmp.Compare(a.span, b.span), cmp.Compare(b.role, a.role)) })
	for _, root := range r.roots {
		if done[root.span] {
			continue
		}
		done[root.span] = true
		if err := r.place(root); err != nil {
			return err
		}
	}
	return r.flush()
}

// need is what a part still lacks of a node and the nodes that it refers to.
type need struct {
	spans  []uint32
	bytes  int64
	values int
}

// needs determines what a node needs. ok is false if that is more than a part may have.
func (r *resolver) needs(n uint32) (all need, ok bool, err error) {
	all.spans = []uint32{n}
	has := map[uint32]bool{n: true}
	for i := 0; i < len(all.spans); i++ {
		where := r.spans[all.spans[i]]
		if all.bytes += where.size + 1; where.size > maxMember || all.bytes > maxGraphPart {
			return all, false, nil
		}
		raw, err := r.read(where)
		if err != nil {
			return all, false, err
		}
		if all.values += values(raw, maxValues) + 1; all.values > maxValues/2 {
			return all, false, nil
		}
		r.references(decoded(raw), 0, func(id string) {
			to, known := r.ids[r.hash(id)]
			to &^= flagTop | flagUntyped
			if _, there := r.in[to]; known && !has[to] && !there {
				has[to] = true
				all.spans = append(all.spans, to)
			}
		})
	}
	return all, true, nil
}

func (r *resolver) read(where span) ([]byte, error) {
	if r.left -= where.size; r.left < 0 {
		return nil, fmt.Errorf("%w: the nodes of its graph refer to one another too often", ErrNoCatalogue)
	}
	var err error
	if r.buf, err = r.c.graph.file.Read(r.buf, where.at, uint32(where.size)); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoSpace, err)
	}
	return r.buf, nil
}

// references calls fn for the names in a node that the reader may look up.
func (r *resolver) references(v any, depth int, fn func(id string)) {
	if depth > maxWalk {
		return
	}
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			r.references(e, depth+1, fn)
		}
	case map[string]any:
		r.names.rename(v)
		for name, e := range v {
			if followed[local(name)] {
				for _, e := range list(e) {
					if m, ok := e.(map[string]any); ok && len(m) == 1 {
						r.names.rename(m)
						e = m["@id"]
					}
					if id, ok := e.(string); ok {
						fn(id)
					}
				}
			}
			r.references(e, depth+1, fn)
		}
	}
}

// place adds a node that describes datasets to the part, with the nodes that it refers to.
func (r *resolver) place(root rootNode) error {
	more, ok, err := r.needs(root.span)
	if err == nil && len(r.in) > 0 && (!ok || r.bytes-r.first+more.bytes > PartBytes ||
		r.bytes+more.bytes > maxGraphPart || r.values+more.values > maxValues/2) {
		if err = r.flush(); err == nil {
			more, ok, err = r.needs(root.span)
		}
	}
	if err != nil {
		return err
	}
	if !ok {
		r.c.s.LeftOut++
		return nil
	}
	if len(r.in) == 0 {
		r.first = more.bytes
	}
	for _, n := range more.spans {
		r.in[n] = aside
	}
	r.in[root.span] = root.role
	r.bytes, r.values = r.bytes+more.bytes, r.values+more.values
	r.c.s.Members++
	return nil
}

// flush delivers the part, as a list of objects. The nodes keep the order of the document, because
// of two nodes with one name the first counts. Nodes that are only referred to are in @included,
// where no dataset is searched for.
func (r *resolver) flush() error {
	if len(r.in) == 0 {
		return nil
	}
	all := make([]uint32, 0, len(r.in))
	for n := range r.in {
		all = append(all, n)
	}
	slices.SortFunc(all, func(a, b uint32) int { return cmp.Compare(r.spans[a].at, r.spans[b].at) })
	out := append(r.c.out[:0], '[')
	if r.c.context != nil {
		out = append(append(append(out, `{"@context":`...), r.c.context...), '}', ',')
	}
	for i, n := range all {
		if i > 0 {
			out = append(out, ',')
		}
		raw, err := r.read(r.spans[n])
		if err != nil {
			return err
		}
		before, behind := "", ""
		switch {
		case r.in[n] == aside:
			before, behind = `{"@included":[`, `]}`
		case r.in[n] == listed:
			before, behind = `{"dataset":[`, `]}`
		case !r.c.graph.bare:
			before, behind = `{"@graph":[`, `]}`
		}
		out = append(append(append(out, before...), raw...), behind...)
	}
	r.c.out = append(out, ']')
	clear(r.in)
	r.bytes, r.values = 0, 0
	return r.c.hand(r.c.out)
}

// isName reports whether a text may name a node of the document, as in jsonReader.named.
func isName(s string) bool { return strings.ContainsAny(s, ":#/") }
