package pagereader

import (
	"bytes"
	"compress/gzip"
	"io"
	"testing"

	"github.com/curtsy/curtsy/internal/mobile"
)

func TestModule(t *testing.T) {
	module := Module()
	if !bytes.HasPrefix(module, []byte("\x00asm\x01\x00\x00\x00")) || len(module) > mobile.MaxModule {
		t.Errorf("%d octets that are no module", len(module))
	}
	if Digest() != mobile.Digest(module) {
		t.Error("another digest")
	}
	// Each host receives it once, and compiles it for each run. If it has grown for a good reason,
	// change these numbers.
	if len(module) > 3_800_000 || len(Packed()) > 1_100_000 {
		t.Errorf("the module has %d octets, and %d packed; look at what its packages import", len(module), len(Packed()))
	}
}

// Packed can stand behind other octets in one stream of gzip, as senders use it.
func TestPacked(t *testing.T) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte("before ")); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	b.Write(Packed())
	r, err := gzip.NewReader(&b)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(r)
	if err != nil || !bytes.Equal(got, append([]byte("before "), Module()...)) {
		t.Errorf("%d octets, %v", len(got), err)
	}
}
