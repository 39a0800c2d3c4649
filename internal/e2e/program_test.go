package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/curtsy/curtsy/internal/racing"
	"github.com/curtsy/curtsy/internal/simweb"
)

// program is the curtsy command, in processes of its own, and a web for it to crawl.
type program struct {
	t   *testing.T
	bin string
	web *simweb.Server
}

// newProgram returns the program, and a web that is closed at the end of the test. A test for which
// that is too much, or shows nothing more, is skipped.
func newProgram(t *testing.T, cfg simweb.Config) *program {
	t.Helper()
	switch {
	case testing.Short():
		t.Skip("builds the program")
	case racing.Enabled:
		t.Skip("the detector watches this process, and what is tested runs in others; the run without it has all of it")
	}
	bin, err := built()
	if err != nil {
		t.Fatal(err)
	}
	web, err := simweb.Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { web.Close() })
	return &program{t: t, bin: bin, web: web}
}

// built makes the program, once for all tests: linking it takes ten seconds of a processor.
var built = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "curtsy-e2e-")
	if err != nil {
		return "", err
	}
	builtIn = dir
	bin := filepath.Join(dir, "curtsy")
	if out, err := exec.Command("go", "build", "-o", bin, "../../cmd/curtsy").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return bin, nil
})

var builtIn string // removed when all tests are done

func TestMain(m *testing.M) {
	code := m.Run()
	if builtIn != "" {
		os.RemoveAll(builtIn)
	}
	os.Exit(code)
}
