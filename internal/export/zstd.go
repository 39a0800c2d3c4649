package export

import (
	"sync"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/compress"
	parquetzstd "github.com/parquet-go/parquet-go/compress/zstd"
)

// NewParquetCodec compresses the pages of Parquet files with Zstandard. It is the codec of
// parquet-go, but has only one encoder, with a window of 1 MiB in place of 8: a page of a file is
// compressed alone and has 256 KiB or one long text, and encoders with a large window take 17 MiB
// each. Whoever writes one file after another uses one codec for all of them. It may be used
// concurrently; then one page is compressed after the other.
func NewParquetCodec() compress.Codec { return new(codec) }

type codec struct {
	parquetzstd.Codec
	made sync.Once
	e    *zstd.Encoder
	err  error
}

const window = 1 << 20 // bytes

// Encode compresses src into the memory of dst, or into more.
func (c *codec) Encode(dst, src []byte) ([]byte, error) {
	c.made.Do(func() {
		c.e, c.err = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithEncoderConcurrency(1),
			zstd.WithWindowSize(window), zstd.WithLowerEncoderMem(true), zstd.WithZeroFrames(true), zstd.WithEncoderCRC(false))
	})
	if c.err != nil {
		return nil, c.err
	}
	return c.e.EncodeAll(src, dst[:0]), nil
}
