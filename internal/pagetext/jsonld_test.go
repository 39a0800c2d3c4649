package pagetext

import (
	"strings"
	"testing"

	"golang.org/x/text/encoding/unicode"
)

func TestLinkedData(t *testing.T) {
	const set = `{"@type": "Dataset", "name": "x"}`
	utf16, err := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().String(`<script type="application/ld+json">` + set + `</script>`)
	if err != nil {
		t.Fatal(err)
	}
	script := func(s string) string { return `<script type="application/ld+json">` + s + `</script>` }
	var x Extractor
	for _, c := range []struct{ name, kind, charset, body, want string }{
		{"one", "text/html", "utf-8", "<p>a" + script(set), "[" + set + "]"},
		{"in head and body, others between", "text/html", "utf-8", script(set) + `<script>var Dataset = 1</script><p>x` + script(`[1]`) + `<script type="text/plain">{}</script>`, "[" + set + ",[1]]"},
		{"broken JSON beside it", "text/html", "utf-8", script(`{"@type": "Dataset", "a": "a "b" c"}`) + script(set), "[" + set + "]"},
		{"nearly JSON", "text/html", "utf-8", script(`{"@type": "Dataset",};`) + script(set), `[{"@type": "Dataset"},` + set + "]"},
		{"two in one script", "text/html", "utf-8", script(`{"@type": "Dataset"} {"@type": "Person"}`), `[[{"@type": "Dataset"} ,{"@type": "Person"}]]`},
		{"parameters and case", "text/html", "utf-8", `<script type="Application/LD+JSON; profile=x">` + set + `</script>`, "[" + set + "]"},
		{"plus as a reference", "text/html", "utf-8", `<script type="application/ld&#43;json">` + set + `</script>`, "[" + set + "]"},
		{"in a comment", "text/html", "utf-8", script("\n<!-- " + set + " -->\n"), "[" + set + "]"},
		{"CDATA in XHTML", "application/xhtml+xml", "utf-8", `<html><head><title/>` + script("<![CDATA[\n"+set+"\n]]>") + `</head></html>`, "[" + set + "]"},
		{"latin-1", "text/html", "windows-1252", script("{\"@type\": \"Dataset\", \"name\": \"\xe9\"}"), `[{"@type": "Dataset", "name": "é"}]`},
		{"UTF-16", "text/html", "utf-16le", utf16, "[" + set + "]"},
		{"nothing of datasets", "text/html", "utf-8", script(`{"@type": "Organization"}`), ""},
		{"the word alone", "text/html", "utf-8", "<p>Dataset", ""},
		{"commented out", "text/html", "utf-8", "<!--" + script(set) + "-->", ""},
		{"plain text", "text/plain", "utf-8", script(set), ""},
		{"no JSON at all", "text/html", "utf-8", script("Dataset"), ""},
		{"too long", "text/html", "utf-8", script(set) + script(`"`+strings.Repeat("x", 1000)+`"`) + script(set), "[" + set + "," + set + "]"},
	} {
		if got := string(x.LinkedData(c.kind, c.charset, []byte(c.body), 500)); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// What is said of scripts that are not strict JSON, with offsets in the page where they are known.
func TestLinkedDataReport(t *testing.T) {
	script := func(s string) string { return `<script type="application/ld+json">` + s + `</script>` }
	var x Extractor
	for _, c := range []struct{ name, kind, charset, body, want string }{
		{"strict", "text/html", "utf-8", script(`{"@type": "Dataset"}`), ""},
		{"a comma", "text/html", "utf-8", "<p>é" + script(`{"@type": "Dataset",}`), "script 1 of JSON-LD, from byte 40 of the page: read with one error forgiven: a comma before } at byte 60"},
		{"behind a byte order mark", "text/html", "utf-8", "\xef\xbb\xbf" + script(`{"@type": "Dataset",}`), "script 1 of JSON-LD, from byte 38 of the page: read with one error forgiven: a comma before } at byte 58"},
		{"another charset", "text/html", "windows-1252", "<p>\xe9" + script(`{"@type": "Dataset",}`), "script 1 of JSON-LD, bytes from its beginning: read with one error forgiven: a comma before } at byte 20"},
		{"the second", "text/html", "utf-8", script(`{"@type": "Dataset"}`) + script(`{"@type": "Dataset", "name": "the "best""}`),
			`script 2 of JSON-LD, from byte 99 of the page: it could not be read: an unescaped quote in a text, or a missing comma, at byte 134`},
		{"a node of a graph", "text/html", "utf-8", script(`{"@graph": [{"@type": "Dataset"}, {"a" 1}]}`), "script 1 of JSON-LD, from byte 35 of the page: one entry of 2 could not be read: \"1\" where a colon should be at byte 74"},
		{"of other things", "text/html", "utf-8", script(`{"@type": "Person",}`) + script(`{"@type": "Dataset"}`), ""},
		{"too long", "text/html", "utf-8", script(`{"@type": "Dataset", "name": "` + strings.Repeat("x", 500) + `"}`), "script 1 of JSON-LD, from byte 35 of the page: it could not be read: more than 500 bytes of JSON-LD with this script of 532 bytes, at byte 35"},
	} {
		_, odd := x.LinkedDataReport(c.kind, c.charset, []byte(c.body), 500)
		var got []string
		for _, o := range odd {
			got = append(got, o.String())
		}
		if strings.Join(got, "\n") != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	_, odd := x.LinkedDataReport("text/html", "utf-8", []byte(strings.Repeat(script(`{"@type": "Dataset",}`), maxReports+1)), 1<<20)
	if len(odd) != maxReports {
		t.Errorf("%d scripts are described", len(odd))
	}
	long := script(`{"@type": "Dataset", "x": "` + strings.Repeat("x", maxFixed) + `",}`)
	if linked, odd := x.LinkedDataReport("text/html", "utf-8", []byte(long), 8<<20); linked != nil || len(odd) != 1 || !odd[0].Failed {
		t.Errorf("more than is repaired: %d bytes, %v", len(linked), odd)
	}
}

// What the search for JSON-LD costs: for a page without any, with some about other things, and with
// a dataset.
func BenchmarkLinkedData(b *testing.B) {
	filler := strings.Repeat(`<p class="x">Some <a href="/l">words</a> of a page, as pages are.</p>`, 260)
	for name, body := range map[string]string{
		"none":    filler,
		"other":   `<script type="application/ld+json">{"@type": "Organization", "name": "o"}</script>` + filler,
		"dataset": `<script type="application/ld+json">{"@type": "Dataset", "name": "d"}</script>` + filler,
	} {
		b.Run(name, func(b *testing.B) {
			var x Extractor
			page := []byte(body)
			for b.Loop() {
				x.LinkedData("text/html", "utf-8", page, 1<<20)
			}
		})
	}
}

// A sign after the end of a script begins a new search. A sign within the script does not.
func TestMayLink(t *testing.T) {
	for body, want := range map[string]bool{
		"+json dataset":                         true,
		"+json</script>dataset":                 false,
		"+json</script>+json dataset":           true,
		"+json +json +json</script> dataset":    false,
		"+JSON +x</script> &#43;json Dataset":   true,
		"dataset +json":                         false,
		"+jso dataset &plus;json </script":      false,
		"+json</script &#x2B;JSON dataset +":    true,
		strings.Repeat("+json", 3) + "ataset":   true,
		strings.Repeat("+json</script>", 3):     false,
		strings.Repeat("&plus;json ", 3) + "at": false,
	} {
		if got := mayLink([]byte(body)); got != want {
			t.Errorf("%q: %v", body, got)
		}
	}
}
