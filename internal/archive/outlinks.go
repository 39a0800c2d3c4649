package archive

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/curtsy/curtsy/internal/warc"
	"github.com/curtsy/curtsy/pkg/canon"
)

// The metadata of a page that stays names other URLs: where the page leads, and where it was found.
// Forgotten URLs are removed from these lines as well. The answers of such pages stay unchanged.

// naming are the prefixes of lines of metadata that name other URLs.
var naming = [][]byte{[]byte("outlink: "), []byte("via: ")}

// hiddenLine reports whether a line names a hidden URL.
func hiddenLine(line []byte, hides func(canon.URL) bool) bool {
	for _, name := range naming {
		if u, ok := bytes.CutPrefix(line, name); ok {
			return hides(canon.URL(bytes.TrimRight(u, "\r\n")))
		}
	}
	return false
}

// unnamed returns a block of metadata without the lines that name a hidden URL, and the number of
// these lines.
func unnamed(block []byte, hides func(canon.URL) bool) (kept []byte, gone int) {
	for line := range bytes.Lines(block) {
		if hiddenLine(line, hides) {
			gone++
			continue
		}
		kept = append(kept, line...)
	}
	return kept, gone
}

// errNamed ends a search when a hidden URL was found.
var errNamed = errors.New("it has a name")

// named reports whether a file of ours contains a hidden URL. It reads the index, and the metadata
// records, which are between the answers of the index. It returns an error if the index does not
// match the file.
func named(path string, hides func(canon.URL) bool) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return false, err
	}
	var answers []stretch
	err = readIndex(path, func(e warc.Entry) error {
		if hides(canon.URL(e.URL)) {
			return errNamed
		}
		answers = append(answers, stretch{e.Offset, e.Offset + e.Length})
		return nil
	})
	if err != nil {
		return err == errNamed, err
	}
	in := warc.NewReader(&between{f: f, answers: sorted(answers), end: info.Size()})
	for {
		rec, err := in.Next()
		if err == io.EOF {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if rec.Type() != warc.Metadata {
			continue
		}
		block, err := io.ReadAll(rec)
		if err != nil {
			return false, err
		}
		for line := range bytes.Lines(block) {
			if hiddenLine(line, hides) {
				return true, nil
			}
		}
	}
}

// stretch is a part of a file.
type stretch struct{ from, to int64 }

func sorted(all []stretch) []stretch {
	slices.SortFunc(all, func(a, b stretch) int { return cmp.Compare(a.from, b.from) })
	return all
}

// between reads a file without its answers.
type between struct {
	f       io.ReaderAt
	answers []stretch // that are still to come
	at, end int64
}

func (b *between) Read(p []byte) (int, error) {
	for len(b.answers) > 0 && b.at >= b.answers[0].from {
		if b.at > b.answers[0].from {
			return 0, fmt.Errorf("its index has two responses at byte %d", b.at)
		}
		b.at, b.answers = b.answers[0].to, b.answers[1:]
	}
	to := b.end
	if b.at > to {
		return 0, fmt.Errorf("its index ends at byte %d, but the file ends at %d", b.at, to)
	}
	if len(b.answers) > 0 {
		to = min(to, b.answers[0].from)
	}
	if b.at >= to {
		return 0, io.EOF
	}
	n, err := b.f.ReadAt(p[:min(int64(len(p)), to-b.at)], b.at)
	b.at += int64(n)
	if n > 0 {
		err = nil
	}
	return n, err
}

// renamed makes a record of metadata again with another block.
func renamed(enc *warc.Encoder, rec *warc.Record, block []byte) ([]byte, error) {
	var fields []warc.Field
	for _, f := range rec.Fields {
		switch f.Name {
		case "Content-Length": // the encoder adds it
			continue
		case "WARC-Block-Digest":
			f.Value = warc.Digest(block)
		}
		fields = append(fields, f)
	}
	var to bytes.Buffer
	err := enc.Append(&to, fields, warc.Piece{Text: block})
	return to.Bytes(), err
}
