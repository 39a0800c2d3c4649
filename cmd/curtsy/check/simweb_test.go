package check

import (
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
)

// Another port is suggested only if the port is in use.
func TestSimwebRefused(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	for _, tt := range []struct {
		args  []string
		hints bool
	}{
		{[]string{"--listen", busy.Addr().String()}, true},
		{[]string{"--listen", "127.0.0.1:0", "--log", filepath.Join(t.TempDir(), "nowhere", "log")}, false},
	} {
		code, _, stderr := typed(t, append([]string{"simweb"}, tt.args...)...)
		if hints := strings.Contains(stderr, "--listen 127.0.0.1:0"); code != app.ExitFailed || hints != tt.hints {
			t.Errorf("%q: %d, %s", tt.args, code, stderr)
		}
	}
}
