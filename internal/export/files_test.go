package export

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// hostile are URLs whose names would be trouble as names of files.
var hostile = []canon.URL{
	"https://example.org/", "https://example.org/?", "https://example.org/../../etc/passwd", "https://example.org/..%2f..%2fetc%2fpasswd", "https://example.org/%00",
	"https://con/", "https://nul.example/aux", "https://example.org/con.txt.", "https://example.org/a:stream", "https://example.org/-rf", "https://example.org/~",
	"https://example.org/A", "https://example.org/a", "http://example.org/a", "https://example.org/%E2%80%AE", "https://example.org/a b<>|*?\"\n\x1b[2J",
	"http://[2001:db8::1]:81/", "https://example.org/" + canon.URL(strings.Repeat("x", 5000)), "https://" + canon.URL(strings.Repeat("x.", 120)) + "org/", "https://example.org/index.jsonl",
	"https://example.org/page.unfinished", "no url at all", "", "/etc/passwd", "https://example.org/é", `https://example.org/a\..\..\b`,
}

var safeName = regexp.MustCompile(`^([0-9a-f]{2})/([0-9a-f]{32})(-[a-z0-9]+)*\.(txt|md|html)$`)

func TestFileName(t *testing.T) {
	seen := map[string]canon.URL{}
	for _, u := range hostile {
		name := FileName(u, "txt")
		if m := safeName.FindStringSubmatch(name); m == nil || !strings.HasPrefix(m[2], m[1]) || len(name) > 3+32+maxWords+4 || !filepath.IsLocal(name) {
			t.Errorf("%q is %q", u, name)
		}
		if other, ok := seen[strings.ToLower(name)]; ok {
			t.Errorf("%q and %q are %q", u, other, name)
		}
		seen[name] = u
	}
	if got := FileName("https://www.example.org/docs/Intro.html?x=1", "md"); !strings.HasSuffix(got, "-www-example-org-docs-intro-html.md") {
		t.Error(got)
	}
}

func FuzzFileName(f *testing.F) {
	for _, u := range hostile {
		f.Add(string(u))
	}
	f.Fuzz(func(t *testing.T, u string) {
		if name := FileName(canon.URL(u), "html"); !safeName.MatchString(name) || len(name) > 3+32+maxWords+5 {
			t.Errorf("%q is %q", u, name)
		}
	})
}

// exported runs an export into a folder.
func exported(t *testing.T, dir string, again bool, rows ...*crawl.PageRow) {
	t.Helper()
	f, err := OpenFiles(dir, again)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		if err := f.Page(row); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func textOf(u canon.URL, text string) *crawl.PageRow {
	return &crawl.PageRow{PageRecord: crawl.PageRecord{PageInfo: crawl.PageInfo{URL: string(u), FetchedAt: day}, Text: text}}
}

// held is what is in a folder: the content of each file but the index, and the index' lines.
func held(t *testing.T, dir string) (files map[string]string, lines []IndexLine) {
	t.Helper()
	files = map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		if name != IndexFile {
			files[filepath.ToSlash(name)] = string(b)
			return nil
		}
		for line := range strings.Lines(string(b)) {
			var l IndexLine
			if err := json.Unmarshal([]byte(line), &l); err != nil {
				return err
			}
			lines = append(lines, l)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files, lines
}

// Every page has a file of its own, the index says which, and nothing is written elsewhere.
func TestFiles(t *testing.T) {
	out := t.TempDir()
	dir := filepath.Join(out, "new", "folder")
	var rows []*crawl.PageRow
	for _, u := range hostile {
		rows = append(rows, textOf(u, "the text of "+string(u)))
	}
	withheld := textOf("https://example.org/withheld", "")
	withheld.Withheld = "noarchive"
	html := textOf("https://example.org/html", "")
	html.HTML = "<p>\xff"
	markdown := textOf("https://example.org/markdown", "")
	markdown.Markdown = "# m"
	exported(t, dir, false, append(rows, withheld, html, markdown)...)
	files, lines := held(t, dir)
	if len(lines) != len(hostile)+3 || len(files) != len(hostile)+2 {
		t.Fatalf("%d lines and %d files of %d pages", len(lines), len(files), len(hostile)+3)
	}
	for i, u := range hostile {
		if l := lines[i]; l.URL != strings.ToValidUTF8(string(u), "\uFFFD") || l.Text != "" || files[l.File] != "the text of "+string(u) {
			t.Errorf("%q: %+v: %q", u, l, files[l.File])
		}
	}
	end := lines[len(hostile):]
	if end[0].File != "" || end[0].Withheld != "noarchive" || files[end[1].File] != bom+"<p>\uFFFD" || files[end[2].File] != "# m" || !strings.HasSuffix(end[2].File, ".md") {
		t.Errorf("%+v", end)
	}
	if here, err := os.ReadDir(out); err != nil || len(here) != 1 {
		t.Error(here, err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Error(info.Mode(), err)
	}
}

// A folder is brought up to date: a page that changed has its file replaced, one that is gone, or
// has no content any more, has none.
func TestFilesAgain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	exported(t, dir, true, textOf("https://a.example/1", "one"), textOf("https://a.example/2", "two"), textOf("https://a.example/3", "three"), textOf("https://a.example/4", "four"))
	gone, none, otherwise := textOf("https://a.example/2", ""), textOf("https://a.example/3", ""), textOf("https://a.example/4", "")
	gone.Removed, none.Withheld, otherwise.Markdown = "noindex", "nosnippet", "# four"
	never := textOf("https://a.example/never", "")
	never.Removed = "http-4xx"
	exported(t, dir, true, textOf("https://a.example/1", "more"), gone, none, otherwise, never)
	files, lines := held(t, dir)
	if len(files) != 2 || files[FileName("https://a.example/1", "txt")] != "more" || files[FileName("https://a.example/4", "md")] != "# four" || len(lines) != 9 {
		t.Errorf("%q, %d lines", files, len(lines))
	}
	if lines[5].Removed != "noindex" || lines[5].File != "" || lines[6].Withheld != "nosnippet" {
		t.Errorf("%+v", lines[5:7])
	}
}

// An export that was killed leaves the half of a line at the end of its index: the next one brings
// the folder up to date all the same, and no line is lost for it.
func TestFilesAfterAKill(t *testing.T) {
	for name, left := range map[string]string{
		"half a line":  `{"file":"aa/x.txt","url":"https://a.exa`,
		"a long half":  `{"file":"aa/x.txt","url":"https://a.example/` + strings.Repeat("x", 300<<10),
		"nothing else": "",
	} {
		dir := filepath.Join(t.TempDir(), "out")
		exported(t, dir, false, textOf("https://a.example/1", "one"))
		if name == "nothing else" {
			left = `{"file":`
			if err := os.Truncate(filepath.Join(dir, IndexFile), 0); err != nil {
				t.Fatal(err)
			}
		}
		f, err := os.OpenFile(filepath.Join(dir, IndexFile), os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(left); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		exported(t, dir, true, textOf("https://a.example/2", "two"))
		files, lines := held(t, dir)
		if n := len(lines); n == 0 || lines[n-1].URL != "https://a.example/2" || files[lines[n-1].File] != "two" {
			t.Errorf("%s: %+v", name, lines)
		}
	}
}

// Nobody's files are touched.
func TestFilesOfOthers(t *testing.T) {
	for _, again := range []bool{false, true} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "mine"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenFiles(dir, again); !errors.Is(err, ErrNotEmpty) {
			t.Errorf("again %v: %v", again, err)
		}
	}
	dir := t.TempDir()
	exported(t, dir, false, textOf("https://a.example/1", "one"))
	if _, err := OpenFiles(dir, false); !errors.Is(err, ErrNotEmpty) {
		t.Error(err)
	}
	// Links that lead out of the folder are not followed.
	outside := t.TempDir()
	name := FileName("https://a.example/2", "txt")
	if err := os.Symlink(outside, filepath.Join(dir, name[:2])); err != nil {
		t.Skip(err)
	}
	f, err := OpenFiles(dir, true)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Page(textOf("https://a.example/2", "two")); err == nil {
		t.Error("written through a link")
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if here, err := os.ReadDir(outside); err != nil || len(here) > 0 {
		t.Error(here, err)
	}
	index := t.TempDir()
	if err := os.Symlink(filepath.Join(outside, "x"), filepath.Join(index, IndexFile)); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenFiles(index, true); !errors.Is(err, ErrNotEmpty) {
		t.Error(err)
	}
}
