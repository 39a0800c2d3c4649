package render

import (
	"testing"
	"time"
)

// A field that is zero, or less, has its default; others stay.
func TestWithDefaults(t *testing.T) {
	standard := Limits{Requests: 100, Bytes: 16 << 20, Own: 10 * time.Second, Work: 20 * time.Second, HTML: 10 << 20}
	for _, l := range []Limits{{}, {-1, -1, -1, -1, -1}} {
		if got := l.WithDefaults(); got != standard {
			t.Errorf("%+v: %+v", l, got)
		}
	}
	if l := (Limits{1, 2, 3, 4, 5}); l.WithDefaults() != l {
		t.Errorf("%+v became %+v", l, l.WithDefaults())
	}
}

// All omissions are counted, and the first of them are listed.
func TestOmit(t *testing.T) {
	var r Result
	for range MaxOmissions + 1 {
		r.Omit("http://a.example/", "why")
	}
	if r.Omitted != MaxOmissions+1 || len(r.Omissions) != MaxOmissions || r.Omissions[0] != (Omission{"http://a.example/", "why"}) {
		t.Errorf("%+v", r)
	}
}
