package agenthost

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/mobile"
)

// TestInventory: the robot in WebAssembly text of docs/mobile-robots.md sends a record for each
// document that can be opened. TestExternalSmokeWabt checks that its octets are those of the text.
func TestInventory(t *testing.T) {
	module, err := os.ReadFile("testdata/inventory.wasm")
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, nil)
	records, _, end := readResults(t, r.fetch(r.dispatch(module, "")))
	var paths []string
	for _, record := range records {
		path, head, _ := strings.Cut(record, "\n")
		paths = append(paths, path)
		if !strings.HasPrefix(head, "Status: 200\nContent-Type: ") || !strings.HasSuffix(head, " GMT\n") {
			t.Errorf("the head of %s is %q", path, head)
		}
	}
	want := slices.Sorted(slices.Values(listed))
	want = slices.DeleteFunc(want, func(p string) bool { return p == "/docs/large.txt" })
	if end.Outcome != mobile.Done || !slices.Equal(paths, want) {
		t.Errorf("%+v, %q, want %q", end, paths, want)
	}
}
