package docs_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/testaid"
)

// TestWorkedChange applies the change that CONTRIBUTING.md walks through to copies of the files
// that it touches, and checks their packages with the copies in place (go vet -overlay). With
// CURTSY_LONG the tests of the change run as well. If the patch does not apply, make it again:
// apply what fits, mend the rest, commit, and write git format-patch -1 -U1 --no-signature --stdout
// into the file.
func TestWorkedChange(t *testing.T) {
	file, err := filepath.Abs("examples/well-known-file.patch")
	if err != nil {
		t.Fatal(err)
	}
	patch, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir, replace, packages := t.TempDir(), map[string]string{}, map[string]bool{}
	sources := 0
	for _, m := range regexp.MustCompile(`(?m)^diff --git a/(\S+) b/`).FindAllSubmatch(patch, -1) {
		name := string(m[1])
		copyOf(t, filepath.Join(root, name), filepath.Join(dir, name))
		if path.Ext(name) != ".go" {
			continue
		}
		replace[filepath.Join(root, name)] = filepath.Join(dir, name)
		packages["./"+path.Dir(name)] = true
		if !strings.HasSuffix(name, "_test.go") {
			sources++
		}
	}
	if sources != 4 {
		t.Errorf("the change touches %d Go files beside tests, and CONTRIBUTING.md says four", sources)
	}
	run(t, dir, "git", "apply", file)
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	// The result of this test is cached as long as nothing changes in the folders that it has read.
	err = filepath.WalkDir("../internal", func(string, fs.DirEntry, error) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"vet", "-overlay", list}
	if testaid.Long {
		args = []string{"test", "-overlay", list, "-run", "HumansTxt|OriginFiles"}
	}
	run(t, root, "go", append(args, slices.Sorted(maps.Keys(packages))...)...)
}

// copyOf copies a file, if there is one.
func copyOf(t *testing.T, from, to string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(from)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// run runs a command in a folder, outside of any Git repository above it.
func run(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}
