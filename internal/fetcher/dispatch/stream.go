package dispatch

import (
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/curtsy/curtsy/internal/mobile"
)

// Limits of what the results of one dispatch decompress to.
const (
	// maxUnpacked is about 400,000 documents of usual size. What a site has beyond that comes with
	// the next dispatch, to which these are known.
	maxUnpacked = 16 << 30
	// Zeros compress to a ten-thousandth. Pages that are made of one template compress to a
	// hundredth, because a window of 1 MiB shows the template once.
	maxRatio   = 250
	freeOfRate = 64 << 20 // bytes to which maxRatio does not apply
)

// errBomb means that results decompress to more than any site has.
var errBomb = errors.New("the results decompress to too much")

// stream decompresses results, and knows where they can be read on.
type stream struct {
	frames  *mobile.Frames
	decoder *zstd.Decoder
	inFrame bool
	base    int64  // where in the compressed results the stream begins
	budget  *int64 // bytes that may still be decompressed in the dispatch
	out     int64  // bytes that were decompressed
	marks   []mark // beginnings of frames, the last one that may be needed first
}

// mark is where a frame begins.
type mark struct{ packed, unpacked int64 }

// newStream reads from r, which begins at an octet of the compressed results where a frame does.
func newStream(r io.Reader, base int64, budget *int64, decoder *zstd.Decoder) *stream {
	return &stream{frames: mobile.NewFrames(r), decoder: decoder, base: base, budget: budget, marks: []mark{{base, 0}}}
}

// newDecoder returns a decoder of frames. It decodes in the goroutine that reads.
func newDecoder() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(mobile.MaxWindow))
}

// Read returns decompressed results. It ends with io.EOF if the compressed ones end between two
// frames.
func (s *stream) Read(p []byte) (int, error) {
	for {
		if !s.inFrame {
			if err := s.frames.Next(); err != nil {
				return 0, err
			}
			if err := s.decoder.Reset(s.frames); err != nil {
				return 0, err
			}
			s.inFrame = true
		}
		n, err := s.decoder.Read(p)
		if err := s.count(n); err != nil {
			return 0, err
		}
		if err == io.EOF {
			err = s.endFrame()
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
}

// endFrame notes where the next frame begins.
func (s *stream) endFrame() error {
	if n, err := s.frames.Read(make([]byte, 1)); n > 0 || err != io.EOF {
		if err == nil || err == io.EOF {
			err = fmt.Errorf("%w: a frame goes on behind its end", mobile.ErrFrame)
		}
		return err
	}
	s.inFrame = false
	next := mark{s.base + s.frames.Offset(), s.out}
	if last := &s.marks[len(s.marks)-1]; last.unpacked == next.unpacked {
		*last = next // the frame was empty
	} else {
		s.marks = append(s.marks, next)
	}
	return nil
}

// count checks the limits.
func (s *stream) count(n int) error {
	s.out += int64(n)
	*s.budget -= int64(n)
	switch {
	case *s.budget < 0:
		return fmt.Errorf("%w: more than %d GiB", errBomb, maxUnpacked>>30)
	case s.out > freeOfRate+maxRatio*s.frames.Offset():
		return fmt.Errorf("%w: more than %d times their size", errBomb, maxRatio)
	}
	return nil
}

// position returns where results can be read on at a decompressed octet: at a frame, and how many
// decompressed octets behind its beginning. Earlier octets are not asked for again.
func (s *stream) position(at int64) (offset, skip int64) {
	i := 0
	for i+1 < len(s.marks) && s.marks[i+1].unpacked <= at {
		i++
	}
	s.marks = append(s.marks[:0], s.marks[i:]...)
	return s.marks[0].packed, at - s.marks[0].unpacked
}
