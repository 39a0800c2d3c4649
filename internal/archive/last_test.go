package archive

import (
	"reflect"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
)

// A record about a URL's captures is read as it was written; an incomplete one is an error.
func TestLast(t *testing.T) {
	v := crawl.VisitID{Epoch: 1 << 40, N: 7}
	for _, l := range []last{{}, {Visit: v, Number: 300, Dir: "/a b"}, {v, 1, "d", &ref{"<id>", "2026", "sha256:a", 200, "sha256:a"}}, {v, 1, "d", &ref{"<id>", "2026", "sha256:a", 404, ""}}} {
		b := l.append(nil)
		if got, err := parseLast(b); err != nil || !reflect.DeepEqual(got, l) {
			t.Errorf("%+v, %v, want %+v", got, err, l)
		}
		for n := range b {
			if _, err := parseLast(b[:n]); err == nil {
				t.Errorf("%d of %d bytes are read", n, len(b))
			}
		}
	}
	if _, err := parseLast([]byte(`{"v":"1"}`)); err == nil {
		t.Error("another format is read")
	}
}
