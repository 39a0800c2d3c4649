package browser

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/curtsy/curtsy/internal/render"
)

// What is wrong with the browser is the error of the page that needs it, and nothing is started
// after the end.
func TestLater(t *testing.T) {
	l := Later(Options{Path: filepath.Join(t.TempDir(), "none")})
	if _, err := l.Render(t.Context(), new(render.Page), nil); !errors.Is(err, render.ErrUnavailable) || errors.Is(err, errClosed) {
		t.Errorf("without a browser: %v", err)
	}
	if n := l.Started(); n != 0 {
		t.Errorf("%d browsers were started", n)
	}
	l.Close()
	if _, err := l.Render(t.Context(), new(render.Page), nil); !errors.Is(err, errClosed) {
		t.Errorf("after the end: %v", err)
	}
}
