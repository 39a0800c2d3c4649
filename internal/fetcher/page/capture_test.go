package page

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
)

// A capture that is too large for a message is cut, and says so; one that just fits is whole.
func TestPackCapture(t *testing.T) {
	head, noise := []byte("HTTP/1.1 200 OK\r\n\r\n"), make([]byte, 2<<20)
	rand.NewChaCha8([32]byte{}).Read(noise)
	for size, cut := range map[int]bool{0: false, maxCapture - maxCaptureLinks - 4<<10: false, maxCapture - maxCaptureLinks + 4<<10: true, len(noise): true} {
		c := crawl.Capture{Request: []byte("GET"), Response: head, OfPage: true}
		packCapture(&c, noise[:size])
		if c.Cut != cut || c.OfPage || c.Bytes() > maxCapture-maxCaptureLinks+1<<10 || cut && !bytes.HasPrefix(noise[:size], c.Response[len(head):]) {
			t.Errorf("%d bytes: cut %v, %d bytes", size, c.Cut, c.Bytes())
		}
	}
}
