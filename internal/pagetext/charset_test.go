package pagetext_test

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/net/html/charset"

	"github.com/curtsy/curtsy/internal/htmlscan"
	"github.com/curtsy/curtsy/internal/pagetext"
	"github.com/curtsy/curtsy/pkg/canon"
)

// samples are texts that the encodings of the WHATWG standard can express.
var samples = map[string]string{
	"utf-8": "Привет 你好", "ibm866": "Привет", "iso-8859-5": "Привет", "koi8-r": "Привет", "koi8-u": "Привіт", "windows-1251": "Привет", "x-mac-cyrillic": "Привет",
	"iso-8859-2": "Łódź", "windows-1250": "Łódź", "iso-8859-16": "Łódź", "iso-8859-3": "Ĉĝ", "iso-8859-4": "Āķ", "iso-8859-10": "Āķ", "iso-8859-13": "Āķ", "windows-1257": "Āķ",
	"iso-8859-6": "مرحبا", "windows-1256": "مرحبا", "iso-8859-7": "Ελλ", "windows-1253": "Ελλ", "iso-8859-8": "שלום", "iso-8859-8-i": "שלום", "windows-1255": "שלום",
	"iso-8859-14": "Ŵŷ", "iso-8859-15": "œ€", "windows-1252": "é€", "macintosh": "éœ", "windows-874": "ไทย", "windows-1254": "ğış", "windows-1258": "đơ",
	"gbk": "你好", "gb18030": "你好", "big5": "你好", "euc-jp": "日本語", "iso-2022-jp": "日本語", "shift_jis": "日本語", "euc-kr": "안녕",
}

func encoded(t *testing.T, name, text string) string {
	t.Helper()
	e, _ := charset.Lookup(name)
	s, err := e.NewEncoder().String(text)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return s
}

// read returns what the readers make of a page: the charset that the scanner finds, and the title
// and text that follow from it.
func read(contentType, body string) (name, title, text string) {
	var s htmlscan.Scanner
	name = strings.Clone(s.Scan(htmlscan.Page{URL: canon.URL("http://a.example/"), Body: []byte(body), ContentType: contentType, HTML: true}).Charset)
	var x pagetext.Extractor
	title, _ = x.Title("text/html", name, []byte(body))
	return name, title, string(x.Text("text/html", name, []byte(body)).Body)
}

// A page in each charset of the WHATWG encoding standard, declared by each of its labels and in
// each way, is read as its author meant it.
func TestDeclaredCharsets(t *testing.T) {
	labels, err := os.ReadFile("../html/testdata/labels.txt")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(labels)) {
		label, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		n++
		want, sample := name, samples[name]
		switch name {
		case "utf-16be", "utf-16le": // it was readable as ASCII
			want, sample = "utf-8", samples["utf-8"]
		case "x-user-defined":
			want, sample = "windows-1252", samples["windows-1252"]
		case "replacement": // nobody reads these: they were used to smuggle markup
			if got, title, _ := read("text/html", "<meta charset="+label+"><title>x</title>"); got != name || strings.Contains(title, "x") {
				t.Errorf("%s: read as %s: %q", label, got, title)
			}
			continue
		}
		if sample == "" {
			t.Fatalf("%s: no sample of %s", label, name)
		}
		for _, declaration := range []string{
			"<meta charset=" + label + ">",
			"<html><head><!-- x --><META CharSet=' " + strings.ToUpper(label) + " ' />",
			`<meta http-equiv="Content-Type" content="text/html; charset=` + label + `">`,
			`<?xml version="1.0" encoding="` + label + `"?><html>`,
			// late, where no guess is as good
			"<script>if (a<b) c()</script>" + strings.Repeat(" ", 3000) + `<meta charset="` + label + `">`,
		} {
			if len(declaration) > 3000 && (want == "utf-8" || want == "iso-2022-jp") {
				continue // it looks like UTF-8 and is read as that
			}
			body := declaration + "<title>" + encoded(t, want, sample) + "</title><p>" + encoded(t, want, sample)
			got, title, text := read("text/html", body)
			if got != want || title != sample || !strings.Contains(text, sample) {
				t.Errorf("%.80s: read as %s: %q, %q; want %s: %q", declaration, got, title, text, want, sample)
			}
		}
		got, title, _ := read("text/html; charset="+label, "<title>"+encoded(t, name, sample)+"</title>")
		if name == "utf-16be" || name == "utf-16le" {
			got, title, _ = read("text/html; charset="+label, encoded(t, name, "<title>"+sample+"</title>"))
			want = name
		}
		if name == "x-user-defined" {
			continue // a header means it; no page does
		}
		if got != want || title != sample {
			t.Errorf("header %s: read as %s: %q", label, got, title)
		}
	}
	if n != 228 {
		t.Errorf("%d labels, the standard has 228", n)
	}
}

func TestWhichCharsetCounts(t *testing.T) {
	cyrillic := encoded(t, "windows-1251", "Привет")
	latin := "<title>caf\xe9</title>"
	for _, tt := range []struct{ name, contentType, body, charset, title string }{
		{"mark before header and meta", "text/html; charset=koi8-r", "\xEF\xBB\xBF<meta charset=windows-1251><title>Привет</title>", "utf-8", "Привет"},
		{"UTF-16 mark before meta", "text/html", "\xFE\xFF" + encoded(t, "utf-16be", "<meta charset=windows-1251><title>Привет</title>"), "utf-16be", "Привет"},
		{"header before meta", "text/html; charset=windows-1251", "<meta charset=koi8-r><title>" + cyrillic + "</title>", "windows-1251", "Привет"},
		{"unknown header, meta", "text/html; charset=klingon", "<meta charset=windows-1251><title>" + cyrillic + "</title>", "windows-1251", "Привет"},
		{"first meta of two", "text/html", "<meta charset=windows-1251><meta charset=koi8-r><title>" + cyrillic + "</title>", "windows-1251", "Привет"},
		{"unknown meta, then one known", "text/html", "<meta charset=klingon><meta charset=windows-1251><title>" + cyrillic + "</title>", "windows-1251", "Привет"},
		{"meta before XML", "text/html", `<?xml version="1.0" encoding="koi8-r"?><meta charset=windows-1251><title>` + cyrillic + "</title>", "windows-1251", "Привет"},
		{"one bad byte in declared UTF-8", "text/html", "<meta charset=utf-8><title>Привет \xff</title>", "utf-8", "Привет \uFFFD"},
		{"one bad byte in UTF-8 by header", "text/html; charset=utf-8", "<title>Привет \xff</title>", "utf-8", "Привет \uFFFD"},
		{"a character cut at the limit", "text/html", "<title>Привет</title><p>\xd0", "utf-8", "Привет"},
		{"three of four bytes at the limit", "text/html", "<title>Привет</title><p>\xf0\x9f\x98", "utf-8", "Привет"},
		{"one byte that is no beginning", "text/html", "<title>\u00e9</title><p>\x80", "windows-1252", "Ã©"},
		{"the only sign is at the end", "text/html", "<title>x</title>caf\xe9", "windows-1252", "x"},
		{"no declaration", "text/html", latin, "windows-1252", "café"},
		{"content without http-equiv", "text/html", "<meta name=x content='text/html; charset=windows-1251'>" + latin, "windows-1252", "café"},
		{"content of another pragma", "text/html", "<meta http-equiv=refresh content='5; charset=windows-1251'>" + latin, "windows-1252", "café"},
		{"in a comment", "text/html", "<!-- <meta charset=windows-1251> -->" + latin, "windows-1252", "café"},
		{"in an attribute", "text/html", `<p title="<meta charset=windows-1251>">` + latin, "windows-1252", "café"},
		{"late, in a script", "text/html", "<p>" + strings.Repeat(" ", 2000) + "<script>x='<meta charset=windows-1251>'</script>" + latin, "windows-1252", "café"},
		{"late, behind a title that does not end", "text/html", strings.Repeat(" ", 2000) + "<title>caf\xe9 <meta charset=windows-1251>", "windows-1252", "café <meta charset=windows-1251>"},
		{"not a meta", "text/html", "<metal charset=windows-1251>" + latin, "windows-1252", "café"},
		{"UTF-8 without a word, and a late word to the contrary", "text/html", strings.Repeat(" ", 2000) + "<meta charset=windows-1251><title>Привет</title>", "utf-8", "Привет"},
	} {
		if got, title, _ := read(tt.contentType, tt.body); got != tt.charset || title != tt.title {
			t.Errorf("%s: read as %s: %q; want %s: %q", tt.name, got, title, tt.charset, tt.title)
		}
	}
	// A declaration that the first limit cuts is found all the same. One beyond the last limit is
	// not.
	for _, at := range []int{1000, 1010, 1020, 1024, 256<<10 - 40, 256 << 10} {
		want := "windows-1251"
		if at == 256<<10 {
			want = "windows-1252"
		}
		body := strings.Repeat(" ", at) + "<meta charset=windows-1251><title>" + cyrillic + "</title>"
		if got, _, _ := read("text/html", body); got != want {
			t.Errorf("at %d: read as %s, want %s", at, got, want)
		}
	}
}
