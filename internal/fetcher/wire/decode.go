package wire

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// AcceptEncoding is what Decoder can undo.
const AcceptEncoding = "gzip, br, zstd"

// maxWindow bounds the memory one zstd answer can make us use: RFC 8878 asks receivers for 8 MiB.
const maxWindow = 8 << 20

// errEncoding is a body that is not what its Content-Encoding says, or one we did not ask for.
var errEncoding = errors.New("content encoding")

// The decoders are kept: a gzip reader alone is 40 KB to make.
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

// encodingName is the name of a content encoding; empty when there is nothing to decode.
func encodingName(encoding string) string {
	if e := strings.ToLower(strings.TrimSpace(encoding)); e != "identity" {
		return e
	}
	return ""
}

// Decoder returns a reader of what r holds under the given Content-Encoding. put gives it back;
// neither may be used after. The identity encoding costs nothing.
func Decoder(r io.Reader, encoding string) (decoded io.Reader, put func(), err error) {
	switch e := encodingName(encoding); e {
	case "":
		return r, func() {}, nil
	case "gzip", "x-gzip":
		z := gzips.Get().(*gzip.Reader)
		if err := z.Reset(r); err != nil {
			gzips.Put(z)
			if err == io.EOF {
				// No body at all, as some servers answer; nothing is missing.
				return strings.NewReader(""), func() {}, nil
			}
			return nil, nil, fmt.Errorf("%w: gzip: %w", errEncoding, err)
		}
		return z, func() { gzips.Put(z) }, nil
	case "br":
		z := brotlis.Get().(*brotli.Reader)
		if err := z.Reset(r); err != nil {
			return nil, nil, fmt.Errorf("%w: br: %w", errEncoding, err)
		}
		return z, func() { brotlis.Put(z) }, nil
	case "zstd":
		z := zstds.Get().(*zstd.Decoder)
		if err := z.Reset(r); err != nil {
			return nil, nil, fmt.Errorf("%w: zstd: %w", errEncoding, err)
		}
		return z, func() {
			z.Reset(nil) // lets go of r
			zstds.Put(z)
		}, nil
	default:
		return nil, nil, fmt.Errorf("%w %q was not asked for", errEncoding, e)
	}
}
