package main

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// oddKinds are what may be in the place of a file. Each returns an error if it cannot be made.
var oddKinds = map[string]func(path, elsewhere string) error{
	"symbolic link": func(path, elsewhere string) error {
		return errors.Join(os.Rename(path, elsewhere), os.Symlink(elsewhere, path))
	},
	"dangling link": func(path, elsewhere string) error {
		return errors.Join(os.RemoveAll(path), os.Symlink(elsewhere, path))
	},
	"link to itself": func(path, _ string) error {
		return errors.Join(os.RemoveAll(path), os.Symlink(filepath.Base(path), path))
	},
	"directory": func(path, _ string) error {
		return errors.Join(os.RemoveAll(path), os.MkdirAll(filepath.Join(path, "x"), 0o700))
	},
	"pipe": func(path, _ string) error { return errors.Join(os.RemoveAll(path), syscall.Mkfifo(path, 0o600)) },
}

// filesOfACrawl are one of each kind of file that docs/reference/files.md lists.
var filesOfACrawl = []string{
	"frontier-0.db", "pages-0.db", "search-0.db", "nats", "spec.json", "reading.mark", "requests.journal", "lock", "nats.json", "crawl.jsonl",
	"crawl-0123456789abcdef-000000000000000.jsonl", "intake-0-1.log", "queries.db",
}

// Whatever is in the place of a file of a crawl, each command ends with 1 and names the file and
// what to type: without a panic, and without waiting for the other end of a pipe. Before, of 66
// cases of `curtsy crawl` 6 panicked, 12 did not end, and 35 went on as if nothing was wrong.
func TestOddFiles(t *testing.T) {
	t.Parallel()
	k := newKillSite(t)
	if k.crawl() {
		t.Fatal("killed")
	}
	// A killed crawl leaves the first and the third, a full log the second, and --query-report the
	// last.
	for name, text := range map[string]string{"nats.json": "{}\n", "crawl-0123456789abcdef-000000000000000.jsonl": "{}\n", "intake-0-1.log": "curtsy intake 1\n", "queries.db": ""} {
		if err := os.WriteFile(filepath.Join(k.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	readers := [][]string{{"status"}, {"export", "pages"}, {"serve", "--listen", "127.0.0.1:0"}, {"log"}, {"search", "words"}, {"dashboard", "--listen", "127.0.0.1:0"}}
	kinds := slices.Sorted(maps.Keys(oddKinds))
	for i, name := range filesOfACrawl {
		// internal/disk has a test of all of them together.
		for _, kind := range []string{kinds[i%len(kinds)], "pipe"} {
			path, elsewhere, aside := filepath.Join(k.dir, name), filepath.Join(t.TempDir(), "x"), filepath.Join(t.TempDir(), "aside")
			if name == "nats" {
				kind = "pipe" // it is a directory, which may be on another disk
			}
			if err := errors.Join(exec.Command("cp", "-a", path, aside).Run(), oddKinds[kind](path, elsewhere)); err != nil {
				t.Fatal(kind, name, err)
			}
			args := readers[i%len(readers)]
			if kind != "pipe" {
				args = []string{"crawl", "--max-time", "1h"}
			}
			out, err := exec.Command("curtsy", append(args, "--dir", k.dir)...).CombinedOutput()
			var exit *exec.ExitError
			switch said := string(out); {
			case !errors.As(err, &exit) || exit.ExitCode() != 1:
				t.Errorf("%s as a %s: curtsy %s ends with %v\n%s", name, kind, strings.Join(args, " "), err, said)
			case !strings.Contains(said, "mv "+path) && !strings.Contains(said, "rm "+path) && !strings.Contains(said, "mv "+elsewhere+" "+path):
				t.Errorf("%s as a %s: curtsy %s does not say what to type: %s", name, kind, strings.Join(args, " "), said)
			}
			if err := errors.Join(os.RemoveAll(path), os.Rename(aside, path)); err != nil {
				t.Fatal(err)
			}
		}
	}
	// A hard link is the file itself.
	for _, name := range filesOfACrawl {
		if err := os.Link(filepath.Join(k.dir, name), filepath.Join(t.TempDir(), "x")); err != nil && name != "nats" {
			t.Fatal(err)
		}
	}
	if k.crawl() {
		t.Error("killed")
	}
}

// The table above has each row of the page about files.
func TestOddFilesHasAllFiles(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/files.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.Lines(string(page)) {
		name, ok := strings.CutPrefix(line, "| `")
		if !ok {
			continue
		}
		rows++
		name, _, _ = strings.Cut(name, "`")
		if name == "feed-NAME.dead.jsonl" { // only a feed opens it
			continue
		}
		pattern := strings.NewReplacer("-N.", "-*.", "-N-M.", "-*-*.", "…", "*", "/", "").Replace(name)
		if !slices.ContainsFunc(filesOfACrawl, func(have string) bool { ok, _ := filepath.Match(pattern, have); return ok }) {
			t.Errorf("%s is not in filesOfACrawl", name)
		}
	}
	if rows < 10 {
		t.Errorf("the page has %d rows", rows)
	}
}

// A crawl whose database cannot be opened ends with its time limit. Before, the limit began only
// when the crawl was ready.
func TestMaxTimeEndsACrawlThatIsNotReady(t *testing.T) {
	t.Parallel()
	srv := newSite(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "words") })
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "frontier-0.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil { // as another process would
		t.Fatal(err)
	}
	out, err := exec.Command("curtsy", "crawl", "--dir", dir, "--contact", "a@example.org", "--allow-private", "--max-time", "1s", srv.URL).CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(string(out), "not ready in time") || !strings.Contains(string(out), "of 4 shards") {
		t.Errorf("%v: %s", err, out)
	}
}
