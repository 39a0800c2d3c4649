package siterules

import (
	"os"
	"regexp"
	"testing"
)

// The examples of the guide are right.
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
}
