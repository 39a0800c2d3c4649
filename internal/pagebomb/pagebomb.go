// Package pagebomb makes pages that are cheap to send and were dear to read, and measures what
// reading them costs. It is for tests: whatever reads what strangers wrote is held to the same
// limits with the same pages.
package pagebomb

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/curtsy/curtsy/internal/lineartest"
	"github.com/curtsy/curtsy/internal/racing"
)

// MaxAlloc is what reading one page may cost, whatever is in it:
// how many bytes may be allocated beside the page's own size, for whatever length of time. The
// time may be as long as the page's length says.
const MaxAlloc = 64 << 20

// Bomb is a page made to hurt.
type Bomb struct {
	Name string
	Body []byte
}

// HTML are pages of about size bytes each.
func HTML(size int) []Bomb {
	rep := func(unit string) string { return strings.Repeat(unit, max(1, size/len(unit))) }
	half := func(a, b string) string { return a + strings.Repeat(b, max(1, (size-len(a))/len(b))) }
	attrs := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, " a%d", i)
		}
		return b.String()
	}
	formatting := func(open, n int, extra string) string {
		var b strings.Builder
		b.WriteString("<p>")
		for i := range open {
			fmt.Fprintf(&b, "<b a=%d%s>", i, extra)
		}
		for range n {
			b.WriteString("<p>x")
		}
		return b.String()
	}
	heads := func(deep int) string { return strings.Repeat("<h1><div>", deep) }
	all := []struct{ name, body string }{
		// Entries 1 and 2 of the list of known defects.
		{"plus json", rep("+json ")},
		{"plus json, no end", `<script type="application/ld+json">` + rep("+json")},
		{"open formatting, many paragraphs", formatting(250, max(1, (size-2000)/4), "")},
		{"nested headings", half(heads(200), "words of a heading ")},
		// Variants.
		{"plus as references", rep("&#43;json&#x2b;json")},
		{"ends without the word", rep("+json</script")},
		{"formatting with attributes", formatting(60, max(1, (size-60*600)/4), attrs(100))},
		{"formatting in blocks", half(formatting(200, 1, ""), "<div>x</div>")},
		{"formatting in cells", half(formatting(200, 1, "")+"<table>", "<tr><td>x")},
		{"headings, each in the one before", rep("<h2><div>a</div>")},
		{"headings and blanks", half(heads(200), "<br> ")},
		{"text cut by ignored end tags", rep("a</z>")},
		{"text cut by ignored start tags", rep("a<tr>")},
		{"text pushed out of a table", "<table>" + rep("a<tr>")},
		{"text in a select", "<select>" + rep("a<b>")},
		{"empty elements", rep("<br>")},
		{"empty comments", rep("<!>")},
		{"processing instructions", rep("<?>")},
		{"attributes", "<p " + rep("a ") + ">"},
		{"attributes of a link", "<a " + rep("b=1 ") + "href=x>"},
		{"attributes of many bodies", "<body" + attrs(size/16) + ">" + strings.Repeat("<body a>", size/16)},
		{"attributes of many htmls", strings.Repeat("<html"+attrs(100)+">", size/500+1)},
		{"equal elements with many attributes", strings.Repeat("<b"+attrs(1000)+">", size/6000+1)},
		{"attributes and references", rep(`<a href="&#97;">`)},
		{"metas and references", rep(`<meta name="&#97;">`)},
		{"deep nesting", rep("<div>")},
		{"500 deep, then closed where nothing is", half(strings.Repeat("<span>", 500), "</z>")},
		{"500 deep, then paragraphs", half(strings.Repeat("<span>", 500), "<p></p>")},
		{"500 deep, then list items", half(strings.Repeat("<span>", 500), "<li>")},
		{"templates", rep("<template>")},
		{"templates closed", rep("<template></template>")},
		{"selects and options", "<select>" + rep("<option><optgroup>")},
		{"framesets", "<frameset>" + rep("<frameset>")},
		{"framesets closed", rep("<frameset><frame></frameset>")},
		{"drawings", rep("<svg><title>")},
		{"drawings left by elements", rep("<svg><p>")},
		{"formulas", rep("<math><mi><svg>")},
		{"forms and buttons", rep("<form><button>")},
		{"links in links", rep("<a href=x>")},
		{"adoption", rep("<b><p></b>")},
		{"adoption, deep", half(strings.Repeat("<i><div>", 200), "</i><i>")},
		{"nobr", rep("<nobr>x")},
		{"markers", rep("<object><b c>")},
		{"captions", "<table>" + rep("<caption><b>")},
		{"columns", "<table>" + rep("<colgroup><col>")},
		{"nulls", rep("\x00")},
		{"controls", rep("\x01")},
		{"references", rep("&amp;")},
		{"references that grow", rep("&ngE;")},
		{"scripts", rep("<script>x</script>")},
		{"script that hides", "<script>" + rep("<!--<script>")},
		{"linked data, much of it", rep(`<script type="application/ld+json">{"@type":"Dataset"}</script>`)},
		{"linked data that is broken", rep(`<script type="application/ld+json">{"Dataset</script>`)},
		{"closed scripts in XHTML", rep("<script/>")},
		{"open tags", rep("<script ")},
		{"links", func() string {
			var b strings.Builder
			for i := 0; b.Len() < size; i++ {
				fmt.Fprintf(&b, "<a href=%d>", i)
			}
			return b.String()
		}()},
		{"plain text", rep("word ")},
		{"letters", rep("x")},
		{"words", func() string {
			var b strings.Builder
			for i := 0; b.Len() < size; i++ {
				fmt.Fprintf(&b, "word%d ", i)
			}
			return b.String()
		}()},
	}
	out := make([]Bomb, len(all))
	for i, c := range all {
		out[i] = Bomb{c.name, []byte(c.body)}
	}
	return out
}

// JSON are documents of about size bytes that tell of datasets, or seem to.
func JSON(size int) []Bomb {
	list := func(head, each, tail string, n int) string {
		var b strings.Builder
		b.WriteString(head)
		for i := range n {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(strings.ReplaceAll(each, "%d", fmt.Sprint(i)))
		}
		b.WriteString(tail)
		return b.String()
	}
	n := func(each string) int { return max(1, size/(len(each)+4)) }
	creators := strings.TrimSuffix(strings.Repeat(`"c",`, 10_000), ",")
	fields := func(each string) string { return list("", each, "", size/2/(len(each)+5)) }
	graph := func(shared, ref string) string {
		set := `{"@type":"Dataset","name":"%d",` + ref + `}`
		left := max(len(set), size-len(shared))
		return list(`{"@graph":[`+shared+`,`, set, `]}`, min(10_000, left/(len(set)+4)))
	}
	long := strings.Repeat("long text ", 6_000)
	all := []struct{ name, body string }{
		// Entry 3.
		{"creators by id", graph(`{"@id":"#c","name":"n","creator":[`+creators+`]}`, `"creator":[`+strings.TrimSuffix(strings.Repeat(`{"@id":"#c"},`, 200), ",")+`]`)},
		{"shared record sets", graph(`{"@id":"#r","field":[`+fields(`{"name":"f%d"}`)+`]}`, `"recordSet":{"@id":"#r"}`)},
		{"shared record sets, many times", graph(`{"@id":"#r","field":[`+fields(`{"name":"f%d"}`)+`]}`,
			`"recordSet":[`+strings.TrimSuffix(strings.Repeat(`{"@id":"#r"},`, 50), ",")+`]`)},
		// Variants.
		{"shared long name", graph(`{"@id":"#c","name":"`+long+`"}`, `"creator":{"@id":"#c"}`)},
		{"shared long licence", graph(`{"@id":"#c","name":"`+long+`"}`, `"license":[{"@id":"#c"},{"@id":"#c"},{"@id":"#c"}]`)},
		{"shared keywords", graph(`{"@id":"#k","name":"`+strings.Repeat("a,", 30_000)+`"}`, `"keywords":{"@id":"#k"}`)},
		{"shared keywords, many times", graph(`{"@id":"#k","name":"`+strings.Repeat("a,", 30_000)+`"}`,
			`"keywords":[`+strings.TrimSuffix(strings.Repeat(`{"@id":"#k"},`, 100), ",")+`]`)},
		{"shared distribution", graph(`{"@id":"#d","contentUrl":"a","name":"`+long+`"}`, `"distribution":[`+strings.TrimSuffix(strings.Repeat(`{"@id":"#d"},`, 50), ",")+`]`)},
		{"shared checksums", graph(`{"@id":"#d","contentUrl":"a","checksum":[`+strings.TrimSuffix(strings.Repeat(`{"@id":"#d"},`, 1000), ",")+`]}`,
			`"distribution":[`+strings.TrimSuffix(strings.Repeat(`{"@id":"#d"},`, 50), ",")+`]`)},
		{"shared identifiers", graph(`{"@id":"#i","value":[`+creators+`]}`, `"identifier":[`+strings.TrimSuffix(strings.Repeat(`{"@id":"#i"},`, 50), ",")+`]`)},
		{"shared node of many keys", graph(list(`{"@id":"#n",`, `"k%d":1`, `}`, size/4/10), `"publisher":{"@id":"#n"},"creator":[`+strings.TrimSuffix(strings.Repeat(`{"@id":"#n"},`, 50), ",")+`]`)},
		{"empty lists", list(`{"@type":"Dataset","name":"n","a":[`, `[]`, `]}`, n(`[]`)-1)},
		{"empty objects", list(`{"@type":"Dataset","name":"n","a":[`, `{}`, `]}`, n(`{}`)-1)},
		{"small objects", list(`{"@type":"Dataset","name":"n","@graph":[`, `{"a":1}`, `]}`, n(`{"a":1}`))},
		{"small nodes", list(`{"@type":"Dataset","name":"n","@graph":[`, `{"@id":"%d","a":1}`, `]}`, n(`{"@id":"%d","a":1}`))},
		{"numbers", list(`{"@type":"Dataset","name":"n","a":[`, `1`, `]}`, size/2)},
		{"keys", list(`{"@type":"Dataset","name":"n",`, `"%d":1`, `}`, n(`"%d":1`))},
		{"deep lists", `{"@type":"Dataset","name":"n","a":` + strings.Repeat("[", size/2) + strings.Repeat("]", size/2) + `}`},
		{"deep graphs", strings.Repeat(`{"@graph":`, min(9_000, size/11)) + `{}` + strings.Repeat("}", min(9_000, size/11))},
		{"small datasets", list(`[`, `{"@type":"Dataset","name":"%d"}`, `]`, n(`{"@type":"Dataset","name":"%d"}`))},
		{"files with long addresses", list(`{"@type":"Dataset","name":"n","distribution":[`, `{"contentUrl":"%d"}`, `]}`, n(`{"contentUrl":"%d"}`))},
		{"package: paths share a name", list(`{"resources":[{"name":"`+long+`","path":[`, `"%d"`, `]}]}`, n(`"%d"`))},
		{"package: resources", list(`{"name":"p","resources":[`, `{"path":"%d"}`, `]}`, n(`{"path":"%d"}`))},
		{"package: contributors", list(`{"name":"p","resources":[{"path":"a"}],"contributors":[`, `{"title":"%d"}`, `]}`, n(`{"title":"%d"}`))},
		{"data.json", list(`{"conformsTo":"https://project-open-data.cio.gov/v1.1/schema","dataset":[`, `{"title":"%d","distribution":[{"downloadURL":"a"}]}`, `]}`,
			n(`{"title":"%d","distribution":[{"downloadURL":"a"}]}`))},
	}
	out := make([]Bomb, len(all))
	for i, c := range all {
		out[i] = Bomb{c.name, []byte(c.body)}
	}
	return out
}

// Check fails the test if reading one of some pages costs more than it may. pages makes them of
// about a size: size, to measure how much memory is allocated, and smaller ones to see that eight
// times the page takes eight times the time (lineartest.Linear). A page whose cost is cut off by a
// limit may take longer as long as it is small, and is measured in a larger size instead. prepare
// is given a page and returns what reads it, in the goroutine that calls it. Other goroutines'
// allocations count, so nothing else may run beside it.
func Check(t testing.TB, what string, size int, pages func(size int) []Bomb, prepare func(Bomb) (read func())) {
	t.Helper()
	CheckWith(t, what, size, MaxAlloc, pages, prepare)
}

// CheckWith is Check with another limit than MaxAlloc.
func CheckWith(t testing.TB, what string, size, maxAlloc int, pages func(size int) []Bomb, prepare func(Bomb) (read func())) {
	t.Helper()
	eighth, all := pages(small/8), pages(small)
	largeEighth := sync.OnceValue(func() []Bomb { return pages(large / 8) })
	largeAll := sync.OnceValue(func() []Bomb { return pages(large) })
	for i, b := range pages(size) {
		name := fmt.Sprintf("%s of %s", what, b.Name)
		alloc := allocated(prepare(b))
		if limit := int64(maxAlloc + len(b.Body)); alloc > limit {
			t.Errorf("%s: %d bytes: %.1f MiB allocated, limit %.1f", name, len(b.Body), float64(alloc)/(1<<20), float64(limit)/(1<<20))
		}
		if _, _, ok := lineartest.Measure(5, prepare(eighth[i]), prepare(all[i])); !ok {
			lineartest.Linear(t, name, prepare(largeEighth()[i]), prepare(largeAll()[i]))
		}
	}
}

// The sizes of pages whose time is measured: no limit cuts off what a large page costs later than
// there.
var (
	small = racing.Volume(32<<10, 16<<10)
	large = 512 << 10
)

// allocated returns how many bytes f allocates.
func allocated(f func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}
