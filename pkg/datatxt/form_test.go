package datatxt

import (
	"errors"
	"testing"
	"unicode/utf16"
)

func TestDatatxt_5_2_WhichForm(t *testing.T) {
	for _, c := range []struct {
		body string
		want Form // "" means refused
	}{
		{"- path: a", YAML},
		{"-\n  path: a", YAML},
		{"[{path: a}]", YAML},
		{"{path: a}", YAML},
		{"\n\n# comment\n  # another\n%YAML 1.2\n---\n- path: a", YAML},
		{"--- # comment\n- path: a", YAML},
		{"--- {path: a}", YAML},
		{"---\n---\n- path: a", YAML},
		{"  - path: a", YAML},
		{"- path: a\nUser-agent: *", ""}, // YAML by its first line, and invalid
		{"User-agent: *\nDisallow: /", Records},
		{"USER-AGENT\t : x\nDisallow: /", Records},
		{"# comment\n\nTitle: x\nuser-agent: *\nDisallow: /", Records},
		{"path: a\nname: b", YAML},
		{"\"path\": a", YAML},
		{"'path' : a", YAML},
		{"path:\n  - a\n  - b", YAML},
		{"title:\n  user-agent: not at column 0", YAML},
		{"title: x", YAML}, // a mapping without path: no dataset, no error
		{"", ""},
		{"\n \n\t\n# only comments\n---\n", ""},
		{"Not Found", ""},
		{"404: not found", ""},
		{"https://example.org/", ""},
		{"Dear visitor: hello", ""},
		{"-path: a", ""},
		{"path:a", ""},
		{"--path", ""},
		{"<html>", ""},
	} {
		f, err := Parse([]byte(c.body), root, bot)
		switch {
		case c.want == "" && err == nil:
			t.Errorf("%q: form %q, want it refused", c.body, f.Form)
		case c.want != "" && err != nil:
			t.Errorf("%q: %v", c.body, err)
		case err == nil && f.Form != c.want:
			t.Errorf("%q: form %q, want %q", c.body, f.Form, c.want)
		}
	}
}

func TestDatatxt_5_2_NotADataTxt(t *testing.T) {
	_, err := Parse([]byte("Page not found"), root, bot)
	var e *Error
	if !errors.Is(err, ErrNotDataTxt) || !errors.As(err, &e) || e.Line != 1 || err.Error() != "data.txt: line 1: not a data.txt" {
		t.Errorf("err = %v", err)
	}
	if _, err := Parse(nil, nil, ""); !errors.Is(err, ErrNotDataTxt) {
		t.Errorf("empty body: %v", err)
	}
}

// Formats §0: one byte order mark is dropped, and UTF-16 is decoded if it has its mark.
func TestFormats_0_ByteOrderMarks(t *testing.T) {
	body := "- path: a.csv\n  title: Zürich 🚋\n"
	le, be := []byte{0xFF, 0xFE}, []byte{0xFE, 0xFF}
	for _, u := range utf16.Encode([]rune(body)) {
		le = append(le, byte(u), byte(u>>8))
		be = append(be, byte(u>>8), byte(u))
	}
	for name, b := range map[string][]byte{"none": []byte(body), "UTF-8": []byte("\uFEFF" + body), "UTF-16LE": le, "UTF-16BE": be} {
		if got := one(t, string(b)); got.Title != "Zürich 🚋" {
			t.Errorf("%s: title %q", name, got.Title)
		}
	}
	// An incomplete last character has no effect on the rest.
	if d := one(t, string(append(le, 'x'))); d.Title != "Zürich 🚋" {
		t.Errorf("odd length: title %q", d.Title)
	}
}

// Formats §0: a bad byte affects its own line at most, although the YAML reader would refuse the
// file for it.
func TestFormats_0_BadBytes(t *testing.T) {
	f := parse(t, "- path: a.csv\n  title: caf\xe9\n- path: b\xff.csv\n- path: c.csv\n")
	if got, want := urls(f), "https://d.example/a.csv https://d.example/b%EF%BF%BD.csv https://d.example/c.csv"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if f.Datasets[0].Title != "caf\uFFFD" || reasons(f) != "2: bytes that are not UTF-8; 3: bytes that are not UTF-8" {
		t.Errorf("title %q; %s", f.Datasets[0].Title, reasons(f))
	}
	// In records a path consists of octets, so Latin-1 works as intended.
	f = parse(t, "User-agent: *\nDisallow: /caf\xe9\nPath: /z\xfc.csv\nTitle: Z\xfcrich\n")
	if allowed, _ := f.Allowed("/caf%E9"); allowed {
		t.Error("a raw octet does not match its encoding")
	}
	if d := f.Datasets[0]; d.URLs[0] != "https://d.example/z%FC.csv" || d.Title != "Z\uFFFDrich" {
		t.Errorf("%q, title %q", d.URLs, d.Title)
	}
}

// Formats §0: names ignore the case of ASCII letters only.
func TestFormats_0_NamesFoldASCIIOnly(t *testing.T) {
	f := parse(t, "User-agent: *\nuSER-aGENT: x\nDISALLOW: /x\nDi\u017fallow: /y\nPATH: a.csv\n\u017fource: s\nSource: t\n")
	if allowed, _ := f.Allowed("/x"); allowed {
		t.Error("DISALLOW is not read")
	}
	if allowed, _ := f.Allowed("/y"); !allowed {
		t.Error("Di\u017fallow is read as Disallow")
	}
	if len(f.Datasets) != 1 || f.Datasets[0].Source != "t" {
		t.Errorf("%+v", f.Datasets)
	}
	refused(t, "U\u017fer-agent: *\nDisallow: /x\n", ErrNotDataTxt)
}
