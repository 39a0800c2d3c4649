package mobile_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/zstd"

	"github.com/curtsy/curtsy/internal/mobile"
)

// compressed returns each text as a frame.
func compressed(t testing.TB, texts []string, more ...zstd.EOption) (frames [][]byte) {
	t.Helper()
	e, err := zstd.NewWriter(nil, append([]zstd.EOption{zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1 << 20)}, more...)...)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for _, s := range texts {
		frames = append(frames, e.EncodeAll([]byte(s), nil))
	}
	return frames
}

// split reads all frames of a stream.
func split(r io.Reader) (frames [][]byte, offsets []int64, err error) {
	f := mobile.NewFrames(r)
	for {
		if err := f.Next(); err == io.EOF {
			return frames, offsets, nil
		} else if err != nil {
			return frames, offsets, err
		}
		b, err := io.ReadAll(f)
		if err != nil {
			return frames, offsets, err
		}
		frames, offsets = append(frames, b), append(offsets, f.Offset())
	}
}

func TestFrames(t *testing.T) {
	texts := []string{"", "a", strings.Repeat("long ", 300_000), strings.Repeat("b", 300), "the end"}
	for name, opt := range map[string][]zstd.EOption{
		"plain": nil, "without checksums": {zstd.WithEncoderCRC(false)}, "single segments": {zstd.WithSingleSegment(true)},
	} {
		frames := compressed(t, texts, opt...)
		if name == "single segments" {
			frames = append(frames[:2:2], frames[3:]...) // one is larger than a window
		}
		whole := bytes.Join(frames, nil)
		for _, r := range []io.Reader{bytes.NewReader(whole), iotest.OneByteReader(bytes.NewReader(whole)), iotest.DataErrReader(bytes.NewReader(whole))} {
			got, offsets, err := split(r)
			if err != nil || len(got) != len(frames) {
				t.Fatalf("%s: %d frames, %v", name, len(got), err)
			}
			at := int64(0)
			for i := range got {
				if at += int64(len(frames[i])); !bytes.Equal(got[i], frames[i]) || offsets[i] != at {
					t.Errorf("%s: frame %d has %d octets up to %d, want %d up to %d", name, i, len(got[i]), offsets[i], len(frames[i]), at)
				}
			}
		}
		at := map[int]bool{0: true} // where a frame begins or the stream ends
		n := 0
		for _, f := range frames {
			n += len(f)
			at[n] = true
		}
		for cut := range min(len(whole), 400) {
			if _, _, err := split(bytes.NewReader(whole[:cut])); at[cut] != (err == nil) || err != nil && err != io.ErrUnexpectedEOF {
				t.Errorf("%s: cut after %d octets: %v", name, cut, err)
			}
		}
	}
}

func TestFramesRefused(t *testing.T) {
	good := compressed(t, []string{"some text"})[0]
	large := compressed(t, []string{strings.Repeat("long ", 1_000_000)}, zstd.WithWindowSize(1<<21))[0]
	dictionary := bytes.Clone(good)
	dictionary[4] |= 1
	for name, b := range map[string][]byte{
		"no frame":           []byte("hello, world"),
		"a skippable frame":  append([]byte("\x50\x2a\x4d\x18\x04\x00\x00\x00abcd"), good...),
		"a large window":     large,
		"a large segment":    {0x28, 0xb5, 0x2f, 0xfd, 0xa0, 0x01, 0x00, 0x10, 0x00, 0x01, 0x00, 0x00},
		"a dictionary":       dictionary,
		"garbage behind it":  append(bytes.Clone(good), "garbage"...),
		"an unknown block":   {0x28, 0xb5, 0x2f, 0xfd, 0x20, 0x01, 0x0f, 0x00, 0x00, 0x61},
		"a block too large":  {0x28, 0xb5, 0x2f, 0xfd, 0x20, 0x01, 0x11, 0x00, 0x00, 0x61, 0x61},
		"a reserved bit set": {0x28, 0xb5, 0x2f, 0xfd, 0x28, 0x01, 0x09, 0x00, 0x00, 0x61},
	} {
		if _, _, err := split(bytes.NewReader(b)); !errors.Is(err, mobile.ErrFrame) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := split(bytes.NewReader([]byte{0x28, 0xb5, 0x2f, 0xfd, 0xa0, 0x00, 0x00, 0x10, 0x00, 0x01, 0x00, 0x00})); err != nil {
		t.Errorf("the largest segment: %v", err)
	}
	f := mobile.NewFrames(bytes.NewReader(bytes.Repeat(good, 2)))
	if err := f.Next(); err != nil {
		t.Fatal(err)
	}
	if err := f.Next(); !errors.Is(err, mobile.ErrFrame) {
		t.Errorf("the next frame within one: %v", err)
	}
}

// A result begins where the reader says it does, whatever was read ahead.
func TestResultOffset(t *testing.T) {
	var b bytes.Buffer
	w := mobile.NewResultWriter(&b)
	for _, err := range []error{w.Part([]byte("first"), true), w.Part([]byte("lost"), false), w.Log([]byte("line")), w.Part([]byte("second"), true), w.End(mobile.Summary{})} {
		if err != nil {
			t.Fatal(err)
		}
	}
	whole := b.Bytes()
	r := mobile.NewResultReader(bytes.NewReader(whole))
	for i := range 4 {
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
		rest := whole[r.Offset():]
		if want := []byte("LRE")[min(i, 2)]; i < 3 && i > 0 && rest[0] != want || i == 0 && rest[0] != 'P' || i == 3 && len(rest) > 0 {
			t.Errorf("after result %d: %q", i, rest)
		}
	}
}

// FuzzFrames: frames are parts of the stream, one after the other, and what the decoder accepts as
// a whole is the same frame by frame.
func FuzzFrames(f *testing.F) {
	for _, frame := range compressed(f, []string{"", "a", strings.Repeat("abc", 1000)}) {
		f.Add(frame)
		f.Add(append(bytes.Clone(frame), frame...))
	}
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(16<<20), zstd.WithDecoderMaxWindow(mobile.MaxWindow))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		frames, offsets, err := split(bytes.NewReader(b))
		if err != nil && !errors.Is(err, mobile.ErrFrame) && err != io.ErrUnexpectedEOF {
			t.Fatal(err)
		}
		joined := bytes.Join(frames, nil)
		if !bytes.HasPrefix(b, joined) || len(frames) > 0 && offsets[len(frames)-1] != int64(len(joined)) {
			t.Fatalf("frames of %d octets up to %v are not those of %x", len(joined), offsets, b)
		}
		if err != nil {
			return
		}
		whole, err := d.DecodeAll(b, nil)
		if err != nil {
			return
		}
		var pieces []byte
		for _, frame := range frames {
			if pieces, err = d.DecodeAll(frame, pieces); err != nil {
				t.Fatalf("a frame alone: %v", err)
			}
		}
		if !bytes.Equal(pieces, whole) {
			t.Errorf("%d octets frame by frame, %d at once", len(pieces), len(whole))
		}
	})
}
