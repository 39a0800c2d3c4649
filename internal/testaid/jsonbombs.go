package testaid

import (
	"fmt"
	"strings"
)

// JSONBombs returns documents of about size bytes that tell of datasets, or seem to.
func JSONBombs(size int) []Bomb {
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
	return bombs([]text{
		// Many datasets refer to one node.
		{"creators by id", graph(`{"@id":"#c","name":"n","creator":[`+creators+`]}`, `"creator":[`+strings.TrimSuffix(strings.Repeat(`{"@id":"#c"},`, 200), ",")+`]`)},
		{"shared record sets", graph(`{"@id":"#r","field":[`+fields(`{"name":"f%d"}`)+`]}`, `"recordSet":{"@id":"#r"}`)},
		{"shared record sets, many times", graph(`{"@id":"#r","field":[`+fields(`{"name":"f%d"}`)+`]}`,
			`"recordSet":[`+strings.TrimSuffix(strings.Repeat(`{"@id":"#r"},`, 50), ",")+`]`)},
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
	})
}
