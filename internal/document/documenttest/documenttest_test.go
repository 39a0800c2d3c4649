package documenttest

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
)

var content = Content{Title: "A <title>", Text: "Some & words", Link: "https://a.example/?a=1&b=2"}

// TestOffice: each office document is a zip file that has the title, the text and the link,
// escaped.
func TestOffice(t *testing.T) {
	t.Parallel()
	for kind, body := range map[string][]byte{
		"docx": content.DOCX(), "xlsx": content.XLSX(), "pptx": content.PPTX(), "odt": content.ODT(), "ods": content.ODS(), "odp": content.ODP(),
	} {
		z, err := zip.NewReader(bytes.NewReader(body), int64(len(body)))
		if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		var all strings.Builder
		for _, f := range z.File {
			r, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(&all, r); err != nil {
				t.Fatal(err)
			}
		}
		for _, want := range []string{"A &lt;title&gt;", "Some &amp; words", "https://a.example/?a=1&amp;b=2"} {
			if !strings.Contains(all.String(), want) {
				t.Errorf("%s does not contain %s", kind, want)
			}
		}
		if kind[0] == 'o' && (z.File[0].Name != "mimetype" || kind == "odt" && !strings.HasPrefix(all.String(), "application/vnd.oasis.opendocument.text")) {
			t.Errorf("%s begins with %s", kind, z.File[0].Name)
		}
	}
}

// TestPDF: the table of a PDF has the position of each of its objects, and startxref that of the
// table.
func TestPDF(t *testing.T) {
	t.Parallel()
	body := string(content.PDF())
	_, end, _ := strings.Cut(body, "startxref\n")
	var table int
	if _, err := fmt.Sscan(end, &table); err != nil || !strings.HasPrefix(body[table:], "xref\n0 6\n") {
		t.Fatalf("no table at %d: %v", table, err)
	}
	lines := strings.Split(body[table:], "\n")[3:]
	for i := range 5 {
		var at int
		if _, err := fmt.Sscan(strings.TrimLeft(lines[i][:9], "0")+lines[i][9:10], &at); err != nil || !strings.HasPrefix(body[at:], fmt.Sprintf("%d 0 obj\n", i+1)) {
			t.Errorf("object %d is not at %q: %v", i+1, lines[i], err)
		}
	}
	if !strings.Contains(string(Content{Title: `a(b)\`}.PDF()), `/Title(a\(b\)\\)`) {
		t.Error("a title is not escaped")
	}
}

// TestHostile: each has a name of its own and a type. Making all of them would take seconds.
func TestHostile(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, h := range All() {
		if names[h.Name] || !strings.Contains(h.Type, "/") || h.Make == nil {
			t.Errorf("%s (%s): twice, or incomplete", h.Name, h.Type)
		}
		names[h.Name] = true
	}
	if len(names) < 20 {
		t.Errorf("only %d documents", len(names))
	}
}
