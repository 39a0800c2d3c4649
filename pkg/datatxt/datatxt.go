// Package datatxt reads /data.txt, the file in which a site lists its datasets.
//
// Two forms are published under that name, and Parse accepts both: records in the style of the
// robots.txt of 1996 (User-agent, Allow, Disallow, and lines that describe what was allowed), as in
// the datatxt specification, and the YAML list of datatxt.org and the pins packages:
//
//   - path: iris/data.csv
//     title: Measurements of iris flowers
//     rows: 150
//
// Parse returns a [File] with its datasets, or an error if the whole file is refused. An oddity in
// one line or entry affects only that, and is reported in File.Diagnostics. [File.Allowed] applies
// the access rules of the records form, which concern dataset fetches only.
//
// Other functions make the decisions of a client: [StateOf] a response status, whether a body is
// [Usable], its [Lifetime], which nested files may be requested ([File.Nested]) and what they add
// ([Fill]).
//
// The package opens no connection and reads no clock. A File does not change after Parse (except by
// Stamp) and may then be shared. In comments, "formats" is docs/formats.md.
package datatxt

import (
	"errors"
	"fmt"
	"net/url"
	"time"
)

// Limits of one file (formats §0, §5.4).
const (
	// MaxSize is how many bytes of a body are read. A longer YAML file is refused; of a longer file
	// of records the lines that fit are read. To let Parse notice that a body was longer, pass at
	// least one byte more.
	MaxSize = 1 << 20
	// MaxEntries is how many entries a YAML list may have before the file is refused, and how many
	// datasets are read from records.
	MaxEntries = 10_000
	// MaxDepth is how deeply YAML collections may be nested before the file is refused; the
	// outermost counts as one.
	MaxDepth = 16

	// maxURLs is how many paths of YAML entries are read: an entry may list many, and each resolved
	// URL is as long as the base and the path together.
	maxURLs = 10 * MaxEntries
)

// Why a whole file is refused; Error wraps one of these. After all of them except ErrNotDataTxt, an
// earlier copy stays in use (formats §5.4).
var (
	// ErrNotDataTxt: neither form is recognised (formats §5.2).
	ErrNotDataTxt = errors.New("not a data.txt")
	// ErrAnchor: the YAML contains an anchor, an alias or a merge key.
	ErrAnchor = errors.New("YAML anchors, aliases and merge keys are not supported")
	// ErrSyntax: the YAML is invalid, or uses tabs as indentation.
	ErrSyntax = errors.New("broken YAML")
	// ErrLimit: the YAML exceeds MaxSize, MaxEntries or MaxDepth.
	ErrLimit = errors.New("limit exceeded")
)

// Error describes why and where a whole file is refused.
type Error struct {
	Err    error  // one of the Err… values above
	Line   int    // from 1, or 0 if unknown
	Detail string // may be empty
}

// Error returns where and why, in one line: "data.txt: line 3: broken YAML".
func (e *Error) Error() string {
	s := e.Err.Error()
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	if e.Line > 0 {
		s = fmt.Sprintf("line %d: %s", e.Line, s)
	}
	return "data.txt: " + s
}

// Unwrap returns e.Err, for errors.Is.
func (e *Error) Unwrap() error { return e.Err }

// Form is the form of a file.
type Form string

// The two forms.
const (
	Records Form = "records"
	YAML    Form = "yaml"
)

// File is the content of one data.txt that applies to us.
type File struct {
	Form        Form
	URL         string // its final URL: the base of its relative paths
	Datasets    []Dataset
	Diagnostics []Diagnostic // at most a hundred
	Skipped     int          // number of oddities, reported or not

	base  *url.URL
	rules *rules // of the record that applies to us; nil allows all
	urls  int    // number of resolved paths, limited by maxURLs
}

// Diagnostic describes something odd in one line or entry.
type Diagnostic struct {
	Line   int // from 1
	Reason string
}

const maxDiagnostics = 100

func (f *File) diagnose(line int, format string, args ...any) {
	f.Skipped++
	if len(f.Diagnostics) < maxDiagnostics {
		f.Diagnostics = append(f.Diagnostics, Diagnostic{Line: line, Reason: brief(fmt.Sprintf(format, args...))})
	}
}

// Types of a dataset if its file names none (formats §5.3, §5.4).
const (
	TypeFiles = "files" // the URLs are files
	// the URL is a prefix of datasets, and is not fetched as a file
	TypeLocation = "location"
)

// Dataset is one dataset record (formats §5.4). Missing text is empty; all text is valid UTF-8, and
// untrusted.
type Dataset struct {
	URLs        []string // absolute http or https URLs without fragment, at least one
	Name        string   // by default the last non-empty segment of the first URL's path
	Title       string
	Description string
	License     string
	Type        string // by default TypeFiles, or TypeLocation
	Source      string
	Rows, Cols  *int64 // nil if absent or not an integer >= 0
	RowsText    string // as written
	ColsText    string
	Columns     []Column
	Extra       []Field // every other key, in order

	NameImplied bool // Name is the default, because the file states none
	TypeImplied bool // the same for Type

	Origin string // origin of the data.txt, always with its port: https://d.example:443
	Line   int    // of the entry in the data.txt, from 1
	// a URL is on another host than the data.txt; only that host's robots.txt applies there
	External bool
	// the data.txt's own rules allow every URL; the caller must check robots.txt
	Allowed bool
	Fetched time.Time // see Stamp
	Expires time.Time
}

// Column describes one column of a table.
type Column struct {
	Name, Type, Description string
}

// Field is a key for which Dataset has no field, as written.
type Field struct {
	Name  string
	Value Value
	Line  int // from 1
}

// Value is data as text: exactly one of a scalar's Text, a List or a Map. Text is never
// interpreted: "no", "007" and "2020-01-01" stay unchanged.
type Value struct {
	Text string  `json:",omitempty"`
	List []Value `json:",omitempty"`
	Map  []Field `json:",omitempty"`
}

// Parse parses the body of a data.txt. base is its final URL, after redirects; token is our product
// token, which selects a record in the records form. The error, if any, is an *Error: the whole
// file is refused and an earlier copy stays in use. Parse takes time linear in the body.
func Parse(body []byte, base *url.URL, token string) (*File, error) {
	f := new(File)
	if base != nil {
		u := *base
		u.Fragment, u.RawFragment = "", ""
		f.base, f.URL = &u, u.String()
	}
	whole := len(body) <= MaxSize
	if !whole {
		body = body[:MaxSize]
	}
	text := decode(body)
	form, start := detect(text)
	switch form {
	case Records:
		f.Form = Records
		if !whole {
			text = f.cutLastLine(text)
		}
		f.parseRecords(text, token)
	case YAML:
		f.Form = YAML
		if !whole {
			return nil, &Error{Err: ErrLimit, Detail: fmt.Sprintf("more than %d bytes", MaxSize)}
		}
		if err := f.parseYAML(text, start); err != nil {
			return nil, err
		}
	default:
		return nil, &Error{Err: ErrNotDataTxt, Line: start.line}
	}
	return f, nil
}

// Stamp sets in every dataset when the file was fetched and how long it is valid, as Lifetime
// returns it.
func (f *File) Stamp(fetched time.Time, lifetime time.Duration) {
	for i := range f.Datasets {
		f.Datasets[i].Fetched = fetched
		f.Datasets[i].Expires = fetched.Add(lifetime)
	}
}
