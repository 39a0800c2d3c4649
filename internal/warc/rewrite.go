package warc

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
)

// writers are kept, because making one takes longer than compressing most records.
var writers = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

// Rewrite writes a record of a Scanner as the standard has it, in a gzip member of its own if
// packed. Its block, of which nothing may have been read, has size bytes. The fields stay but for
// their line ends, Content-Length, a WARC-Date in another form, and a missing WARC-Record-ID, which
// is made of the record's position and its other fields.
func (rec *Record) Rewrite(w io.Writer, size int64, packed bool) error {
	if !packed {
		to := bufio.NewWriter(w)
		if err := rec.rewrite(to, size); err != nil {
			return err
		}
		return to.Flush()
	}
	z := writers.Get().(*gzip.Writer)
	defer writers.Put(z)
	z.Reset(w)
	if err := rec.rewrite(z, size); err != nil {
		return err
	}
	return z.Close()
}

func (rec *Record) rewrite(w io.Writer, size int64) error {
	var head strings.Builder
	line := func(name, value string) { head.WriteString(name + ": " + value + "\r\n") }
	head.WriteString(rec.Version + "\r\n")
	parts := []string{strconv.FormatInt(rec.Offset, 10), strconv.FormatInt(rec.Within, 10)}
	length, id := false, rec.Get("WARC-Record-ID") != ""
	for _, f := range rec.Fields {
		parts = append(parts, f.Name, f.Value)
		switch {
		case is(f, "Content-Length"):
			if length {
				continue // another one
			}
			length, f.Value = true, strconv.FormatInt(size, 10)
		case is(f, "WARC-Record-ID") && f.Value == "" && !id:
			continue
		case is(f, "WARC-Date"):
			if at, strict, ok := date(f.Value); ok && !strict {
				f.Value = Time(at)
			}
		}
		line(f.Name, f.Value)
	}
	if !id {
		line("WARC-Record-ID", ID(parts...))
	}
	if !length {
		line("Content-Length", strconv.FormatInt(size, 10))
	}
	if _, err := io.WriteString(w, head.String()+"\r\n"); err != nil {
		return err
	}
	if n, err := io.Copy(w, rec); err != nil || n != size {
		return fmt.Errorf("the record at byte %d: %d bytes of %d: %w", rec.Offset, n, size, cmp.Or(err, io.ErrUnexpectedEOF))
	}
	_, err := io.WriteString(w, recordEnd)
	return err
}
