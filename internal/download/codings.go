package download

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
)

// codingsOf returns the content codings of an answer (RFC 9110 §8.4.1), in the order in which they
// were applied. Some servers send them although the request asks for none. Other words are not
// codings: utf-8, none, binary.
func codingsOf(h http.Header) string {
	var list []string
	for name := range strings.SplitSeq(strings.Join(h.Values("Content-Encoding"), ","), ",") {
		switch name = strings.ToLower(strings.Trim(name, " \t\"'")); {
		case name == "x-gzip":
			list = append(list, "gzip")
		case name == "gzip", name == "deflate", name == "br", name == "zstd", unreadable[name]:
			list = append(list, name)
		}
	}
	return strings.Join(list, ", ")
}

// unreadable are registered content codings that nobody here can decode.
var unreadable = map[string]bool{"compress": true, "x-compress": true, "dcb": true, "dcz": true, "exi": true, "pack200-gzip": true, "aes128gcm": true}

// The most that a body may decode to: freeGrowth bytes, or maxGrowth times its length.
const (
	freeGrowth = 64 << 20
	maxGrowth  = 256
)

// errKept means that a body stays encoded, because its bytes are the announced file.
var errKept = errors.New("the encoded bytes are the file")

// decode decodes a complete file that came with content codings, unless the announced digest or
// size is that of the encoded bytes. It returns a remark if it cannot be decoded. If the process
// ends in between, the file is fetched again.
func (t *transfer) decode(ctx context.Context) (remark string, err error) {
	p, encoding := t.p, t.p.st.Encoding
	if encoding == "" {
		return "", nil
	}
	about := &t.file.About
	if digests := p.compare(about); digests == fits || digests == unknown && about.Bytes != nil && *about.Bytes == p.n && p.n > 0 {
		return "", nil
	}
	q := newPart(p.dir, p.st.URL, about)
	q.name = p.name
	if q.f, err = os.CreateTemp(p.dir, ownPrefix+"*.new"); err != nil {
		return "", err
	}
	defer func() {
		if q.f != p.f {
			q.f.Close()
			os.Remove(q.f.Name())
		}
	}()
	var over *end
	var broken *diskError
	switch err := t.decodeTo(ctx, q); {
	case errors.Is(err, errKept):
		return "", nil
	case ctx.Err() != nil:
		return "", ctx.Err()
	case errors.As(err, &over), errors.As(err, &broken):
		return "", err
	case err != nil:
		return fmt.Sprintf("it came with the Content-Encoding %s and cannot be decoded (%v), so it is stored as it came", encoding, err), nil
	}
	if err := errors.Join(q.f.Chmod(0o644), q.f.Sync(), os.Rename(q.f.Name(), filepath.Join(p.dir, p.name+partSuffix))); err != nil {
		return "", err
	}
	p.f.Close()
	p.f, p.n, p.sum, p.announced = q.f, q.n, q.sum, q.announced
	p.st.Encoding, p.st.Validator, p.st.Length = "", "", q.n
	return "", nil
}

// decodeTo writes the decoded bytes of t.p to q.
func (t *transfer) decodeTo(ctx context.Context, q *part) error {
	p := t.p
	for name := range strings.SplitSeq(p.st.Encoding, ", ") {
		if unreadable[name] {
			return errors.New("unknown coding")
		}
	}
	if _, err := p.f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	r, put, err := wire.Decoder(io.LimitReader(p.f, p.n), p.st.Encoding)
	if err != nil {
		return err
	}
	defer put()
	packed := p.compare(&t.file.About) == unknown && gzipName(t.file, p)
	limit := max(int64(freeGrowth), p.n*maxGrowth)
	buf := make([]byte, 64<<10)
	for ctx.Err() == nil {
		n, err := fill(r, buf)
		if q.n == 0 && packed && !isGzip(buf[:n]) {
			return errKept
		}
		switch size := q.n + int64(n); {
		case size > limit:
			return fail("it came with the Content-Encoding %s and decodes to more than %d times its size", p.st.Encoding, maxGrowth)
		case t.j.opt.MaxSize > 0 && size > t.j.opt.MaxSize:
			return t.tooLarge()
		}
		if err := t.j.fits(int64(n)); err != nil {
			return err
		}
		if _, err := q.f.Write(buf[:n]); err != nil {
			return &diskError{err}
		}
		q.count(buf[:n])
		q.n += int64(n)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// diskError is an error that is not the fault of a body.
type diskError struct{ error }

// fill reads until buf is full or r returns an error.
func fill(r io.Reader, buf []byte) (n int, err error) {
	for n < len(buf) && err == nil {
		var m int
		m, err = r.Read(buf[n:])
		n += m
	}
	return n, err
}

// gzipName reports whether a file is called a gzip file by its catalogue, its URL or its type. Old
// servers send such a file with the Content-Encoding gzip, although the file itself has it.
func gzipName(f *File, p *part) bool {
	if !strings.HasSuffix(p.st.Encoding, "gzip") {
		return false
	}
	for _, kind := range []string{f.About.MediaType, p.st.Type} {
		if extensionOf(kind) == ".gz" {
			return true
		}
	}
	for _, name := range []string{lastSegment(string(f.URL)), lastSegment(p.st.Final), p.name} {
		if low := strings.ToLower(name); strings.HasSuffix(low, ".gz") || strings.HasSuffix(low, ".tgz") {
			return true
		}
	}
	return false
}

func isGzip(b []byte) bool { return len(b) > 2 && b[0] == 0x1f && b[1] == 0x8b }

// verdict is the result of a comparison with announced digests.
type verdict int

const (
	unknown verdict = iota // none is announced
	fits
	differ
)

// compare compares the bytes so far with the announced digests.
func (p *part) compare(about *crawl.DatasetFile) verdict {
	v := unknown
	if about.SHA256 != "" {
		if v = fits; about.SHA256 != p.digest() {
			return differ
		}
	}
	for _, d := range p.announced {
		if v = fits; d.digest != hex.EncodeToString(d.sum.Sum(nil)) {
			return differ
		}
	}
	return v
}
