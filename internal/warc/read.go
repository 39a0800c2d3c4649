package warc

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/klauspost/compress/gzip"
)

// MaxHeader is the largest header of a record that is read, in bytes.
const MaxHeader = 64 << 10

// ErrDamaged is wrapped by errors that report where a file is not a valid WARC file.
var ErrDamaged = errors.New("not a whole WARC record")

// Record is one record of a file. Its block must be read before the next record is requested.
type Record struct {
	Offset int64   // where it, or its gzip member, begins in the file
	Length int64   // of the record in the file; known after Close
	Size   int64   // of the block: Content-Length; of a Scanner's record certain after Close
	Fields []Field // in order, names as they were written

	// A Scanner's record may be one of several in a gzip member. Within is how many bytes,
	// unpacked, are before it there, and Length then is its length, unpacked, and that of the first
	// as well.
	Within  int64
	Version string // its first line

	r    *Reader
	scan *scan // of a Scanner
	left int64 // of the block
	in   io.Reader
	done bool
	err  error
}

// Get is the value of the first field of this name, in any case, or "".
func (rec *Record) Get(name string) string {
	for i := range rec.Fields {
		if strings.EqualFold(rec.Fields[i].Name, name) {
			return rec.Fields[i].Value
		}
	}
	return ""
}

// Type is the type of the record.
func (rec *Record) Type() string { return strings.ToLower(rec.Get("WARC-Type")) }

// Answer reports whether an index has a line for the record.
func (rec *Record) Answer() bool {
	kind := rec.Type()
	return kind == Response || kind == Revisit || kind == Resource
}

// URI is the record's target, without the angle brackets that older writers put around it.
func (rec *Record) URI() string {
	s := rec.Get("WARC-Target-URI")
	if strings.HasPrefix(s, "<") && strings.HasSuffix(s, ">") {
		s = s[1 : len(s)-1]
	}
	return s
}

// Reader reads a WARC file from its beginning. It is not safe for concurrent use.
type Reader struct {
	src *counter
	br  *bufio.Reader
	z   *gzip.Reader
	cur *Record
}

type counter struct {
	r   io.Reader
	n   int64
	err error // the read error
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if c.n += int64(n); err != nil && err != io.EOF {
		c.err = err
	}
	return n, err
}

// NewReader returns a Reader of r.
func NewReader(r io.Reader) *Reader {
	src := &counter{r: r}
	return &Reader{src: src, br: bufio.NewReaderSize(src, 64<<10)}
}

func (r *Reader) offset() int64 { return r.src.n - int64(r.br.Buffered()) }

// Next returns the next record, or io.EOF after the last one. It closes the previous one. An error
// that wraps ErrDamaged means that the file is not a valid WARC file from there on; any other error
// is a read error.
func (r *Reader) Next() (*Record, error) {
	if r.cur != nil {
		if err := r.cur.Close(); err != nil {
			return nil, err
		}
	}
	first, err := r.br.Peek(2)
	if len(first) == 0 {
		if err == io.EOF {
			return nil, io.EOF
		}
		return nil, err
	}
	rec := &Record{Offset: r.offset(), r: r, in: r.br}
	r.cur = rec
	if len(first) == 2 && first[0] == 0x1f && first[1] == 0x8b {
		if r.z == nil {
			r.z = new(gzip.Reader)
		}
		if err := r.z.Reset(r.br); err != nil {
			return nil, rec.damaged(err)
		}
		r.z.Multistream(false)
		rec.in = r.z
	}
	if err := rec.head(); err != nil {
		return nil, err
	}
	return rec, nil
}

// damaged sets the error of the record. A read error is not damage.
func (rec *Record) damaged(why any) error {
	if err := rec.r.src.err; err != nil {
		rec.done, rec.err = true, fmt.Errorf("the record at byte %d: %w", rec.Offset, err)
		return rec.err
	}
	if err, ok := why.(error); ok && errors.Is(err, io.EOF) {
		why = io.ErrUnexpectedEOF
	}
	rec.done, rec.err = true, fmt.Errorf("%w at byte %d: %v", ErrDamaged, rec.Offset, why)
	return rec.err
}

// head reads the version and the fields.
func (rec *Record) head() error {
	limit, size := MaxHeader, ""
	line := func() (string, error) {
		s, err := readLine(rec.in, &limit)
		if err != nil {
			err = rec.damaged(err)
		}
		return s, err
	}
	version, err := line()
	if err != nil {
		return err
	}
	if !strings.HasPrefix(version, "WARC/1.") && !strings.HasPrefix(version, "WARC/0.") {
		return rec.damaged(fmt.Sprintf("it begins with %.20q", version))
	}
	rec.Version = version
	var folded []string // the continuation lines of the last field
	unfold := func() {
		if len(folded) > 0 {
			last := &rec.Fields[len(rec.Fields)-1]
			last.Value = strings.TrimSpace(last.Value + " " + strings.Join(folded, " "))
			folded = folded[:0]
		}
	}
	for {
		s, err := line()
		switch {
		case err != nil:
			return err
		case s == "":
			unfold()
			if size = rec.Get("Content-Length"); size == "" {
				return rec.damaged("it has no Content-Length")
			}
			if rec.Size, err = strconv.ParseInt(size, 10, 64); err != nil || rec.Size < 0 {
				return rec.damaged(fmt.Sprintf("its Content-Length is %.20q", size))
			}
			rec.left = rec.Size
			return nil
		case s[0] == ' ' || s[0] == '\t':
			if len(rec.Fields) == 0 {
				return rec.damaged("a continuation line has no line before it")
			}
			if s = strings.TrimSpace(s); s != "" {
				folded = append(folded, s)
			}
			continue
		}
		unfold()
		name, value, ok := strings.Cut(s, ":")
		if !ok || !isToken(name) {
			return rec.damaged(fmt.Sprintf("%.40q is not a named field", s))
		}
		rec.Fields = append(rec.Fields, Field{name, strings.Trim(value, " \t")})
	}
}

var errLongHeader = fmt.Errorf("its header is longer than %d bytes", MaxHeader)

// readLine reads a line byte by byte, so that nothing after it is consumed. r is buffered.
func readLine(r io.Reader, limit *int) (string, error) {
	var line []byte
	var one [1]byte
	for {
		if *limit--; *limit < 0 {
			return "", errLongHeader
		}
		if _, err := io.ReadFull(r, one[:]); err != nil {
			return "", err
		}
		if one[0] == '\n' {
			return strings.TrimSuffix(string(line), "\r"), nil
		}
		line = append(line, one[0])
	}
}

// Read reads from the block.
func (rec *Record) Read(p []byte) (int, error) {
	switch {
	case rec.err != nil:
		return 0, rec.err
	case rec.scan != nil && !rec.done && len(p) > 0:
		return rec.readScan(p)
	case rec.left == 0 || rec.done:
		return 0, io.EOF
	case len(p) == 0:
		return 0, nil
	}
	n, err := rec.in.Read(p[:min(int64(len(p)), rec.left)])
	rec.left -= int64(n)
	if err != nil && rec.left > 0 {
		return n, rec.damaged(err)
	}
	return n, nil
}

// Close reads the rest of the record, and checks that it ends correctly.
func (rec *Record) Close() error {
	if rec.done {
		return rec.err
	}
	if rec.scan != nil {
		return rec.closeScan()
	}
	if _, err := io.Copy(io.Discard, rec); err != nil {
		return err
	}
	var end [4]byte
	if _, err := io.ReadFull(rec.in, end[:]); err != nil {
		return rec.damaged(err)
	}
	if string(end[:]) != "\r\n\r\n" {
		return rec.damaged("its block does not end after Content-Length bytes")
	}
	if rec.in == io.Reader(rec.r.z) {
		// The member's checksum follows its data.
		switch n, err := rec.in.Read(end[:1]); {
		case n > 0:
			return rec.damaged("its gzip member continues after it")
		case err != io.EOF:
			return rec.damaged(err)
		}
	}
	rec.done, rec.Length = true, rec.r.offset()-rec.Offset
	return nil
}

// Whole returns the length of the complete records at the beginning of a file, whose checksums it
// verifies, and their number. An error that wraps ErrDamaged describes what follows them, such as a
// record that was being written; nil means that nothing follows.
func Whole(r io.Reader) (length int64, records int, err error) {
	in := NewReader(r)
	for {
		rec, err := in.Next()
		if err == nil {
			err = rec.Close()
		}
		switch {
		case err == io.EOF:
			return length, records, nil
		case err != nil:
			return length, records, err
		}
		length, records = rec.Offset+rec.Length, records+1
	}
}

// is reports whether a field has a name, in any case.
func is(f Field, name string) bool { return strings.EqualFold(f.Name, name) }
