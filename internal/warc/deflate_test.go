package warc

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/s2"
)

// inflated returns what the standard library reads from DEFLATE.
func inflated(t testing.TB, b []byte) string {
	t.Helper()
	in := bytes.NewReader(b)
	text, err := io.ReadAll(flate.NewReader(in))
	if err != nil || in.Len() > 0 {
		t.Fatalf("%v, %d bytes behind it", err, in.Len())
	}
	return string(text)
}

// texts are texts of all kinds: empty, one byte, all bytes, far and long repetitions, noise, and
// bytes with such different frequencies that a code would be too long.
func texts() map[string]string {
	noise := make([]byte, 300<<10)
	rand.NewChaCha8([32]byte{1}).Read(noise)
	var page, fibonacci strings.Builder
	for i := range 400 {
		fmt.Fprintf(&page, `<li class="item"><a href="/docs/%d/page-%d.html">Seite %d: größer</a></li>`+"\n", i%7, i*7919%1000, i)
	}
	for i, n, m := 0, 1, 1; i < 24; i, n, m = i+1, m, n+m {
		fibonacci.WriteString(strings.Repeat(string(rune('a'+i)), n))
	}
	mixed := []byte(fibonacci.String())
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
	return map[string]string{
		"": "", "one": "a", "two": "ab", "run": strings.Repeat("a", 100_000), "258": strings.Repeat("a", 259), "noise": string(noise), "page": page.String(),
		"far": string(noise[:40<<10]) + string(noise[:40<<10]), "just far": string(noise[:32<<10]) + string(noise[:100]),
		"too far": string(noise[:32<<10+1]) + string(noise[:100]), "many": strings.Repeat(page.String(), 20), "fibonacci": string(mixed),
	}
}

// RFC 1951: the output for any S2 block is read as the text, also between other pieces.
func TestRFC1951_S2(t *testing.T) {
	var d deflater
	for name, text := range texts() {
		for how, encode := range map[string]func(dst, src []byte) []byte{"fast": s2.Encode, "better": s2.EncodeBetter, "best": s2.EncodeBest, "snappy": s2.EncodeSnappy} {
			block := encode(nil, []byte(text))
			d.reset([]byte("before"))
			d.literals([]byte("head "))
			if err := d.s2(block, []byte(text), len(text)); err != nil {
				t.Fatalf("%s, %s: %v", name, how, err)
			}
			d.literals([]byte(" tail"))
			out := d.finish()
			if !bytes.HasPrefix(out, []byte("before")) || inflated(t, out[6:]) != "head "+text+" tail" {
				t.Errorf("%s, %s: another text", name, how)
			}
		}
	}
}

// However many copies of a block are too far back for DEFLATE, and therefore take more space than
// their tags suggest, there is space for what follows.
func TestDeflaterSpace(t *testing.T) {
	const noise = maxDistance + 1
	space, broad := 24*noise/8, make([]byte, noise)
	rand.NewChaCha8([32]byte{3}).Read(broad)
	literal := append([]byte{61 << 2, byte((noise - 1) & 0xff), byte((noise - 1) >> 8)}, broad...)
	far, near := []byte{63<<2 | 3, noise & 0xff, noise >> 8, 0, 0}, []byte{1, 4}
	for k := (space - noise) / 52; k < (space-noise)/40; k++ {
		block := slices.Concat(binary.AppendUvarint(nil, uint64(noise+64*k+4*120)), literal, bytes.Repeat(far, k), bytes.Repeat(near, 120))
		text, err := s2.Decode(nil, block)
		if err != nil {
			t.Fatal(err)
		}
		var d deflater
		d.reset(nil)
		if err := d.s2(block, text, len(text)); err != nil || inflated(t, d.finish()) != string(text) {
			t.Fatalf("%d copies: %v, or another text", k, err)
		}
	}
}

// A code made from texts of one kind fits the next. For a text in another script the loss is far
// less than without compression.
func TestDeflaterLearns(t *testing.T) {
	var d deflater
	text := []byte(texts()["page"])
	block := s2.Encode(nil, text)
	write := func(block, text []byte) int {
		t.Helper()
		d.reset(nil)
		if err := d.s2(block, text, len(text)); err != nil {
			t.Fatal(err)
		}
		return len(d.finish())
	}
	first := write(block, text)
	for range 20 {
		write(block, text)
	}
	if then := write(block, text); then > first*9/10 || then > len(block)*8/10 {
		t.Errorf("%d bytes at first, then %d, of an S2 block of %d", first, then, len(block))
	}
	var other []byte
	for i := range 3000 {
		other = append(other, 0xd0|byte(i*7919>>5&1), 0x80|byte(i*104729>>7&0x3f))
	}
	if n := write(s2.Encode(nil, other), other); n > len(other)*5/4 {
		t.Errorf("%d bytes of %d in another script", n, len(other))
	}
}

// With a code that makes the output as long as possible, no bits are lost.
func TestDeflaterLongCodes(t *testing.T) {
	var d deflater
	var lits, dists [286]uint32
	for i := range lits {
		lits[i], dists[i] = 1, 1
	}
	n, m := uint32(1), uint32(1)
	for i := range 26 { // the far distances, the long lengths and some bytes are the rarest
		for _, s := range []int{'z' - i, 284 - i} {
			lits[s] = n
		}
		dists[29-i] = n
		n, m = m, n+m
	}
	d.adopt(lits, dists)
	noise := make([]byte, 30<<10)
	rand.NewChaCha8([32]byte{2}).Read(noise)
	want := append([]byte{}, noise...)
	d.reset(nil)
	d.literals(noise)
	longest := uint8(0)
	for i := range 2000 {
		length, distance := 227+i%30, 30<<10-i%5000
		d.room(48)
		d.match(length, distance)
		want = append(want, want[len(want)-distance:len(want)-distance+length]...)
		d.literals([]byte("zyx"[i%3:]))
		want = append(want, "zyx"[i%3:]...)
		longest = max(longest, d.litCode.size[lengthSymbols[length-3].symbol], d.distCode.size[distanceSymbol(uint32(distance-1))])
	}
	if got := inflated(t, d.finish()); got != string(want) {
		t.Error("another text")
	}
	if longest < 14 {
		t.Errorf("codes of %d bits", longest)
	}
}

// An invalid block is an error, and so is a block with a text of another length.
func TestS2Damaged(t *testing.T) {
	var d deflater
	for _, block := range []string{"", "\x80", "\x05\x01\x01", "\x05\x00a\x01\x00", "\x05\x04ab\x00c", "\x05\x00a\x02\x01", "\x05\x00a\x03\x01\x00",
		"\x05\xf0", "\x05\x00a\x15\x00", "\x05\x0cabcd", "\x05\x14abcdef", "\x04\x0cabcd", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"} {
		if d.reset(nil); !errors.Is(d.s2([]byte(block), []byte("abcde"), 5), ErrBlock) {
			t.Errorf("%q is the block of abcde", block)
		}
	}
}

// A record with a packed block is the same as any other. If the block belongs to a text of another
// length, nothing is written.
func TestEncoderPacked(t *testing.T) {
	var e Encoder
	var b bytes.Buffer
	for name, text := range texts() {
		for _, p := range [][]Piece{{{Text: []byte("head")}, {Text: []byte(text), S2: s2.Encode(nil, []byte(text))}}, Pieces([]byte("head"), []byte(text))} {
			for _, put := range []func(*bytes.Buffer, []Field, ...Piece) error{e.Append, e.AppendStored} {
				if err := put(&b, []Field{{"WARC-Type", Response}}, p...); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				all := readPlainly(t, b.Bytes())
				if len(all) != 1 || all[0].block != "head"+text {
					t.Fatalf("%s: %d records, another text", name, len(all))
				}
				if n, _, err := Whole(bytes.NewReader(b.Bytes())); n != int64(b.Len()) || err != nil {
					t.Fatalf("%s: %d of %d bytes are whole, %v", name, n, b.Len(), err)
				}
				b.Reset()
			}
		}
	}
	// Without its text, which is requested if DEFLATE cannot express a repetition.
	for name, text := range texts() {
		p := Piece{S2: s2.EncodeBest(nil, []byte(text)), Size: len(text), CRC: crc32.ChecksumIEEE([]byte(text))}
		err := e.Append(&b, nil, Piece{Text: []byte("head")}, p)
		must, may := name == "far" || name == "too far", len(text) > maxDistance
		if must && err == nil || err != nil && (!may || !errors.Is(err, ErrText) || b.Len() > 0) {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			if all := readPlainly(t, b.Bytes()); len(all) != 1 || all[0].block != "head"+text {
				t.Errorf("%s: another text", name)
			}
		}
		b.Reset()
	}
	if err := e.Append(&b, nil, Piece{Text: []byte("abc"), S2: s2.Encode(nil, []byte("abcd"))}); !errors.Is(err, ErrBlock) || b.Len() > 0 {
		t.Errorf("%v, %d bytes", err, b.Len())
	}
}

func TestJoinCRC(t *testing.T) {
	text := []byte(texts()["noise"])
	for _, at := range []int{0, 1, 7, 1000, 64 << 10, len(text)} {
		if got := joinCRC(crc32.ChecksumIEEE(text[:at]), crc32.ChecksumIEEE(text[at:]), len(text)-at); got != crc32.ChecksumIEEE(text) {
			t.Errorf("cut at %d: %x", at, got)
		}
	}
}

// FuzzS2: we read any block as the library does, or both return an error.
func FuzzS2(f *testing.F) {
	for _, text := range texts() {
		if len(text) < 40<<10 {
			f.Add(s2.Encode(nil, []byte(text)))
		}
	}
	f.Fuzz(func(t *testing.T, block []byte) {
		if n, err := s2.DecodedLen(block); err != nil || n > 1<<20 {
			return
		}
		text, bad := s2.Decode(nil, block)
		var d deflater
		d.reset(nil)
		if n, _ := s2.DecodedLen(block); bad != nil {
			text = make([]byte, n)
		}
		err := d.s2(block, text, len(text))
		if (err == nil) != (bad == nil) {
			t.Fatalf("%v, the library: %v", err, bad)
		}
		if out := d.finish(); err == nil && inflated(t, out) != string(text) {
			t.Fatal("another text")
		}
	})
}
