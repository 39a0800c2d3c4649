package requests

import (
	"errors"
	"net/http"
	"testing"

	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Each way in which a trail can end, and what was requested until then.
func TestTrailEnds(t *testing.T) {
	broken := errors.New("broken")
	leads := map[canon.URL]string{
		"http://a.example/1": "/2", "http://a.example/2": "/3", "http://a.example/3": "/4", "http://a.example/circle": "/circle", "http://a.example/nowhere": "mailto:x",
		"http://a.example/away": "http://b.example/", "http://a.example/other": "http://a.example:81/",
	}
	for name, tt := range map[string]struct {
		from   canon.URL
		within bool
		asked  int
		end    TrailEnd
		next   canon.URL
		err    error
	}{
		"arrived":     {"http://a.example/2", false, 3, TrailArrived, "", nil},
		"too many":    {"http://a.example/1", false, 3, TrailLost, "", nil},
		"circle":      {"http://a.example/circle", false, 1, TrailLost, "", nil},
		"nowhere":     {"http://a.example/nowhere", false, 1, TrailLost, "", nil},
		"other host":  {"http://a.example/away", false, 1, TrailLeft, "http://b.example/", nil},
		"same host":   {"http://a.example/other", false, 2, TrailArrived, "", nil},
		"other port":  {"http://a.example/other", true, 1, TrailLeft, "http://a.example:81/", nil},
		"not allowed": {"http://a.example/closed", false, 0, TrailBarred, "", nil},
		"failed":      {"http://a.example/broken", false, 1, TrailArrived, "", broken},
	} {
		asked := 0
		tr := Trail{At: tt.from, Most: 2}
		if tt.within {
			tr.Within = tt.from.Origin()
		}
		tr.May = func(u canon.URL) bool { return u != "http://a.example/closed" }
		tr.Ask = func(u canon.URL, moved bool) (wire.Answer, error) {
			if moved != (asked > 0) {
				t.Errorf("%s: moved %v before request %d", name, moved, asked)
			}
			asked++
			if u == "http://a.example/broken" {
				return wire.Answer{}, broken
			}
			if to := leads[u]; to != "" {
				return wire.Answer{Status: http.StatusFound, Header: http.Header{"Location": {to}}}, nil
			}
			return wire.Answer{Status: http.StatusOK}, nil
		}
		_, end, err := tr.Follow("a.example")
		if asked != tt.asked || end != tt.end || tr.Next != tt.next || !errors.Is(err, tt.err) {
			t.Errorf("%s: %d requests, end %d, next %q, %v", name, asked, end, tr.Next, err)
		}
	}
}
