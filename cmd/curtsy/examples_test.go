package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/curtsy/curtsy/internal/testaid"
)

// Each example prints what its folder describes. The examples run unchanged, against the simulated
// site that each starts itself. internal/deploytest runs the one with containers.
func TestExamples(t *testing.T) {
	folders, err := filepath.Glob("../../examples/*/run.sh")
	if err != nil || len(folders) != 5 {
		t.Fatal(folders, err)
	}
	for _, script := range folders {
		from := filepath.Dir(script)
		name := filepath.Base(from)
		want, err := os.ReadFile(filepath.Join(from, "expected.txt"))
		if err != nil {
			t.Fatal(err)
		}
		if name == "compose" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("sh", filepath.Join(dir, "run.sh"))
			cmd.Env = append(os.Environ(), "HOME="+dir, "WEB="+unused(t))
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if diff := testaid.OutputDiff(string(want), string(out)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
