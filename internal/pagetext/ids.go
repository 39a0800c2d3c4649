package pagetext

import (
	"bytes"

	"github.com/curtsy/curtsy/internal/html"
)

// ids finds the id by which a link can lead to a heading. In the order of preference: the
// heading's own; that of an element in it, or the one to which a link in it leads; that of an
// element, such as a section, that begins before it without any text between.
type ids struct {
	last    []byte // the last id outside headings
	at      int    // how long the body was
	heading []byte // of the open heading
	own     bool   // it is the heading's own, or in it
}

// tag reads the attributes of a start tag, after walk.start.
func (s *ids) tag(r *walk, e element, attrs []byte) {
	id := html.Attr(attrs, "id")
	if e == elementA && len(id) == 0 {
		id = html.Attr(attrs, "name")
	}
	if e.heading() > 0 {
		s.heading, s.own = id, len(id) > 0
		if !s.own && s.at == len(r.x.body) {
			s.heading = s.last
		}
		return
	}
	if r.x.heading < 0 {
		if len(id) > 0 {
			s.last, s.at = id, len(r.x.body)
		}
		return
	}
	if to, ok := bytes.CutPrefix(html.Attr(attrs, "href"), []byte("#")); ok && len(id) == 0 && e == elementA {
		id = to
	}
	if !s.own && len(id) > 0 {
		s.heading, s.own = id, true
	}
}

// ID is the Anchor of a Heading with its character references resolved; "" if it has none.
func (s *Span) ID() string { return string(html.Value(s.Anchor)) }
