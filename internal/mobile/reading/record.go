package reading

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
)

// Kind is what a record contains. It is the first octet of the record.
type Kind byte

// The kinds.
const (
	// Document has a path, a head, and the body.
	Document Kind = 'D'
	// Skeleton is a page that its robots tags close to indexing. Instead of its body it has those
	// of its tags that a crawl needs: robots tags, links and the like.
	Skeleton Kind = 'S'
	// Unchanged is a document that the input knows. It has a path and a head.
	Unchanged Kind = 'U'
	// UnchangedList has the paths of documents that the input knows, and whose heads have nothing
	// of interest.
	UnchangedList Kind = 'u'
	// FactsOf has what is on a document, as one line of JSON: PageFacts.
	FactsOf Kind = 'F'
	// EndOfList is the last record, with the counts. Without it the robot has not seen everything.
	EndOfList Kind = 'E'
)

// Limits of a record.
const (
	MaxHead  = 64 << 10 // octets of a head
	MaxList  = 32 << 10 // octets of a list of unchanged documents
	MaxFacts = 4 << 20  // octets of the JSON of facts
)

// Names of lines of a head.
const (
	StatusLine = "Status"
	// TruncatedLine has the value "yes" if the body was cut at the input's MaxSize.
	TruncatedLine = "Curtsy-Truncated"
)

// ErrRecord means that a record cannot be read. It is wrapped with the reason.
var ErrRecord = errors.New("not a record of a page reader")

// Record is what the robot sends of one document, or of several that are unchanged. Which fields it
// has depends on its kind.
type Record struct {
	Kind  Kind
	Path  string   // Document, Skeleton and Unchanged
	Head  Head     // the same
	Body  []byte   // Document and Skeleton
	Paths []string // UnchangedList
	Facts []byte   // FactsOf: a line of JSON, which was not parsed
	End   Counts   // EndOfList
}

// Counts are what a robot did.
type Counts struct {
	Listed    int64 // documents in the list of the host
	Sent      int64 // documents, skeletons and facts
	Unchanged int64
	LeftOut   int64 // of another type, unreadable, or beyond MaxPages
}

// PageFacts are what is on a document, as the JSON of a record of kind FactsOf has it.
type PageFacts struct {
	Path         string   `json:"path"`
	Status       int      `json:"status"`
	Type         string   `json:"type,omitempty"` // the Content-Type
	LastModified string   `json:"last_modified,omitempty"`
	Digest       string   `json:"digest"` // of the body: its SHA-256 in hexadecimal digits
	Size         int64    `json:"size"`   // of the body in octets
	Truncated    bool     `json:"truncated,omitempty"`
	Title        string   `json:"title,omitempty"`
	Description  string   `json:"description,omitempty"`
	Language     string   `json:"language,omitempty"`
	Base         string   `json:"base,omitempty"`      // of links, if the page has one
	Canonical    string   `json:"canonical,omitempty"` // the page's name for itself
	Tags         []string `json:"tags,omitempty"`      // its robots tags, such as noindex
	Links        []string `json:"links,omitempty"`     // as the page has them
	Text         string   `json:"text,omitempty"`      // what a reader sees
}

// ParseRecord reads a record. Head, Body and Facts alias b.
func ParseRecord(b []byte) (Record, error) {
	if len(b) == 0 {
		return Record{}, &refusal{ErrRecord, "it is empty"}
	}
	r := Record{Kind: Kind(b[0])}
	rest, why := b[1:], ""
	switch r.Kind {
	case Document, Skeleton, Unchanged:
		why = r.page(rest)
	case UnchangedList:
		r.Paths, why = paths(rest)
	case FactsOf:
		r.Facts = rest
		if len(rest) > MaxFacts || len(rest) < 2 || rest[0] != '{' || rest[len(rest)-1] != '}' || bytes.IndexByte(rest, '\n') >= 0 {
			why = "its facts are not a line of JSON of up to 4 MiB"
		}
	case EndOfList:
		why = r.counts(string(rest[:min(len(rest), 256)]))
	default:
		why = "its kind is unknown"
	}
	if why != "" {
		return Record{}, &refusal{ErrRecord, why}
	}
	return r, nil
}

// page reads path, head and body, and says what is wrong with them.
func (r *Record) page(b []byte) string {
	end := bytes.IndexByte(b[:min(len(b), MaxPath+1)], '\n')
	if end < 0 {
		return "its path does not end"
	}
	r.Path = string(b[:end])
	if !validPath(r.Path) {
		return "its path is not one in canonical spelling"
	}
	b = b[end+1:]
	end = bytes.Index(b[:min(len(b), MaxHead+1)], []byte("\n\n"))
	if end < 0 {
		return "its head does not end within 64 KiB"
	}
	r.Head, r.Body = Head(b[:end+1]), b[end+2:]
	switch {
	case !r.Head.valid():
		return "its head is not a status and lines of a name and a value"
	case r.Kind == Unchanged && len(r.Body) > 0:
		return "an unchanged document has a body"
	case len(r.Body) > MaxBody:
		return "its body has more than 31 MiB"
	}
	return ""
}

// paths reads a list of paths.
func paths(b []byte) (list []string, why string) {
	if len(b) == 0 || len(b) > MaxList || b[len(b)-1] != 0 {
		return nil, "its list is empty, longer than 32 KiB, or does not end with NUL"
	}
	for p := range strings.SplitSeq(string(b[:len(b)-1]), "\x00") {
		if !validPath(p) {
			return nil, "a path is not one in canonical spelling"
		}
		list = append(list, p)
	}
	return list, ""
}

func (r *Record) counts(s string) string {
	p := parser{rest: s}
	p.skip(`{"listed":`)
	r.End.Listed = p.number()
	p.skip(`,"sent":`)
	r.End.Sent = p.number()
	p.skip(`,"unchanged":`)
	r.End.Unchanged = p.number()
	p.skip(`,"left_out":`)
	r.End.LeftOut = p.number()
	p.skip(`}`)
	if p.failed || p.rest != "" {
		return "its counts have other fields, or another order or spelling"
	}
	return ""
}

// Append appends the octets of a record. It is for tests and for hosts that are simulated: what it
// appends can be parsed only if the fields are valid.
func (r *Record) Append(dst []byte) []byte {
	switch r.Kind {
	case UnchangedList:
		dst = append(dst, byte(r.Kind))
		for _, p := range r.Paths {
			dst = append(append(dst, p...), 0)
		}
		return dst
	case FactsOf:
		return append(append(dst, byte(r.Kind)), r.Facts...)
	case EndOfList:
		return r.End.Append(dst)
	}
	return append(AppendHead(dst, r.Kind, r.Path, r.Head), r.Body...)
}

// AppendHead appends a Document, Skeleton or Unchanged up to its body, which the caller appends.
// The head has whole lines.
func AppendHead(dst []byte, kind Kind, path string, head Head) []byte {
	dst = append(append(append(dst, byte(kind)), path...), '\n')
	return append(append(dst, head...), '\n')
}

// AppendUnchanged appends a path to an UnchangedList, and begins the list if it is empty. It
// reports whether the path still fits; otherwise the list is as it was.
func AppendUnchanged(list []byte, path string) ([]byte, bool) {
	if len(list) == 0 {
		list = append(list, byte(UnchangedList))
	}
	if len(list)+len(path)+1 > 1+MaxList {
		return list, false
	}
	return append(append(list, path...), 0), true
}

// Append appends the record at the end.
func (c Counts) Append(dst []byte) []byte {
	dst = strconv.AppendInt(append(dst, string(EndOfList)+`{"listed":`...), c.Listed, 10)
	dst = strconv.AppendInt(append(dst, `,"sent":`...), c.Sent, 10)
	dst = strconv.AppendInt(append(dst, `,"unchanged":`...), c.Unchanged, 10)
	dst = strconv.AppendInt(append(dst, `,"left_out":`...), c.LeftOut, 10)
	return append(dst, '}')
}
