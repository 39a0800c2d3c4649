package export

import (
	"runtime"
	"sync"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/compress"
	parquetzstd "github.com/parquet-go/parquet-go/compress/zstd"
)

// ParquetCodec compresses the pages of Parquet files with Zstandard. It is that of parquet-go, but
// its encoders have a window of 1 MiB in place of 8, and all files of the process share them: a
// page of a file is compressed alone and has 256 KiB or one long text, and an encoder with a large
// window takes 17 MiB. It may be used concurrently.
var ParquetCodec compress.Codec = new(codec)

type codec struct{ parquetzstd.Codec }

const (
	window   = 1 << 20 // bytes
	encoders = 4       // at most; others wait
)

var encoder = sync.OnceValues(func() (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithEncoderConcurrency(min(runtime.GOMAXPROCS(0), encoders)),
		zstd.WithWindowSize(window), zstd.WithLowerEncoderMem(true), zstd.WithZeroFrames(true), zstd.WithEncoderCRC(false))
})

// Encode compresses src into the memory of dst, or into more.
func (c *codec) Encode(dst, src []byte) ([]byte, error) {
	e, err := encoder()
	if err != nil {
		return nil, err
	}
	return e.EncodeAll(src, dst[:0]), nil
}
