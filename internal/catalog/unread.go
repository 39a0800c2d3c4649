package catalog

import (
	"bytes"
	"encoding/json"

	"github.com/curtsy/curtsy/internal/lenientjson"
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

// Unread returns why a document could not be read whole, and at which bytes, or "" if it was. text
// is what ReadJSON reads, or a result of UnreadPart, or for a page what ReadPage reads.
func Unread(text []byte, page bool) string {
	if page {
		_, rest, _ := bytes.Cut(text, []byte{headerMark})
		_, why, _ := bytes.Cut(rest, []byte{headerMark})
		return string(why)
	}
	if why, ok := bytes.CutPrefix(text, []byte{headerMark}); ok {
		return string(why)
	}
	if text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")); json.Valid(text) {
		return ""
	}
	if _, report := lenientjson.Fix(text, isList); !report.Whole() {
		return report.String()
	}
	return ""
}
