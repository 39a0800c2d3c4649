package reading

import (
	"bytes"
	"iter"
	"strconv"
	"strings"
)

// maxFields is how many lines a head has at most.
const maxFields = 256

// Head is the head of a document, as the host's function head returns it: lines of a name, ": " and
// a value. The first line is the status.
type Head []byte

// All returns the lines after the status, in their order. A name may come several times.
func (h Head) All() iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		for i, line := 0, []byte(nil); len(h) > 0; i++ {
			line, h = cutLine(h)
			name, value, _ := bytes.Cut(line, []byte(": "))
			if i > 0 && !yield(string(name), string(value)) {
				return
			}
		}
	}
}

// Get returns the value of the first line with a name, in any case, or "".
func (h Head) Get(name string) string {
	for n, v := range h.All() {
		if equalFold(n, name) {
			return v
		}
	}
	return ""
}

// Status returns the HTTP status of the document: 200, unless the host asks the site's own server.
// It is 0 if the head is not valid.
func (h Head) Status() int {
	line, _ := cutLine(h)
	text, ok := bytes.CutPrefix(line, []byte(StatusLine+": "))
	n, err := strconv.ParseUint(string(text), 10, 16)
	if !ok || err != nil || len(text) != 3 || n < 100 || n > 599 {
		return 0
	}
	return int(n)
}

// Truncated reports whether the body was cut at the size that the input gave.
func (h Head) Truncated() bool { return h.Get(TruncatedLine) == "yes" }

// Plain reports whether the head has nothing but the status 200, Content-Type, Content-Length and
// Last-Modified. Unchanged documents with such a head are joined in lists.
func (h Head) Plain() bool {
	for name := range h.All() {
		if !equalFold(name, "Content-Type") && !equalFold(name, "Content-Length") && !equalFold(name, "Last-Modified") {
			return false
		}
	}
	return h.Status() == 200
}

// valid reports whether the head is one that a record may have.
func (h Head) valid() bool {
	if h.Status() == 0 || len(h) > MaxHead {
		return false
	}
	for n, line := 0, []byte(nil); len(h) > 0; n++ {
		line, h = cutLine(h)
		if n == maxFields || !validLine(line) {
			return false
		}
	}
	return true
}

// AppendLines appends those lines of a host's head that a record may have. Whether there is a
// status, Status reports.
func AppendLines(dst Head, head []byte) Head {
	from := len(dst)
	for n, line := 0, []byte(nil); len(head) > 0 && n < maxFields-1; {
		// One line of TruncatedLine may still follow.
		line, head = cutLine(head)
		if validLine(line) && len(dst)-from+len(line)+1 <= MaxHead-len(TruncatedLine+": yes\n") {
			dst = append(append(dst, line...), '\n')
			n++
		}
	}
	return dst
}

func validLine(line []byte) bool {
	name, value, ok := bytes.Cut(line, []byte(": "))
	if !ok || len(name) == 0 {
		return false
	}
	for _, c := range name {
		// RFC 9110 §5.6.2
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return false
		}
	}
	for _, c := range value {
		if c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

func cutLine(b []byte) (line, rest []byte) {
	line, rest, _ = bytes.Cut(b, []byte("\n"))
	return line, rest
}

func equalFold(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		if lower(a[i]) != lower(b[i]) {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
