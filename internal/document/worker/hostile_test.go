package worker

import (
	"bytes"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/document"
	"github.com/curtsy/curtsy/internal/document/documenttest"
	"github.com/curtsy/curtsy/internal/testaid"
)

// Each hostile document ends in an outcome or in a limited page, the next document is read, and the
// memory of the parent stays unaffected.
func TestHostile(t *testing.T) {
	if testaid.RaceDetector {
		t.Skip("they are made to take time, and nothing of them runs beside anything else")
	}
	p := New(Options{})
	defer p.Close()
	var before, after runtime.MemStats
	for _, h := range documenttest.All() {
		body := h.Make()
		runtime.GC()
		runtime.ReadMemStats(&before)
		start := time.Now()
		page, err := p.Read(t.Context(), document.File{Type: h.Type, Body: body}, nil)
		took := time.Since(start)
		runtime.ReadMemStats(&after)
		var its *Unreadable
		switch {
		case err != nil && !errors.As(err, &its):
			t.Errorf("%s: %v, which is not the document's fault", h.Name, err)
		case h.Text == "" && err == nil:
			t.Errorf("%s: it was read: %.200s", h.Name, page.HTML)
		case h.Text != "" && h.Text != "*" && !bytes.Contains(page.HTML, []byte(h.Text)):
			t.Errorf("%s: %v: no %q in %.200s", h.Name, err, h.Text, page.HTML)
		case len(page.HTML) > 6<<20:
			t.Errorf("%s: %d bytes", h.Name, len(page.HTML))
		}
		if grown := int64(after.TotalAlloc - before.TotalAlloc); grown > 32<<20 {
			t.Errorf("%s: this process allocated %d bytes", h.Name, grown)
		}
		t.Logf("%-65s %6d KiB in %5d ms: %v", h.Name, len(body)>>10, took.Milliseconds(), err)
	}
	if page, err := p.Read(t.Context(), good, nil); err != nil || !bytes.Contains(page.HTML, []byte("good words")) {
		t.Errorf("the next one: %v %s", err, page.HTML)
	}
}
