package reading_test

import (
	"bytes"
	"errors"
	"reflect"
	"testing"

	"github.com/curtsy/curtsy/internal/mobile/reading"
)

// FuzzInput: what is an input has one spelling, and everything else is an ErrInput.
func FuzzInput(f *testing.F) {
	in := input()
	b, err := in.Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte(`{"version":1,"token":"a","want":"facts","types":[],"max_size":1,"max_pages":0,"known":0}` + "\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		in, err := reading.ParseInput(b)
		if err != nil {
			if !errors.Is(err, reading.ErrInput) {
				t.Fatalf("%v is no ErrInput", err)
			}
			return
		}
		if again, err := in.Encode(); err != nil || !bytes.Equal(again, b) {
			t.Errorf("%q became %q, %v", b, again, err)
		}
		for i := range in.Known.Len() {
			if !in.Known.Has(in.Known.At(i)) {
				t.Errorf("hash %d is not found", i)
			}
		}
	})
}

// FuzzRecord: what is a record has one spelling, and everything else is an ErrRecord. The methods
// of its head do not fail.
func FuzzRecord(f *testing.F) {
	for octets := range records() {
		f.Add([]byte(octets))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := reading.ParseRecord(b)
		if err != nil {
			if !errors.Is(err, reading.ErrRecord) || !reflect.DeepEqual(r, reading.Record{}) {
				t.Fatalf("%+v, %v", r, err)
			}
			return
		}
		if again := r.Append(nil); !bytes.Equal(again, b) {
			t.Errorf("%q became %q", b, again)
		}
		for name, value := range r.Head.All() {
			if name == "" || r.Head.Get(name) == "" && value != "" && r.Head.Get(name) == value {
				t.Errorf("line %q: %q", name, value)
			}
		}
	})
}

// FuzzHead: a head that was not parsed as part of a record does not fail either.
func FuzzHead(f *testing.F) {
	f.Add([]byte(plainHead))
	f.Add([]byte("Status: 200"))
	f.Fuzz(func(t *testing.T, b []byte) {
		h := reading.Head(b)
		if h.Plain() && h.Status() != 200 {
			t.Errorf("%q is plain and has the status %d", b, h.Status())
		}
		h.Truncated()
	})
}
