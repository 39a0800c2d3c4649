package export

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/curtsy/curtsy/internal/crawl"
)

// checkBulk reads what is sent to _bulk by its documentation: each line ends with a line feed, the
// last one too; a line names one action and its target, by index, create, update or delete; a line
// with a document follows each but delete; an _id is at most 512 bytes; every line is one JSON
// object. It returns the actions with their documents.
func checkBulk(body []byte, named bool) (done []string, err error) {
	if len(body) == 0 {
		return nil, nil
	}
	if body[len(body)-1] != '\n' {
		return nil, fmt.Errorf("the last line does not end with a line feed")
	}
	lines := bytes.Split(body[:len(body)-1], []byte{'\n'})
	object := func(i int) (map[string]json.RawMessage, error) {
		if i >= len(lines) {
			return nil, fmt.Errorf("line %d is missing", i+1)
		}
		var o map[string]json.RawMessage
		if err := json.Unmarshal(lines[i], &o); err != nil || o == nil || !utf8.Valid(lines[i]) || bytes.ContainsAny(lines[i], "\r") {
			return nil, fmt.Errorf("line %d is no JSON object: %s: %v", i+1, lines[i], err)
		}
		return o, nil
	}
	for i := 0; i < len(lines); i++ {
		o, err := object(i)
		if err != nil {
			return nil, err
		}
		if len(o) != 1 {
			return nil, fmt.Errorf("line %d has %d actions", i+1, len(o))
		}
		for action, raw := range o {
			var target map[string]string
			if err := json.Unmarshal(raw, &target); err != nil {
				return nil, fmt.Errorf("line %d: %v", i+1, err)
			}
			for key := range target {
				if !slices.Contains([]string{"_id", "_index"}, key) {
					return nil, fmt.Errorf("line %d: %s is no part of a target", i+1, key)
				}
			}
			if id := target["_id"]; id == "" || len(id) > 512 {
				return nil, fmt.Errorf("line %d: an _id of %d bytes", i+1, len(id))
			}
			if (target["_index"] != "") != named {
				return nil, fmt.Errorf("line %d: the index %q", i+1, target["_index"])
			}
			switch action {
			case "delete":
				done = append(done, "delete "+target["_id"])
			case "index", "create", "update":
				i++
				if _, err := object(i); err != nil {
					return nil, err
				}
				done = append(done, action+" "+target["_id"]+" "+string(lines[i]))
			default:
				return nil, fmt.Errorf("line %d: %q is no action", i+1, action)
			}
		}
	}
	return done, nil
}

func TestBulk(t *testing.T) {
	var b bytes.Buffer
	w := NewBulk(&b, "")
	hostile := pageRow()
	hostile.URL = "https://example.org/" + strings.Repeat("long/", 400)
	hostile.Text = "a\nb\r\nc\u2028d\u2029e\u202ef\x00g\xff{\"delete\":{\"_id\":\"1\"}}\n{\"delete\":{\"_id\":\"2\"}}\n"
	set := datasetInfo()
	for _, err := range []error{
		w.Page(pageRow()), w.Page(hostile), w.Page(removedRow()), w.Links(&crawl.PageLinks{From: "https://a.example/", To: []string{"https://b.example/", "https://c.example/"}}),
		w.Dataset(set), w.Links(&crawl.PageLinks{From: "https://a.example/"}), w.Links(&crawl.PageLinks{From: "https://a.example/", Removed: "noindex"}),
		w.DatasetGone("d2"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	done, err := checkBulk(b.Bytes(), false)
	if err != nil || len(done) != 8 {
		t.Fatalf("%d actions, %v\n%s", len(done), err, b.Bytes())
	}
	for i, start := range []string{
		"index " + DocumentID(pageRow().URL) + ` {"url":"https://www.data.github.io:8443/A/b?x=1&a=2",`, "index " + DocumentID(hostile.URL), "delete " + DocumentID(removedRow().URL),
		"index " + DocumentID("https://a.example/") + ` {"from":"https://a.example/","to":["https://b.example/","https://c.example/"]}`, `index d1 {"id":"d1",`,
		"delete " + DocumentID("https://a.example/"), "delete " + DocumentID("https://a.example/"), "delete d2",
	} {
		if !strings.HasPrefix(done[i], start) || strings.HasPrefix(start, "delete") && done[i] != start {
			t.Errorf("action %d is %s, want %s", i, done[i], start)
		}
	}
	_, document, _ := strings.Cut(done[1], "{")
	var back crawl.PageRecord
	if err := json.Unmarshal([]byte("{"+document), &back); err != nil || back.Text != strings.ToValidUTF8(hostile.Text, "\uFFFD") {
		t.Errorf("%q, %v", back.Text, err)
	}
	if strings.Contains(done[1], "removed") || strings.ContainsRune(done[1], '\u202e') {
		t.Error(done[1])
	}
	// Under keys that nobody knows a server could find anything: it is one text.
	if !strings.Contains(done[4], `"extra":"{\"note\":[\"x\",{\"y\":\"z\"}]}"`) || strings.Count(done[4], `"extra"`) != 1 {
		t.Error(done[4])
	}

	b.Reset()
	named := NewBulk(&b, "pages-2026")
	if err := named.Page(removedRow()); err != nil {
		t.Fatal(err)
	}
	if done, err := checkBulk(b.Bytes(), true); err != nil || len(done) != 1 {
		t.Error(done, err)
	}
}

// The checker must find what it looks for.
func TestBulkCheckCanFail(t *testing.T) {
	for _, body := range []string{
		`{"delete":{"_id":"1"}}`, "{\"delete\":{\"_id\":\"1\"}}\n\n", "{\"index\":{\"_id\":\"1\"}}\n", "{\"index\":{\"_id\":\"1\"}}\n[]\n", "{\"drop\":{\"_id\":\"1\"}}\n{}\n",
		"{\"index\":{\"_id\":\"\"}}\n{}\n", "{\"index\":{\"_id\":\"" + strings.Repeat("x", 513) + "\"}}\n{}\n", "{\"index\":{\"_id\":\"1\",\"_type\":\"x\"}}\n{}\n",
		"{\"index\":{\"_id\":\"1\"},\"delete\":{\"_id\":\"1\"}}\n{}\n", "{\"index\":{\"_id\":\"1\"}}\n{\"a\":\n1}\n", "{\"index\":{\"_id\":\"1\",\"_index\":\"x\"}}\n{}\n",
	} {
		if _, err := checkBulk([]byte(body), false); err == nil {
			t.Errorf("%q passes", body)
		}
	}
}

func TestIndexName(t *testing.T) {
	for name, good := range map[string]bool{
		"": true, "pages": true, "pages-2026.11_x+y": true, "é": true, strings.Repeat("x", 255): true, strings.Repeat("x", 256): false, ".": false, "..": false, ".x": true,
		"-x": false, "_x": false, "+x": false, "Pages": false, "a b": false, "a/b": false, `a\b`: false, "a*": false, "a?": false, `a"`: false, "a<": false, "a>": false,
		"a|b": false, "a,b": false, "a#b": false, "a:b": false, "a\nb": false,
	} {
		if err := IndexName(name); (err == nil) != good {
			t.Errorf("%q: %v", name, err)
		}
	}
}
