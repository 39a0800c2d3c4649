package remote

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/curtsy/curtsy/internal/render"
)

// A frame is read as it was written, or refused.
func FuzzFrame(f *testing.F) {
	f.Add([]byte{})
	f.Add(frame{flags: part | last, sent: 3, got: 1 << 31, payload: []byte("x")}.append(nil))
	f.Add([]byte{version + 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		if fr, err := parseFrame(b); err == nil && !bytes.Equal(fr.append(nil), b) {
			t.Errorf("%x is read as %+v", b, fr)
		}
	})
}

// A message that can be read can be written, and is then read as the same.
func FuzzMessage(f *testing.F) {
	for _, m := range []message{{Page: page([]byte("b"))}, {Request: &render.Request{URL: "u"}}, {Response: &render.Response{Body: []byte("b")}}, {Result: &render.Result{HTML: []byte("b")}}, {Failed: &render.Failed{Why: "w"}}} {
		b, err := m.encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte{0xff, 0xff, 0xff, 0xff})
	f.Add([]byte{0, 0, 0, 2, '{', '}'})
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := decode(b)
		if err != nil {
			return
		}
		again, err := m.encode()
		if err != nil {
			t.Fatal(err)
		}
		if other, err := decode(again); err != nil || !reflect.DeepEqual(m, other) {
			t.Errorf("%+v becomes %+v, %v", m, other, err)
		}
	})
}
