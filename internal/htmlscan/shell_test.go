package htmlscan

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/html"
)

// sample is a page of testdata/shells-*.txt.
type sample struct {
	name  string
	shell bool
	page  string
}

// samples reads a file of pages. The rules of package htmlscan were chosen with those of
// shells-choose.txt; those of shells-check.txt were written before and looked at only afterwards.
func samples(t *testing.T, file string) (all []sample) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range strings.Split("\n"+string(text), "\n-- ")[1:] {
		head, page, ok := strings.Cut(part, " --\n")
		kind, name, named := strings.Cut(head, ": ")
		if !ok || !named || kind != "shell" && kind != "page" {
			t.Fatalf("%s: %q", file, head)
		}
		all = append(all, sample{name, kind == "shell", page})
	}
	return all
}

// textOf counts the text of a page as the simplest rule does that could be used instead.
func textOf(page string) (n int) {
	z := html.Reader{Page: []byte(page), Scripts: true}
	for {
		switch kind, val, _ := z.Next(); kind {
		case html.End:
			return n
		case html.Text:
			n += visible(val)
		}
	}
}

// score counts the answers of a rule.
type score struct{ found, missed, wrong, right int }

func (s *score) add(is, said bool) {
	switch {
	case is && said:
		s.found++
	case is:
		s.missed++
	case said:
		s.wrong++
	default:
		s.right++
	}
}

func (s score) precision() float64 { return float64(s.found) / float64(max(s.found+s.wrong, 1)) }
func (s score) recall() float64    { return float64(s.found) / float64(max(s.found+s.missed, 1)) }

func (s score) String() string {
	return fmt.Sprintf("precision %.2f, recall %.2f (%d found, %d missed, %d wrong, %d right)", s.precision(), s.recall(), s.found, s.missed, s.wrong, s.right)
}

// Shells are recognised, and short pages are not taken for shells: better than by the length of the
// text alone, with the best limit that the pages to choose with allow.
func TestShells(t *testing.T) {
	choose, check := samples(t, "shells-choose.txt"), samples(t, "shells-check.txt")
	byLength := func(all []sample, limit int) (s score) {
		for _, p := range all {
			s.add(p.shell, textOf(p.page) < limit)
		}
		return s
	}
	best, limit := score{}, 0
	for n := range 500 {
		s := byLength(choose, n)
		if s.wrong+s.missed < best.wrong+best.missed || n == 0 {
			best, limit = s, n
		}
	}
	ours := func(all []sample, note string) (s score) {
		for _, p := range all {
			said := scan(t, p.page).NeedsScript
			if s.add(p.shell, said); said != p.shell {
				t.Logf("%s: %s: %v", note, p.name, said)
			}
		}
		return s
	}
	chosen, checked := ours(choose, "chosen with"), ours(check, "set aside")
	rival := byLength(check, limit)
	t.Logf("chosen with: %v; text < %d: %v", chosen, limit, best)
	t.Logf("set aside:   %v; text < %d: %v", checked, limit, rival)
	if chosen.wrong+chosen.missed > 0 || checked.wrong > 0 || checked.missed > 1 {
		t.Errorf("chosen with: %v; set aside: %v", chosen, checked)
	}
	if rival.wrong+rival.missed <= checked.wrong+checked.missed {
		t.Errorf("the length of the text alone is as good: %v", rival)
	}
}

// No page of a manual is a shell.
func TestManualsAreNoShells(t *testing.T) {
	dirs := os.Getenv("CURTSY_MANUALS")
	if dirs == "" {
		t.Skip("CURTSY_MANUALS names directories with HTML")
	}
	pages, shells := 0, 0
	var s Scanner
	for dir := range strings.SplitSeq(dirs, ":") {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".html") || !d.Type().IsRegular() {
				return err
			}
			body, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			pages++
			if s.Scan(Page{URL: here, Body: body, ContentType: "text/html", HTML: true, Token: "x"}).NeedsScript {
				shells++
				t.Logf("%s", path)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d pages, %d of them called shells", pages, shells)
}
