package llmstxt

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		name, body, title string
		links             []string
	}{
		{"all of it", "\ufeff# FastHTML\r\n\r\n> A library.\r\n\r\nNotes [not](/this).\r\n\r\n## Docs\r\n\r\n- [Quick start](https://a.example/q.html.md): An overview\r\n* [API](/api)\r\n\r\n## Optional\r\n\r\n+ [More](more.md \"a title\")\r\n",
			"FastHTML", []string{"https://a.example/q.html.md", "/api", "more.md"}},
		{"a heading is all", "\n# A", "A", nil},
		{"names with brackets", "# A\n- [a [b] \\] c](/x_(y)): z", "A", []string{"/x_(y)"}},
		{"angles", "# A\n- [a](</x y>)\n- [b](</x\n- [c](< /z> )", "A", []string{"/x y", " /z"}},
		{"indented, in bold", "# A\n   - **[a](/x)**: b", "A", []string{"/x"}},
		{"not at the beginning", "# A\n- see [a](/x)\n[b](/y)\n- ![c](/z)\n-[d](/e)\n- [f] (/g)\n- [h](/i", "A", nil},
		{"in longer code", "# A\n````md\n```\n- [a](/x)\n```\n````\n~~~\n- [c](/z)\n~~~\n- [b](/y)", "A", []string{"/y"}},
		{"in code", "# A\n```\n- [a](/x)\n```\n- [b](/y)", "A", []string{"/y"}},
		{"too long", "# A\n- [a](/" + strings.Repeat("x", MaxLink) + ")\n- [b](/" + strings.Repeat("x", MaxLink-1) + ")", "A", []string{"/" + strings.Repeat("x", MaxLink-1)}},
	} {
		f, err := Parse([]byte(c.body))
		if err != nil || f.Title != c.title || !slices.Equal(f.Links, c.links) || f.Truncated {
			t.Errorf("%s: %+v, %v", c.name, f, err)
		}
	}
	for _, body := range []string{"", " \n", "<!doctype html><title># A</title>", "A\n# B", "## A", "#A", "#", "# "} {
		if f, err := Parse([]byte(body)); !errors.Is(err, ErrNoTitle) || f.Title != "" {
			t.Errorf("%q: %+v, %v", body, f, err)
		}
	}
}

func TestLimits(t *testing.T) {
	for _, n := range []int{MaxLinks, MaxLinks + 1} {
		f, err := Parse([]byte("# A\n" + strings.Repeat("- [a](/x)\n", n)))
		if err != nil || len(f.Links) != MaxLinks || f.Truncated != (n > MaxLinks) {
			t.Errorf("%d links: %d, %v, %v", n, len(f.Links), f.Truncated, err)
		}
	}
	for _, n := range []int{MaxBytes, MaxBytes + 1} {
		body := "# A\n- [a](/x)\n"
		f, err := Parse([]byte(body + strings.Repeat(" ", n-len(body))))
		if err != nil || len(f.Links) != 1 || f.Truncated != (n > MaxBytes) {
			t.Errorf("%d bytes: %+v, %v", n, f, err)
		}
	}
	if f, _ := Parse([]byte("# " + strings.Repeat("ä", 200))); len(f.Title) != 200 || !utf8.ValidString(f.Title) {
		t.Errorf("title %q", f.Title)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("# A\n\n> b\n\n## C\n- [d](/e \"f\"): g\n- [h](<i>)\n"))
	f.Fuzz(func(t *testing.T, body []byte) {
		got, err := Parse(body)
		if (err == nil) != (got.Title != "") || len(got.Title) > 200 || !utf8.ValidString(got.Title) || len(got.Links) > MaxLinks {
			t.Errorf("%+v, %v", got, err)
		}
		for _, l := range got.Links {
			if l == "" || len(l) > MaxLink {
				t.Errorf("%q", l)
			}
		}
	})
}
