package crawl

import (
	"reflect"
	"testing"
	"time"
)

// What a trace tells is what happened, to the microsecond, and no pause is shorter than it was.
func TestTrace(t *testing.T) {
	begin := time.Unix(1_800_000_000, 123_456_000).UTC()
	at := func(d time.Duration) time.Time { return begin.Add(d) }
	all := []Exchange{
		{URL: "https://a.example/robots.txt", Kind: RequestRobots, Start: at(1), End: at(1200*time.Microsecond + 999), Status: 404, Bytes: 12,
			Bound: time.Second, BoundSource: "configured"},
		{URL: "https://a.example/ro", Start: at(1001200*time.Microsecond + 999), End: at(time.Minute), Status: 200, Bytes: 1 << 40,
			Bound: time.Second, BoundSource: "configured"},
		{URL: "http://a.example:81/x", Kind: RequestDownload, Start: at(62 * time.Second), End: at(62 * time.Second), Bound: 2 * time.Second,
			BoundSource: "backoff", Unsent: true},
		{URL: "http://a.example:81/x", Start: at(64 * time.Second), Bound: 2 * time.Second, BoundSource: "backoff", Cut: true},
	}
	tr := Trace{Begin: begin.UnixMicro()}
	tr.Trace(all, begin)
	got, err := DecodeTrace(AppendTrace(nil, &tr))
	if err != nil {
		t.Fatal(err)
	}
	var told []Exchange
	for x := range got.Each {
		told = append(told, x)
	}
	if len(told) != len(all) {
		t.Fatalf("%d exchanges of %d", len(told), len(all))
	}
	for i, x := range told {
		was := all[i]
		if d := x.Start.Sub(was.Start); d < 0 || d >= time.Microsecond {
			t.Errorf("%d starts %v late", i, d)
		}
		if d := was.End.Sub(x.End); !was.Cut && (d < 0 || d >= time.Microsecond) {
			t.Errorf("%d ends %v early", i, d)
		}
		if x.Start, x.End = was.Start, was.End; !reflect.DeepEqual(x, was) {
			t.Errorf("%d: %+v, want %+v", i, x, was)
		}
	}
	if n := len(AppendTrace(nil, &tr)); n > 220 {
		t.Errorf("%d bytes for %d requests", n, len(all))
	}
}

// A trace that refers to more of a URL than there is ends there.
func TestTraceMadeUp(t *testing.T) {
	tr := Trace{Requests: []Sent{{Suffix: "https://a.example/"}, {Shared: 19, Suffix: "x"}, {Suffix: "https://b.example/"}}}
	n := 0
	for range tr.Each {
		n++
	}
	if n != 1 {
		t.Errorf("%d exchanges told of", n)
	}
}
