package asker

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/questions"
	"github.com/curtsy/curtsy/internal/search"
)

var update = flag.Bool("update", false, "write testdata/wire.golden anew")

// rows has an object of each type that the answer to a question consists of.
func rows() map[string][]any {
	all := map[string][]any{}
	for _, q := range questions.Table() {
		all[q.Name] = []any{reflect.Zero(q.Row).Interface()}
	}
	all[questions.Export.Name] = []any{crawl.PageRecord{}, crawl.PageRemoved{}, crawl.PageChunk{}, crawl.LinkRow{}, crawl.PageLinks{}, crawl.LeftOut{}}
	all[questions.Search.Name] = []any{search.Terms{}, search.Similar{}, search.PageWords{}, search.Ranked{}, crawl.Hit{}, search.Suggested{}}
	return all
}

// TestWire compares the requests of all questions, and the objects of their answers, with
// testdata/wire.golden, which was written before the table of questions existed. Services of
// different versions ask one another, so the wire must not change by accident. Only the output of
// -update for a new question belongs into the file.
func TestWire(t *testing.T) {
	var got bytes.Buffer
	all := rows()
	for _, question := range slices.Sorted(maps.Keys(all)) {
		for _, row := range all[question] {
			v := reflect.New(reflect.TypeOf(row)).Elem()
			full(v, 0)
			fmt.Fprintf(&got, "row %s %s\n", question, asJSON(t, v.Interface()))
		}
	}
	for _, line := range requests(t) {
		fmt.Fprintf(&got, "request %s\n", line)
	}
	const file = "testdata/wire.golden"
	if *update {
		if err := os.WriteFile(file, got.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	is, was := bytes.Split(got.Bytes(), []byte("\n")), bytes.Split(want, []byte("\n"))
	if len(is) != len(was) {
		t.Errorf("%d lines, want %d", len(is), len(was))
	}
	for i := range min(len(is), len(was)) {
		if !bytes.Equal(is[i], was[i]) {
			t.Errorf("line %d:\n%s\nwant\n%s", i+1, is[i], was[i])
		}
	}
}

// requests asks a Crawl everything that it can be asked, and returns the lines that were sent: a
// question and its request. They are in the order in which they were first sent.
func requests(t *testing.T) (all []string) {
	answers := indexed(t, []int{0, 1}, "numbats")
	record := func(question string, answer ask.Handler) ask.Handler {
		return func(ctx context.Context, req []byte, send func(any) error) error {
			if line := question + " " + string(req); !slices.Contains(all, line) {
				all = append(all, line)
			}
			return answer(ctx, req, send)
		}
	}
	handlers := ask.Handlers{}
	for question := range rows() {
		answer := sends()
		if question == "search" {
			answer = answers[question]
		}
		handlers[question] = record(question, answer)
	}
	handlers["explain"] = record("explain", sends(crawl.Explanation{URL: "https://a.example/", Seen: true, State: crawl.Stored.String()}))
	c := Stopped(crawl.Spec{Shards: 2}, func() error { return nil }, handlers)
	ctx := t.Context()
	at := time.Date(2026, 11, 27, 1, 2, 3, 0, time.UTC)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
	paged := crawl.Paging{Sort: "state", Limit: 3, Offset: 2}
	_, err := c.Status(ctx)
	must(err)
	must(questions.Hosts.Each(ctx, c, nil, func(crawl.HostInfo) error { return nil }))
	must(c.HostsNamed(ctx, []string{"a.example"}, func(crawl.HostInfo) error { return nil }))
	_, err = c.HostsPage(ctx, crawl.HostsQuery{Paging: paged, Filter: "a", State: "due", Reason: "b", Has: "robots"})
	must(err)
	must(questions.Mirrors.Each(ctx, c, nil, func(crawl.MirrorInfo) error { return nil }))
	_, err = questions.MirrorsPage.Ask(ctx, c, crawl.MirrorsQuery{Paging: paged, Filter: "a", State: "main"})
	must(err)
	must(questions.Updates.Each(ctx, c, nil, func(crawl.UpdatesInfo) error { return nil }))
	_, err = questions.UpdatesPage.Ask(ctx, c, crawl.UpdatesQuery{Paging: paged, Host: "a.example", Filter: "b", Source: "rup", State: "off"})
	must(err)
	_, err = c.Explain(ctx, "https://a.example/")
	must(err)
	_, err = c.ExplainAll(ctx, []string{"https://a.example/"})
	must(err)
	_, _, err = questions.Timeline.Ask(ctx, c, questions.TimelineRequest{Host: "a.example"})
	must(err)
	_, _, err = questions.Timeline.Ask(ctx, c, questions.TimelineRequest{Host: "a.example", Before: at, Limit: 7})
	must(err)
	_, _, err = questions.RobotsText.Ask(ctx, c, questions.URLRequest{URL: "https://a.example/"})
	must(err)
	_, err = c.Log(ctx, crawl.LogQuery{Host: "a.example", URL: "https://a.example/", Class: "stored", Reason: "robots", Limit: 9, After: cursorOf(map[string]int64{"f": 3})})
	must(err)
	_, err = c.Log(ctx, crawl.LogQuery{Before: cursorOf(map[string]int64{"f": 3})})
	must(err)
	_, err = c.History(ctx, time.Hour)
	must(err)
	_, err = c.History(ctx, 0)
	must(err)
	_, err = c.CountPrefix(ctx, "https://a.example/x/")
	must(err)
	_, err = c.Preview(ctx, crawl.Spec{}, crawl.Spec{Name: "docs", Shards: 2, MaxDepth: 3, Exclude: []string{"x"}})
	must(err)
	must(questions.Pages.Each(ctx, c, nil, func(crawl.PageInfo) error { return nil }))
	_, _, err = c.Page(ctx, "https://a.example/", "text")
	must(err)
	_, err = questions.PagesPage.Ask(ctx, c, crawl.PagesQuery{Paging: crawl.Paging{Limit: 3, Offset: 2}, Host: "a", Type: "pdf", Lang: "de", Title: "t", Brief: true})
	must(err)
	q := crawl.ExportQuery{What: "pages", Format: "chunks", ChunkSize: 5, Since: at, For: []string{"search"}, UnknownToo: true}
	_, err = c.Export(ctx, q, io.Discard)
	must(err)
	_, err = c.ExportPages(ctx, crawl.ExportQuery{Format: "source"}, func(*crawl.PageRow) error { return nil })
	must(err)
	_, err = c.ExportLinks(ctx, crawl.ExportQuery{}, func(crawl.LinkRow) error { return nil })
	must(err)
	_, err = c.ExportPageLinks(ctx, crawl.ExportQuery{}, func(*crawl.PageLinks) error { return nil })
	must(err)
	must(c.Datasets(ctx, func(crawl.DatasetInfo) error { return nil }))
	_, _, err = questions.DataRule.Ask(ctx, c, questions.URLRequest{URL: "https://a.example/"})
	must(err)
	for _, query := range []string{"numbat", "numbatt shard1 page3 nothing"} {
		_, err = c.Search(ctx, crawl.SearchRequest{Query: query, Limit: 2, Explain: query == "numbat"})
		must(err)
	}
	_, err = c.Search(ctx, crawl.SearchRequest{Like: "https://h0.example/3", Limit: 2})
	must(err)
	_, _, err = questions.WebSub.Ask(ctx, c, crawl.WebSubQuestion{Topic: "https://a.example/", N: 2, Mode: crawl.WebSubDeliver})
	must(err)
	return all
}

// asJSON encodes a value as it goes over the wire.
func asJSON(t *testing.T, v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return bytes.TrimSpace(b.Bytes())
}

// full sets every field to some value, so that no key of the JSON is left out.
func full(v reflect.Value, depth int) {
	if depth > 8 || !v.CanSet() {
		return
	}
	if at, ok := v.Addr().Interface().(*time.Time); ok {
		*at = time.Date(2026, 11, 27, 1, 2, 3, 0, time.UTC)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			full(v.Field(i), depth+1)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		full(v.Index(0), depth+1)
	case reflect.Array:
		for i := range v.Len() {
			full(v.Index(i), depth+1)
		}
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		full(key, depth+1)
		full(value, depth+1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		full(v.Elem(), depth+1)
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(1)
	case reflect.Float32, reflect.Float64:
		v.SetFloat(1)
	}
}
