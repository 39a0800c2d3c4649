package answer

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

// RFC 8288 §3: targets, parameters with and without quotes, and what is no link between them.
func TestLinks(t *testing.T) {
	h := http.Header{"Link": {`</a>; rel="Next last"; title="one, \"two\"; three", </b>;rel=prev;rel=next;anchor=x`, "nothing", `<>; type=text/html`, `</c`}}
	want := []Link{{"/a", "Next last", "", `one, "two"; three`, ""}, {"/b", "prev", "", "", "x"}, {"/c", "", "", "", ""}}
	var got []Link
	for l := range Links(h) {
		got = append(got, *l)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if r := got[0].Relations(); !slices.Equal(r, []string{"next", "last"}) {
		t.Errorf("relations %q", r)
	}
}

// Whatever a field contains, it is read to its end.
func FuzzLinksIn(f *testing.F) {
	for _, s := range []string{`<a>; rel="b\"`, `<;,>,`, `;;<x>;=;a=,b`, strings.Repeat("<", 50)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		n := 0
		for range LinksIn(line) {
			n++
		}
		if n > len(line) {
			t.Errorf("%d links in %d bytes", n, len(line))
		}
	})
}
