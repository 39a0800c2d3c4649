package warc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/curtsy/curtsy/pkg/canon"
)

// Entry is a line of a CDXJ index: the position of an answer, by the key of its URL and its time.
// Indexes contain responses, revisits and resources, and are sorted as bytes.
type Entry struct {
	Key      string `json:"-"` // of the URL: see Key
	Time     string `json:"-"` // 14 digits, UTC
	URL      string `json:"url"`
	Mime     string `json:"mime,omitempty"` // of the payload; warc/revisit for a revisit
	Status   string `json:"status,omitempty"`
	Digest   string `json:"digest,omitempty"` // of the payload
	Length   int64  `json:"length,string"`    // of the record in the file, compressed
	Offset   int64  `json:"offset,string"`
	Filename string `json:"filename"`
	// Within is Record.Within: other programs do not write it, and ignore it.
	Within int64 `json:"within,string,omitempty"`
}

// MimeRevisit replaces the media type of a revisit.
const MimeRevisit = "warc/revisit"

// Stamp formats a time for an index.
func Stamp(t time.Time) string { return t.UTC().Format("20060102150405") }

// Append appends the line.
func (e *Entry) Append(b []byte) []byte {
	b = append(append(append(append(b, e.Key...), ' '), e.Time...), " {"...)
	text := func(name, s string, needed bool) {
		if s != "" || needed {
			b = append(append(append(b, '"'), name...), "\":"...)
			b = append(appendText(b, s), ',')
		}
	}
	text("url", e.URL, true)
	text("mime", e.Mime, false)
	text("status", e.Status, false)
	text("digest", e.Digest, false)
	b = strconv.AppendInt(append(b, `"length":"`...), e.Length, 10)
	b = strconv.AppendInt(append(b, `","offset":"`...), e.Offset, 10)
	b = appendText(append(b, `","filename":`...), e.Filename)
	if e.Within > 0 {
		b = append(strconv.AppendInt(append(b, `,"within":"`...), e.Within, 10), '"')
	}
	return append(b, "}\n"...)
}

// appendText appends a text as JSON. Most texts have nothing to escape.
func appendText(b []byte, s string) []byte {
	if !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }) {
		return append(append(append(b, '"'), s...), '"')
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s)
	return append(b, bytes.TrimSuffix(text.Bytes(), []byte("\n"))...)
}

// errEntry means that a line has not the form of an index line.
var errEntry = errors.New("warc: not a line of a CDXJ index")

// ParseEntry reads a line.
func ParseEntry(line []byte) (e Entry, err error) {
	key, rest, _ := bytes.Cut(bytes.TrimRight(line, "\r\n"), []byte(" "))
	stamp, text, ok := bytes.Cut(rest, []byte(" "))
	if !ok || len(stamp) < 14 || len(bytes.Trim(stamp, "0123456789")) > 0 {
		return e, fmt.Errorf("%w: %.80q", errEntry, line)
	}
	if err := json.Unmarshal(text, &e); err != nil || e.Offset < 0 || e.Length < 0 || e.Within < 0 {
		return e, fmt.Errorf("%w: %.80q", errEntry, line)
	}
	e.Key, e.Time = string(key), string(stamp)
	return e, nil
}

// Key is the form of a URL by which indexes are sorted (canon.URL.SURT). A text that is not a URL
// for a crawler is its own key, without spaces.
func Key(raw string) string {
	if u, err := canon.Parse(raw); err == nil {
		return u.SURT()
	}
	return strings.ToLower(strings.Join(strings.Fields(raw), "%20"))
}

// indexHead is how many bytes of a response are searched for its head.
const indexHead = 64 << 10

// Entries calls each for the answers in a file by any program, in the order of its records, as a
// Scanner finds them. If something in the file is damaged, the error wraps ErrDamaged, after all
// answers that can be read.
func Entries(r io.Reader, filename string, each func(Entry) error) error {
	in := NewScanner(r, filename)
	for {
		rec, err := in.Next()
		if err == io.EOF {
			return in.Damage()
		}
		if err != nil {
			return err
		}
		e, ok, err := rec.entry(filename)
		if err == nil {
			err = rec.Close()
		}
		switch {
		case errors.Is(err, ErrDamaged):
			continue // in.Damage has it
		case err != nil:
			return err
		}
		if e.Length = rec.Length; ok {
			if err := each(e); err != nil {
				return err
			}
		}
	}
}

// NoDate is the time in an index of a record whose date cannot be read.
const NoDate = "00000000000000"

// entry is the record's line without its length. ok is false for records that have no line.
func (rec *Record) entry(filename string) (e Entry, ok bool, err error) {
	if !rec.Answer() {
		return e, false, nil
	}
	e = Entry{Time: NoDate, URL: rec.URI(), Digest: rec.Get("WARC-Payload-Digest"), Offset: rec.Offset, Filename: filename, Within: rec.Within}
	e.Key = Key(e.URL)
	if at, _, ok := date(rec.Get("WARC-Date")); ok {
		e.Time = Stamp(at)
	}
	kind := rec.Type()
	if kind == Resource {
		e.DescribeResource(rec.Get("Content-Type"))
		return e, true, nil
	}
	head, err := io.ReadAll(io.LimitReader(rec, indexHead))
	if err != nil {
		return e, false, err
	}
	e.Describe(head, kind == Revisit)
	return e, true, nil
}

// Describe sets the status and the media type from an answer. The head of the answer is sufficient.
func (e *Entry) Describe(answer []byte, revisit bool) {
	m, ok := Split(answer)
	if !ok { // the head has no empty line
		m, _ = Split(append(answer[:len(answer):len(answer)], recordEnd...))
	}
	if n := m.Status(); n > 0 {
		e.Status = strconv.Itoa(n)
	}
	if e.Mime = m.MediaType(); revisit {
		e.Mime = MimeRevisit
	}
}

// DescribeResource sets the media type from the Content-Type of a resource, which has no status.
func (e *Entry) DescribeResource(contentType string) {
	media, _, _ := strings.Cut(contentType, ";")
	e.Mime = strings.TrimSpace(media)
}
