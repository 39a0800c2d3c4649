package mobile_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"testing"

	"github.com/curtsy/curtsy/internal/mobile"
)

// FuzzTicket: a line that is a ticket has one spelling, and every other one is an ErrTicket.
func FuzzTicket(f *testing.F) {
	key := newKey(f)
	line, _, err := ticket().Sign(key, rand.Reader)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(line)
	f.Add([]byte(`{"version":1}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, line []byte) {
		tk, err := mobile.ParseTicket(line)
		if err != nil {
			if !errors.Is(err, mobile.ErrTicket) {
				t.Fatalf("%v is no ErrTicket", err)
			}
			return
		}
		again, signature, err := tk.Sign(key, rand.Reader)
		if err != nil {
			t.Fatalf("a ticket that was parsed cannot be signed: %v", err)
		}
		signed, err := mobile.Verify(again, signature)
		signed.Key, signed.Nonce = tk.Key, tk.Nonce
		if err != nil || signed != tk {
			t.Fatalf("%+v, then %+v, %v", tk, signed, err)
		}
	})
}

// FuzzDispatch: what is read can be written again to the same octets.
func FuzzDispatch(f *testing.F) {
	f.Add([]byte("ticket\nc2ln\n3\ninpmodule"))
	f.Add([]byte("\n\n0\n"))
	f.Fuzz(func(t *testing.T, body []byte) {
		d, err := mobile.ReadDispatch(bytes.NewReader(body))
		if err != nil {
			return
		}
		input, err := d.Input()
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := mobile.WriteDispatch(&b, d.Line, d.Signature, input); err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(&b, d.Module()); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(b.Bytes(), body) {
			t.Errorf("%q became %q", body, b.Bytes())
		}
	})
}

// FuzzResult: any octets end with a known error, and use no more memory than a record may have.
func FuzzResult(f *testing.F) {
	f.Add([]byte("P\x00\x00\x00\x01aR\x00\x00\x00\x01bL\x00\x00\x00\x01cE\x00\x00\x00\x02{}"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := mobile.NewResultReader(bytes.NewReader(b))
		for {
			got, err := r.Next()
			if err != nil {
				if err != io.EOF && err != io.ErrUnexpectedEOF && !errors.Is(err, mobile.ErrResult) {
					t.Fatal(err)
				}
				return
			}
			if len(got.Record)+len(got.Log) > len(b) {
				t.Fatal("more came out than was put in")
			}
		}
	})
}
