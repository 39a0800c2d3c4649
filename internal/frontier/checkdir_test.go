package frontier

import (
	"os"
	"strings"
	"testing"
)

// Who is started for another crawl in a directory takes nothing of its files.
func TestADirectoryOfAnotherCrawl(t *testing.T) {
	dir := t.TempDir()
	if err := CheckDir(dir, "b"); err != nil {
		t.Errorf("a new directory: %v", err)
	}
	if err := os.WriteFile(SpecFile(dir), []byte(`{"name":"a","shards":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := CheckDir(dir, "a"); err != nil {
		t.Errorf("its own: %v", err)
	}
	spec := testSpec("http://b.example/")
	spec.Name = "b"
	f, err := New(nil, spec, Options{Dir: dir, Instance: "f1"}) // it does not come to its server
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Run(t.Context()); err == nil || !strings.Contains(err.Error(), `"a"`) || !strings.Contains(err.Error(), "--dir") {
		t.Errorf("another's: %v", err)
	}
	if spec, err := ReadSpec(dir); err != nil || spec.Name != "a" {
		t.Errorf("it holds %q now (%v)", spec.Name, err)
	}
}
