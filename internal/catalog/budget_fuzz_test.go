package catalog

import (
	"runtime"
	"strings"
	"testing"
)

// checkBudget reads a document, and compares the allocated bytes with its length and the spent
// budget.
func checkBudget(t *testing.T, body []byte) {
	if len(body) > MaxDocument {
		return
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, spent, _ := readJSON(body, Document{URL: "https://a.example/doc"})
	runtime.ReadMemStats(&after)
	// A value of two bytes may allocate 350 bytes, and a list grows by doubling. The rest is
	// allocated by the fuzzer.
	if alloc, limit := int(after.TotalAlloc-before.TotalAlloc), 1<<20+256*len(body)+6*spent; alloc > limit {
		t.Fatalf("%d bytes: %d allocated, %d paid for, limit %d", len(body), alloc, spent, limit)
	}
	if spent > maxWork+64*MaxDocument {
		t.Fatalf("%d bytes: %d spent of %d", len(body), spent, maxWork)
	}
}

// The bytes allocated for JSON-LD are limited by its length and the spent budget.
func FuzzJSONLDBudget(f *testing.F) {
	for _, s := range []string{
		`{"@graph":[{"@id":"#r","field":[{"name":"a"},{"name":"b"}]},{"@type":"Dataset","name":"x","recordSet":[{"@id":"#r"},{"@id":"#r"}]}]}`,
		`[{"@type":"schema:Dataset","schema:name":" a  b ","creator":[{"@id":"#c"}],"license":["cc0","CC BY 4.0"],"keywords":"a,b,,c"},{"@id":"#c","name":["x"]}]`,
		`{"@type":"Dataset","name":"x","distribution":{"contentUrl":"a","contentSize":[[["1"]]],"sha256":"0"},"identifier":["doi:10.1234/x",{"value":"y"}]}`,
		`{"resources":[{"path":["a","b"],"name":"n","schema":{"fields":[{"name":"f"}]}}],"contributors":[{"title":"x","role":"author"}]}`,
	} {
		f.Add([]byte(s), uint16(1))
	}
	f.Fuzz(func(t *testing.T, body []byte, times uint16) {
		checkBudget(t, body)
		// Repeating a document many times is how attacks are made.
		if n := int(times); n > 1 && n*(len(body)+1) < 64<<10 {
			checkBudget(t, []byte("["+strings.TrimSuffix(strings.Repeat(string(body)+",", n), ",")+"]"))
		}
	})
}

// The same for DCAT: the fuzzer writes the contents of a catalogue, and a node that everything may
// refer to.
func FuzzDCATBudget(f *testing.F) {
	f.Add(`"dct:title":"t","dct:license":{"@id":"#n"},"dcat:distribution":[{"@id":"#n"},{"dcat:downloadURL":"a"}]`, `"foaf:name":"n","dcat:downloadURL":"b"`, uint8(3))
	f.Add(`"title":{"@value":"t"},"creator":[{"@id":"#n"},{"@id":"#n"}],"keyword":{"@id":"#n"}`, `"name":"a,b,c","dcat:byteSize":{"@value":"12"}`, uint8(9))
	f.Fuzz(func(t *testing.T, dataset, shared string, times uint8) {
		one := `{"@type":"dcat:Dataset",` + dataset + `}`
		if (int(times)+1)*len(one)+len(shared) > 256<<10 {
			return
		}
		checkBudget(t, []byte(`{"@graph":[{"@id":"#n",`+shared+`}`+strings.Repeat(","+one, int(times))+`]}`))
	})
}
