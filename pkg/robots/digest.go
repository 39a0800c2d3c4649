package robots

import (
	"crypto/sha256"
	"io"
)

// Digest is the SHA-256 of a robots.txt as text with uniform line endings. If two hosts have the
// same digest, that is evidence of a mirror (formats §2.4). A byte order mark, UTF-16, and an end
// of line after the last line make no difference. Like Parse it reads at most MaxBytes.
func Digest(body []byte) (sum [32]byte) {
	text, _ := decode(body)
	h := sha256.New()
	for text != "" {
		n := 0
		for n < len(text) && !isEOL(text[n]) {
			n++
		}
		io.WriteString(h, text[:n])
		h.Write([]byte{'\n'})
		if n+1 < len(text) && text[n] == '\r' && text[n+1] == '\n' {
			n++
		}
		text = text[min(n+1, len(text)):]
	}
	h.Sum(sum[:0])
	return sum
}
