package crawl

import (
	"bytes"
	"math/rand/v2"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// The fields of each message have the numbers that crawl.proto gives them, and it has no others.
func TestFieldsAreThoseOfCrawlProto(t *testing.T) {
	text, err := os.ReadFile("crawl.proto")
	if err != nil {
		t.Fatal(err)
	}
	numbers := map[string]map[string]string{} // by message and name
	for _, m := range regexp.MustCompile(`(?s)message (\w+) *\{(.*?)\n?\}`).FindAllSubmatch(text, -1) {
		of := map[string]string{}
		for _, f := range regexp.MustCompile(`(\w+) = (\d+);`).FindAllSubmatch(m[2], -1) {
			of[strings.ReplaceAll(string(f[1]), "_", "")] = string(f[2])
		}
		numbers[string(m[1])] = of
	}
	for _, m := range []interface{ fields(*codec) }{
		new(VisitRequest), new(Grants), new(Visit), new(VisitURL), new(Renew), new(Renewed), new(Robots), new(AuxRequest), new(Answer), new(Claim),
		new(Sample), new(Sitemap), new(RUP), new(Probe), new(Event), new(Unheld), new(Audit), new(Links), new(Report), new(Outcome), new(Result), new(Page),
		new(Trace), new(Sent), new(Feed), new(WebSub), new(Dispatch), new(DispatchSample), new(DispatchQuery), new(DispatchPlan), new(KnownPage),
		new(Ruled), new(Field),
	} {
		v := reflect.ValueOf(m).Elem()
		of := numbers[v.Type().Name()]
		zero := written(m)
		for _, f := range reflect.VisibleFields(v.Type()) {
			if f.Anonymous {
				continue // its fields follow
			}
			name, field := strings.ToLower(f.Name), v.FieldByIndex(f.Index)
			fill(rand.New(rand.NewPCG(1, 1)), field)
			var set []string
			for n, b := range written(m) {
				// With forward a message is of another version.
				if !bytes.Equal(b, zero[n]) && (n != "1" || name != "forward") {
					set = append(set, n)
				}
			}
			if len(set) != 1 || set[0] != of[name] {
				t.Errorf("%s.%s is written as field %v, and is %q in crawl.proto", v.Type().Name(), name, set, of[name])
			}
			field.SetZero()
			delete(of, name)
		}
		delete(of, "version")
		if len(of) > 0 {
			t.Errorf("%s has no %v of crawl.proto", v.Type().Name(), of)
		}
	}
}

// written is the encoding of a message, by field number.
func written(m interface{ fields(*codec) }) map[string][]byte {
	w := writer(nil)
	m.fields(&w)
	out := map[string][]byte{}
	for r := reader(w.out); r.at != 0; r.next() {
		n, from := strconv.Itoa(r.at), r.i
		r.skip()
		out[n] = append(out[n], w.out[from:r.i]...)
	}
	return out
}
