package answer

import (
	"net/http"
	"testing"
)

func TestFromStart(t *testing.T) {
	for value, want := range map[string]bool{"": true, "bytes 0-99/100": true, "Bytes 0-99/*": true, "bytes 0-0/1": true,
		"bytes 0-49/100": false, "bytes 0-99/": false, "bytes 0-": false, "bytes 100-199/200": false, "bytes 00-1/200": false, "bytes */200": false} {
		if got := FromStart(http.Header{"Content-Range": {value}}); got != want {
			t.Errorf("%q: %v", value, got)
		}
	}
}
