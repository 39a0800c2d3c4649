package wire

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/zlib"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// AcceptEncoding is the Accept-Encoding of our requests: the codings that Decoder can decode.
const AcceptEncoding = "gzip, br, zstd"

// maxWindow bounds the memory that one zstd answer can make us use. RFC 8878 asks receivers to
// support 8 MiB.
const maxWindow = 8 << 20

// errEncoding is the error of a body that is neither what its Content-Encoding says nor plain text.
var errEncoding = errors.New("content encoding")

// The decoders are used again: a gzip reader alone takes 40 KB to make.
var (
	gzips   = sync.Pool{New: func() any { return new(gzip.Reader) }}
	brotlis = sync.Pool{New: func() any { return brotli.NewReader(nil) }}
	zstds   = sync.Pool{New: func() any {
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			panic(err) // the options are constants
		}
		return d
	}}
)

// maxLayers is how many content codings may be applied one after the other.
const maxLayers = 2

// maxBetween is how many bytes may pass between two layers. A body with more decodes mostly to
// zeros.
const maxBetween = 64 << 20

// codings returns the content codings of a Content-Encoding that we know, in the order in which
// they were applied. Other names are ignored: sites write utf-8, none or binary.
func codings(encoding string) (list []string) {
	if encoding == "" {
		return nil
	}
	for name := range strings.SplitSeq(encoding, ",") {
		switch name = strings.ToLower(strings.Trim(name, " \t\"'")); name {
		case "x-gzip":
			list = append(list, "gzip")
		case "gzip", "deflate", "br", "zstd":
			list = append(list, name)
		}
	}
	return list
}

// Decoder returns a reader of what r contains under the given Content-Encoding. put returns it to
// be used again; after that neither may be used. The identity encoding costs nothing.
//
// The first bytes decide whether the body is encoded as declared. A plain body is read as it is,
// and bytes after the end of a compressed stream are left out. Browsers do the same.
func Decoder(r io.Reader, encoding string) (decoded io.Reader, put func(), err error) {
	names := codings(encoding)
	if len(names) == 0 {
		return r, func() {}, nil
	}
	if len(names) > maxLayers || len(names) == 2 && needsMemory(names[0]) && needsMemory(names[1]) {
		return nil, nil, fmt.Errorf("%w: %q has too many encodings for one body", errEncoding, encoding)
	}
	var puts []func()
	put = func() {
		for _, p := range slices.Backward(puts) {
			p()
		}
	}
	heavy := heavy(encoding)
	for i, name := range slices.Backward(names) {
		in := inputs.Get().(*bufio.Reader)
		in.Reset(r)
		puts = append(puts, func() { in.Reset(nil); inputs.Put(in) })
		var done func()
		if r, done, err = layer(in, name, heavy); err != nil {
			put()
			return nil, nil, err
		}
		puts = append(puts, done)
		if i > 0 {
			r = &capped{r, maxBetween}
		}
	}
	return r, put, nil
}

// layer decodes one content coding. Memory for zstd and br is only used if heavy says that it was
// reserved.
func layer(in *bufio.Reader, name string, heavy bool) (io.Reader, func(), error) {
	first, err := in.Peek(4)
	if err == io.EOF && len(first) == 0 {
		// Some servers answer without a body. Nothing is missing then.
		return in, func() {}, nil
	}
	switch {
	case bytes.HasPrefix(first, gzipMagic):
		z := gzips.Get().(*gzip.Reader)
		g := &members{z: z, in: in}
		if err := g.next(); err != nil {
			gzips.Put(z)
			return nil, nil, fmt.Errorf("%w: gzip: %w", errEncoding, err)
		}
		return g, func() { gzips.Put(z) }, nil
	case bytes.HasPrefix(first, zstdMagic) && heavy:
		z := zstds.Get().(*zstd.Decoder)
		if err := z.Reset(in); err != nil {
			return nil, nil, fmt.Errorf("%w: zstd: %w", errEncoding, err)
		}
		return &untilJunk{r: z}, func() {
			z.Reset(nil) // releases in
			zstds.Put(z)
		}, nil
	}
	first, err = in.Peek(sniffBytes)
	// A short compressed stream may look like text, and a text like the beginning of a stream.
	short := err == io.EOF
	switch zlibbed := isZlib(first) && (name == "deflate" || name == "gzip"); {
	case zlibbed && (short && isWholeZlib(first) || !short && !isPlain(first)):
		z, err := zlib.NewReader(in)
		if err != nil {
			return nil, nil, fmt.Errorf("%w: deflate: %w", errEncoding, err)
		}
		return z, func() {}, nil
	case isPlain(first) && !(name == "br" && short && isBrotli(first)):
		return in, func() {}, nil
	case name == "br":
		z := brotlis.Get().(*brotli.Reader)
		if err := z.Reset(in); err != nil {
			return nil, nil, fmt.Errorf("%w: br: %w", errEncoding, err)
		}
		return &untilJunk{r: z}, func() { brotlis.Put(z) }, nil
	case name == "deflate": // without its frame
		return flate.NewReader(in), func() {}, nil
	}
	return nil, nil, fmt.Errorf("%w: neither %s nor text, it begins with %x", errEncoding, name, first[:min(len(first), 4)])
}

var (
	gzipMagic = []byte{0x1f, 0x8b, 8}
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
	inputs    = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, 4<<10) }}
)

// isZlib recognises the two bytes before a deflate stream (RFC 1950) that has no dictionary.
func isZlib(b []byte) bool {
	return len(b) >= 2 && b[0]&0x0f == 8 && b[0]>>4 <= 7 && (uint(b[0])<<8|uint(b[1]))%31 == 0 && b[1]&0x20 == 0
}

func isWholeZlib(whole []byte) bool {
	z, err := zlib.NewReader(bytes.NewReader(whole))
	return err == nil && decodes(z)
}

// decodes reports whether a decoder of a short body reaches its end, or gets far, without an error.
func decodes(r io.Reader) bool {
	var buf [4 << 10]byte
	for range 4 {
		if _, err := r.Read(buf[:]); err != nil {
			return err == io.EOF
		}
	}
	return true
}

// isPlain reports whether bytes are of a kind that is not compressed again, such as text.
func isPlain(b []byte) bool {
	switch kind := http.DetectContentType(b); kind {
	case "application/octet-stream", "application/x-gzip":
		return false
	}
	return true
}

// isBrotli reports whether a whole, short body is a brotli stream. Such a stream has no mark at its
// beginning, and a short one may look like text.
func isBrotli(whole []byte) bool {
	z := brotlis.Get().(*brotli.Reader)
	defer brotlis.Put(z)
	return z.Reset(bytes.NewReader(whole)) == nil && decodes(z)
}

// members reads a gzip stream of one or several members. What follows them and is not a member is
// left out.
type members struct {
	z  *gzip.Reader
	in *bufio.Reader
}

func (m *members) next() error {
	if err := m.z.Reset(m.in); err != nil {
		return err
	}
	m.z.Multistream(false)
	return nil
}

func (m *members) Read(p []byte) (int, error) {
	for {
		n, err := m.z.Read(p)
		if err != io.EOF || n > 0 {
			if err == io.EOF {
				err = nil
			}
			return n, err
		}
		more, err := m.in.Peek(len(gzipMagic))
		if errors.Is(err, ErrWireLimit) {
			return 0, err // there may have been many members, all of them empty
		}
		if !bytes.Equal(more, gzipMagic) {
			return 0, io.EOF
		}
		if err := m.next(); err != nil {
			return 0, err
		}
	}
}

// untilJunk ends a stream where its decoder finds bytes after it that are no stream.
type untilJunk struct {
	r   io.Reader
	any bool
}

func (u *untilJunk) Read(p []byte) (int, error) {
	n, err := u.r.Read(p)
	u.any = u.any || n > 0
	if err != nil && u.any && (errors.Is(err, zstd.ErrMagicMismatch) || err.Error() == "brotli: excessive input") {
		err = io.EOF
	}
	return n, err
}
