package siterules

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

var update = flag.Bool("update", false, "write the messages of the wrong files")

// Each wrong file in testdata/wrong has its messages beside it.
func TestWrongFiles(t *testing.T) {
	files, _ := filepath.Glob("testdata/wrong/*.yaml")
	if len(files) < 30 {
		t.Fatalf("only %d files", len(files))
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		_, err = Parse("sites.yaml", string(text))
		if err == nil {
			t.Errorf("%s is accepted", name)
			continue
		}
		got, beside := err.Error()+"\n", strings.TrimSuffix(name, ".yaml")+".txt"
		if *update {
			if err := os.WriteFile(beside, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if want, _ := os.ReadFile(beside); got != string(want) {
			t.Errorf("%s:\n%swant:\n%s", name, got, want)
		}
	}
}

// scalarNode is a value as it is in a file.
func scalarNode(text string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Value: text, Line: 1, Column: 1}
}
