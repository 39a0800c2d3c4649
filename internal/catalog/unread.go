package catalog

import (
	"bytes"
	"encoding/json"

	"github.com/curtsy/curtsy/internal/lenientjson"
	"github.com/curtsy/curtsy/internal/rdf"
)

// A document that could not be read whole is reported with the datasets: in a third part of the
// text of a page, in a part of its own of a catalogue that was read in parts, and by reading a
// short document again.

// maxUnread is how many bytes of such a report are kept.
const maxUnread = 1 << 10

// WithUnread returns the result of PageText with a report of what could not be read in the page. An
// empty report changes nothing.
func WithUnread(text []byte, why string) []byte {
	if why == "" {
		return text
	}
	if !bytes.Contains(text, []byte{headerMark}) {
		text = append(text[:len(text):len(text)], headerMark)
	}
	return append(append(text[:len(text):len(text)], headerMark), Shorten(why, maxUnread)...)
}

// UnreadPart returns a part of a catalogue that reports what could not be read in it.
func UnreadPart(why string) []byte {
	return append([]byte{headerMark}, Shorten(why, maxUnread)...)
}

// Unread returns why a document that Cut or CutRDF has read was not read whole, and at which bytes,
// or "" if it was.
func (s *Summary) Unread() string {
	if s.RDF.Lost > 0 {
		return s.RDF.String()
	}
	if !s.JSON.Whole() {
		return s.JSON.String()
	}
	return ""
}

// Unread returns why a document could not be read whole, and at which bytes, or "" if it was. text
// is what ReadJSON reads of it, or a result of UnreadPart, or for a page what ReadPage reads.
func Unread(text []byte, d Document) string {
	if d.Page {
		_, rest, _ := bytes.Cut(text, []byte{headerMark})
		_, why, _ := bytes.Cut(rest, []byte{headerMark})
		return string(why)
	}
	if why, ok := bytes.CutPrefix(text, []byte{headerMark}); ok {
		return string(why)
	}
	var s Summary
	if format := rdf.FormatOf(d.Type); format != rdf.Unknown {
		s.RDF, _ = rdf.Read(bytes.NewReader(text), format, d.URL, func(rdf.Triple) error { return nil })
	} else if text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")); !json.Valid(text) {
		_, s.JSON = lenientjson.Fix(text, isList)
	}
	return s.Unread()
}
