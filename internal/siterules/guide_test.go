package siterules

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// The examples of the guide, and those in files, are right.
func TestGuide(t *testing.T) {
	text, err := os.ReadFile("../../docs/guides/site-rules.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(text, -1)
	if len(examples) == 0 {
		t.Fatal("there is no example")
	}
	for _, e := range examples {
		mustParse(t, string(e[1]))
	}
	files, _ := filepath.Glob("../../docs/examples/*.yaml")
	if len(files) == 0 {
		t.Fatal("there is no file")
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		mustParse(t, string(text))
	}
}
