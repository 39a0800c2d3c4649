package atp

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
)

// FuzzRequest reads any octets as a request. What is accepted keeps within the limits, is the same
// however the octets arrive, and is read back as it was when it is sent.
func FuzzRequest(f *testing.F) {
	for _, s := range []string{
		"DISPATCH atp://fict.example/ ATP/0.1\r\nAgent-Id: a\r\nContent-Length: 3\r\n\r\nabc",
		"FETCH / ATP/0.1\n\n",
		"RETRACT / ATP/0.1\r\nX: a\r\n b\r\nX:\r\n\r\n",
		"MESSAGE / ATP/1.0\r\n\r\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		r, err := readRequest(bytes.NewReader(in), 1000)
		slow, slowErr := readRequest(iotest.OneByteReader(bytes.NewReader(in)), 1000)
		if (err == nil) != (slowErr == nil) {
			t.Fatalf("%v, octet by octet %v", err, slowErr)
		}
		if err != nil {
			if !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrTooLarge) && !errors.Is(err, ErrVersion) && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Fatalf("an error of no kind: %v", err)
			}
			return
		}
		body, err := io.ReadAll(r.Body)
		if int64(len(body)) > r.Length || err == nil && int64(len(body)) < r.Length || r.Length > 1000 || len(r.URI) > MaxURI {
			t.Fatalf("a body of %d octets, %d announced: %v", len(body), r.Length, err)
		}
		if slowBody, slowErr := io.ReadAll(slow.Body); !bytes.Equal(body, slowBody) || (err == nil) != (slowErr == nil) {
			t.Fatalf("%q, octet by octet %q", body, slowBody)
		}
		h := r.Header
		h.Del(ContentLength)
		h.Set(ContentLength, strconv.Itoa(len(body)))
		head, err := encodeHead(string(r.Method)+" "+r.URI+" "+Version, h)
		if err != nil {
			return // long names and values that were folded may be too large to be sent
		}
		again, err := readRequest(strings.NewReader(head+string(body)), 1000)
		if err != nil {
			t.Fatalf("%q: %v", head, err)
		}
		if again.Method != r.Method || again.URI != r.URI || again.Length != int64(len(body)) || len(again.Header) != len(h) {
			t.Fatalf("sent %q, read %+v", head, again)
		}
		for name, values := range h {
			if !slices.Equal(again.Header[name], values) {
				t.Fatalf("%s was %q and is %q", name, values, again.Header[name])
			}
		}
	})
}

// FuzzResponse reads any octets as a response.
func FuzzResponse(f *testing.F) {
	for _, s := range []string{
		"ATP/0.1 200 OK\r\nAgent-Id: a\r\nContent-Length: 3\r\n\r\nabc",
		"ATP/0.2 202\n\nrest",
		"ATP/0.1 503 busy\r\nRetry-After: 10\r\n\r\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		r, err := readResponse(bytes.NewReader(in))
		if err != nil {
			return
		}
		if r.Status < 100 || r.Status > 599 || len(r.Reason) > MaxReason || strings.ContainsAny(r.Reason, "\r\n") {
			t.Fatalf("accepted %d %q", r.Status, r.Reason)
		}
		body, err := io.ReadAll(r.Body)
		if r.Length >= 0 && (int64(len(body)) > r.Length || err == nil && int64(len(body)) < r.Length) {
			t.Fatalf("a body of %d octets, %d announced: %v", len(body), r.Length, err)
		}
		if e := new(StatusError); errors.As(r.Err(), &e) && e.RetryAfter < 0 {
			t.Fatalf("to be tried again after %v", e.RetryAfter)
		}
	})
}

// FuzzAddress parses any text. What is accepted is read back as it was.
func FuzzAddress(f *testing.F) {
	for _, s := range []string{"atp://www.fict.org:434", "atps://[::1]:1/place", "atp://a/%2f"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		a, err := ParseAddress(in)
		if err != nil {
			return
		}
		if again, err := ParseAddress(a.String()); err != nil || again != a {
			t.Fatalf("%q is %+v, and %q is %+v: %v", in, a, a.String(), again, err)
		}
	})
}
