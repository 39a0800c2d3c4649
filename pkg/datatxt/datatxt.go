// Package datatxt reads /data.txt, the file in which a site lists its
// datasets.
//
// Two forms are published under that name, and Parse takes both: records in
// the manner of the robots.txt of 1996 (User-agent, Allow, Disallow, and lines
// that describe what was allowed), as the datatxt specification prints them,
// and the YAML list of datatxt.org and the pins packages:
//
//   - path: iris/data.csv
//     title: Measurements of iris flowers
//     rows: 150
//
// Parse returns a [File] with its datasets, or an error when the whole file is
// refused; what is odd in one line or entry costs only that, and is reported in
// File.Diagnostics. [File.Allowed] answers for the access rules of the records
// form, which bind dataset fetches only.
//
// Around the parser stand the decisions of a client that has no opinion of its
// own: [StateOf] a response status, whether a body is [Usable], its [Lifetime],
// which nested files may be asked for ([File.Nested]) and what they add
// ([Fill]).
//
// The package opens no connection and reads no clock. A File is not changed
// after Parse (Stamp excepted) and may then be shared. Clause numbers in
// comments without a name are those of docs/formats.md.
package datatxt

import (
	"errors"
	"fmt"
	"net/url"
	"time"
)

// Limits of one file (formats §0, §5.4).
const (
	// MaxSize is how many bytes of a body are read. A longer YAML file is refused; of a longer
	// file of records the lines that fit are read. To show that a body was longer, pass at
	// least one byte more.
	MaxSize = 1 << 20
	// MaxEntries is how many entries a YAML list may have before the file is
	// refused, and how many datasets are taken from records.
	MaxEntries = 10_000
	// MaxDepth is how deep YAML collections may nest before the file is
	// refused; the outermost counts as one.
	MaxDepth = 16

	// maxURLs is how many paths of YAML entries are taken: an entry may list many, and each becomes
	// as long as the base and itself together.
	maxURLs = 10 * MaxEntries
)

// Why a whole file is refused; Error wraps one of these. After all of them except ErrNotDataTxt an
// earlier copy stays in use (formats §5.4).
var (
	// ErrNotDataTxt: neither form is recognised (formats §5.2).
	ErrNotDataTxt = errors.New("not a data.txt")
	// ErrAnchor: the YAML holds an anchor, an alias or a merge key.
	ErrAnchor = errors.New("YAML anchors, aliases and merge keys are not supported")
	// ErrSyntax: the YAML is broken, tabs as indentation included.
	ErrSyntax = errors.New("broken YAML")
	// ErrLimit: the YAML exceeds MaxSize, MaxEntries or MaxDepth.
	ErrLimit = errors.New("limit exceeded")
)

// Error says why and where a whole file is refused.
type Error struct {
	Err    error  // one of the Err… values above
	Line   int    // from 1, or 0 if unknown
	Detail string // may be empty
}

// Error says where and why, in one line: "data.txt: line 3: broken YAML".
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

// Form is how a file is written.
type Form string

// The two forms.
const (
	Records Form = "records"
	YAML    Form = "yaml"
)

// File is what one data.txt says to us.
type File struct {
	Form        Form
	URL         string // where it was read from: the base of its relative paths
	Datasets    []Dataset
	Diagnostics []Diagnostic // at most a hundred
	Skipped     int          // how many oddities there were, reported or not

	base  *url.URL
	rules *rules // of the record that addresses us; nil allows all
	urls  int    // how many paths were resolved, against maxURLs
}

// Diagnostic is something odd in one line or entry.
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

// Types a dataset has when its file names none (formats §5.3, §5.4).
const (
	TypeFiles = "files" // the URLs are files
	// the URL is a prefix under which datasets lie, and is not fetched as a file
	TypeLocation = "location"
)

// Dataset is one dataset record (formats §5.4). Text that the file does not give is
// empty; all text is valid UTF-8, and untrusted.
type Dataset struct {
	URLs        []string // absolute http or https URLs without fragment, at least one
	Name        string   // by default the last non-empty segment of the first URL's path
	Title       string
	Description string
	License     string
	Type        string // by default TypeFiles, or TypeLocation
	Source      string
	Rows, Cols  *int64 // nil if absent or no integer >= 0
	RowsText    string // as written
	ColsText    string
	Columns     []Column
	Extra       []Field // every other key, in order

	NameImplied bool // Name is the default; the file gives none
	TypeImplied bool // and so is Type

	Origin string // origin of the data.txt, port always given: https://d.example:443
	Line   int    // of the entry in the data.txt, from 1
	// a URL is on another host than the data.txt; only that host's robots.txt rules there
	External bool
	// the data.txt's own rules allow every URL; robots.txt is for the caller to check
	Allowed bool
	Fetched time.Time // see Stamp
	Expires time.Time
}

// Column describes one column of a table.
type Column struct {
	Name, Type, Description string
}

// Field is a key that Dataset has no field for, kept as written.
type Field struct {
	Name  string
	Value Value
	Line  int // from 1
}

// Value is a piece of data as text: exactly one of a scalar's Text, a List or a
// Map. Text is never interpreted: "no", "007" and "2020-01-01" stay what they are.
type Value struct {
	Text string  `json:",omitempty"`
	List []Value `json:",omitempty"`
	Map  []Field `json:",omitempty"`
}

// Parse reads the body of a data.txt. base is the URL it finally came from,
// after redirects; token is our product token, which selects a record in the
// records form. The error, if any, is an *Error: the whole file is refused and
// an earlier copy stays in use. Parse takes time linear in the body.
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

// Stamp notes in every dataset when the file was fetched and how long it is
// valid, as Lifetime says.
func (f *File) Stamp(fetched time.Time, lifetime time.Duration) {
	for i := range f.Datasets {
		f.Datasets[i].Fetched = fetched
		f.Datasets[i].Expires = fetched.Add(lifetime)
	}
}
