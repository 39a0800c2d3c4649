package archive

import (
	"bytes"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
)

// FuzzLast: what can be read is written again as it was read, and nothing panics.
func FuzzLast(f *testing.F) {
	v := crawl.VisitID{Epoch: 1 << 40, N: 7}
	f.Add((&last{Visit: v, Number: 300, Dir: "/a b"}).append(nil))
	f.Add((&last{v, 1, "d", &ref{"<id>", "2026", "sha256:a", 200, "sha256:b"}}).append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := parseLast(b)
		if err != nil {
			return
		}
		again := l.append(nil)
		if m, err := parseLast(again); err != nil || !bytes.Equal(m.append(nil), again) {
			t.Errorf("%+v is read as %+v, %v", l, m, err)
		}
	})
}
