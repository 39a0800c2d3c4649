package frontier

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A frontier that is started for another crawl in a directory changes none of its files.
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
	f, err := New(nil, spec, Options{Dir: dir, Instance: "f1"}) // it ends before it uses its server
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Run(t.Context()); err == nil || !strings.Contains(err.Error(), `"a"`) || !strings.Contains(err.Error(), "--dir") {
		t.Errorf("another's: %v", err)
	}
	if spec, err := ReadSpec(dir); err != nil || spec.Name != "a" {
		t.Errorf("it has %q now (%v)", spec.Name, err)
	}
}

// A daemon in the directory of a crawl with an embedded NATS server changes none of its files,
// although the crawl has the same name.
func TestADaemonInTheDirectoryOfACrawlWithItsOwnServer(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(SpecFile(dir), []byte(`{"name":"a","shards":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := CheckDaemonDir(dir, "a"); err != nil {
		t.Errorf("its own: %v", err)
	}
	if err := CheckDaemonDir(dir, "b"); err == nil || !strings.Contains(err.Error(), "--crawl a") {
		t.Errorf("that of another crawl: %v", err)
	}
	if err := os.Mkdir(filepath.Join(dir, "nats"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "nats", "lock"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := CheckDaemonDir(dir, "a"); err == nil || !strings.Contains(err.Error(), "curtsy crawl --dir "+dir) || !strings.Contains(err.Error(), "another --dir") {
		t.Errorf("that of a crawl with its own server: %v", err)
	}
	if err := CheckDaemonDir(t.TempDir(), "a"); err != nil {
		t.Errorf("a new directory: %v", err)
	}
}
