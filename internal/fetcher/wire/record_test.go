package wire

import (
	"bytes"
	"strings"
	"testing"
)

// A recording has a limited part of an answer, nothing that came for another request, and no
// credentials.
func TestRecorder(t *testing.T) {
	var r Recorder
	first := r.begin([]byte("GET / HTTP/1.1\r\nHost: a\r\nCOOKIE : a=b\r\nAuthorization: Basic x\r\nX-Cookie: kept\r\nproxy-authorization: y\r\n\r\n"))
	if got := string(withoutCredentials(r.request, nil)); got != "GET / HTTP/1.1\r\nHost: a\r\nX-Cookie: kept\r\n\r\n" {
		t.Errorf("%q", got)
	}
	first.add(bytes.Repeat([]byte("x"), maxRecorded))
	if r.cut || len(r.answer) != maxRecorded {
		t.Errorf("%d bytes, cut %v", len(r.answer), r.cut)
	}
	first.add([]byte("y"))
	if !r.cut || len(r.answer) != maxRecorded || strings.Contains(string(r.answer), "y") {
		t.Errorf("%d bytes, cut %v", len(r.answer), r.cut)
	}
	second := r.begin([]byte("GET"))
	first.add([]byte("late"))
	second.add([]byte("HTTP"))
	if string(r.answer) != "HTTP" || r.cut || cap(r.answer) > KeepBuffer {
		t.Errorf("%q, cut %v, room for %d", r.answer, r.cut, cap(r.answer))
	}
}
