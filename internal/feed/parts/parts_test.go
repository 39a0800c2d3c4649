package parts_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/feed"
	"github.com/curtsy/curtsy/internal/feed/feedtest"
	"github.com/curtsy/curtsy/internal/feed/parts"
	"github.com/curtsy/curtsy/internal/feed/parts/s3test"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/internal/siterules"
)

const (
	a = "https://example.org/a"
	b = "https://example.org/b"
)

func open(text string, o parts.Options) (feed.Sink, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, err
	}
	return parts.Open(context.Background(), u, o)
}

// folder opens a sink for a folder.
func folder(t *testing.T, dir, format string, fields ...siterules.FieldInfo) feed.Sink {
	t.Helper()
	s, err := open("file://"+dir+"?format="+format, parts.Options{})
	if err == nil {
		err = s.Prepare(t.Context(), fields)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func files(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if all[e.Name()], err = os.ReadFile(filepath.Join(dir, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// row is a row of a part.
type row struct {
	ID      string `parquet:"id" json:"id"`
	Version int64  `parquet:"version" json:"version"`
	Removed string `parquet:"removed,optional" json:"removed"`
	URL     string `parquet:"url,optional" json:"url"`
	Text    string `parquet:"text,optional" json:"text"`
}

// fold reads parts as their readers should.
func fold(t *testing.T, all map[string][]byte) map[string]row {
	t.Helper()
	newest := map[string]row{}
	for name, content := range all {
		var rows []row
		if strings.HasSuffix(name, ".parquet") {
			var err error
			if rows, err = parquet.Read[row](bytes.NewReader(content), int64(len(content))); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		} else {
			for line := range bytes.Lines(content) {
				var r row
				if err := json.Unmarshal(line, &r); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				rows = append(rows, r)
			}
		}
		for _, r := range rows {
			if r.Version >= newest[r.ID].Version {
				newest[r.ID] = r
			}
		}
	}
	for id, r := range newest {
		if r.Removed != "" {
			delete(newest, id)
		}
	}
	return newest
}

func compare(t *testing.T, got map[string]row, h feedtest.History) {
	t.Helper()
	want := h.Want()
	if len(got) != len(want) {
		t.Errorf("%d pages, want %d", len(got), len(want))
	}
	for id, c := range want {
		if r := got[id]; r.Version != c.Version || r.Text != c.Row.Text || r.URL != c.Row.URL {
			t.Errorf("%s is %+v, want version %d", c.Row.URL, r, c.Version)
		}
	}
}

// A writer that is killed and sends batches again, with other limits, leaves the pages that are
// stored, in both formats.
func TestFolder(t *testing.T) {
	for _, format := range []string{"jsonl", "parquet"} {
		dir := t.TempDir()
		h := feedtest.Random(1, 3, 300)
		again, err := feedtest.Writer{Seed: 2, Open: func() (feed.Sink, error) {
			return open("file://"+dir+"?format="+format, parts.Options{})
		}}.Run(t.Context(), h)
		if err != nil || again < 5 {
			t.Fatalf("%v, sent again %d", err, again)
		}
		compare(t, fold(t, files(t, dir)), h)
	}
}

// The fields of the site rules are columns of their types.
func TestFieldColumns(t *testing.T) {
	dir := t.TempDir()
	s := folder(t, dir, "parquet",
		siterules.FieldInfo{Name: "kind", Type: crawl.FieldKeyword}, siterules.FieldInfo{Name: "since", Type: crawl.FieldDate},
		siterules.FieldInfo{Name: "stable", Type: crawl.FieldBoolean}, siterules.FieldInfo{Name: "tags", Type: crawl.FieldKeyword, Many: true},
		siterules.FieldInfo{Name: "version", Type: crawl.FieldNumber})
	full, bare := feedtest.Page(a, 1), feedtest.Page(b, 2)
	full.Row.Fields = crawl.Fields{
		{Name: "kind", Type: crawl.FieldKeyword, Values: []string{"chapter"}},
		{Name: "other", Values: []string{"no column"}},
		{Name: "since", Type: crawl.FieldDate, Values: []string{"2026-02-03T04:05:06Z"}},
		{Name: "stable", Type: crawl.FieldBoolean, Values: []string{"true"}},
		{Name: "tags", Type: crawl.FieldKeyword, Many: true, Values: []string{"sql", "select"}},
		{Name: "version", Type: crawl.FieldNumber, Values: []string{"18.5"}},
	}
	// By older rules.
	bare.Row.Fields = crawl.Fields{{Name: "version", Type: crawl.FieldText, Values: []string{"eighteen"}}}
	if _, err := s.Write(t.Context(), feed.Batch{Crawl: "docs", Shard: 3, Generation: 7, Changes: []feed.Change{full, bare, feedtest.Gone(b, 3)}}); err != nil {
		t.Fatal(err)
	}
	content := files(t, dir)["part-docs-0003-0000000007-0000000000000000003.parquet"]
	type fields struct {
		Kind    *string    `parquet:"kind,optional"`
		Since   *time.Time `parquet:"since,optional,timestamp(millisecond)"`
		Stable  *bool      `parquet:"stable,optional"`
		Tags    []string   `parquet:"tags,list"`
		Version *float64   `parquet:"version,optional"`
	}
	rows, err := parquet.Read[struct {
		URL    string `parquet:"url,optional"`
		Status *int64 `parquet:"status,optional"`
		Fields fields `parquet:"fields"`
	}](bytes.NewReader(content), int64(len(content)))
	if err != nil || len(rows) != 3 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	f := rows[0].Fields
	if *f.Kind != "chapter" || !f.Since.Equal(time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)) || !*f.Stable || fmt.Sprint(f.Tags) != "[sql select]" || *f.Version != 18.5 || *rows[0].Status != 200 {
		t.Errorf("%+v", rows[0])
	}
	for _, r := range rows[1:] {
		if f := r.Fields; f.Kind != nil || f.Since != nil || f.Stable != nil || len(f.Tags) > 0 || f.Version != nil {
			t.Errorf("%+v", r)
		}
	}
	few := feedtest.Page(a, 4)
	few.Fields = []string{"url", "title"} // as with --fields
	if _, err := s.Write(t.Context(), feed.Batch{Crawl: "docs", Shard: 3, Generation: 7, Changes: []feed.Change{few}}); err != nil {
		t.Fatal(err)
	}
	if got := fold(t, files(t, dir))[few.ID]; got.Version != 4 || got.URL != a || got.Text != "" {
		t.Errorf("%+v", got)
	}
	if rows[2].Status != nil {
		t.Error("a deletion has a status")
	}
}

// A large batch becomes several parts, none beyond the limit but one with a single page.
func TestPartBytes(t *testing.T) {
	dir := t.TempDir()
	s := folder(t, dir, "jsonl")
	var changes []feed.Change
	for i, size := range []int{parts.PartBytes / 2, parts.PartBytes / 4, parts.PartBytes / 4, 2 * parts.PartBytes, 10} {
		c := feedtest.Page(fmt.Sprint("https://example.org/", i), int64(i+1))
		c.Row.Text = strings.Repeat("x", size)
		changes = append(changes, c)
	}
	if _, err := s.Write(t.Context(), feed.Batch{Crawl: "docs", Generation: 1, Changes: changes}); err != nil {
		t.Fatal(err)
	}
	if all := files(t, dir); len(all) != 4 || len(fold(t, all)) != 5 {
		t.Errorf("%d parts", len(all))
	}
}

// Sweep deletes the parts of earlier generations of one shard, also of a crawl whose name is the
// beginning of another's, and may run twice.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	s := folder(t, dir, "jsonl")
	for i, b := range []feed.Batch{
		{Crawl: "docs", Shard: 1, Generation: 1}, // deleted
		{Crawl: "docs", Shard: 1, Generation: 2}, {Crawl: "docs", Shard: 2, Generation: 1}, {Crawl: "docs-0001-0000000001", Shard: 1, Generation: 1},
	} {
		b.Changes = []feed.Change{feedtest.Page(a, int64(i+1))}
		if _, err := s.Write(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := s.Sweep(t.Context(), "docs", 1, 2); err != nil {
			t.Fatal(err)
		}
		all := files(t, dir)
		if _, left := all["part-docs-0001-0000000001-0000000000000000001.jsonl"]; left || len(all) != 3 {
			t.Errorf("%d parts are left", len(all))
		}
	}
}

const key = "AKIATEST"

// bucket opens a sink for a stand-in of S3.
func bucket(net *simnet.Net, server *s3test.Server, name string) (feed.Sink, error) {
	return open("s3://"+name+"/web/pages?region=eu-central-1&endpoint=http://"+server.Addr, parts.Options{Dial: net.Dial})
}

// A server of S3 that is busy or dies before and after it has stored an object, and a writer that
// is killed at any time.
func TestS3Killed(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", key)
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	for seed := range uint64(10) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			simnet.Test(t, func(t *testing.T) {
				net := simnet.New(simnet.Options{Seed: seed, Latency: 2 * time.Millisecond, Jitter: 8 * time.Millisecond})
				deaths := 0
				server := s3test.Start(t, net.Listen, s3test.Config{Bucket: "search", AccessKey: key, Put: func(n int) (f s3test.Fault) {
					if n%3 == 0 && deaths < 20 {
						deaths++
						return []s3test.Fault{{Before: true}, {After: true}, {Status: 503, Code: "SlowDown"}}[deaths%3]
					}
					return f
				}})
				h := feedtest.Random(seed, 3, 300)
				again, err := feedtest.Writer{
					Open:  func() (feed.Sink, error) { return bucket(net, server, "search") },
					Seed:  seed,
					Alive: 150 * time.Millisecond,
					Pause: func(seconds int) { time.Sleep(time.Duration(seconds) * time.Second) },
				}.Run(t.Context(), h)
				if err != nil {
					t.Fatal(err)
				}
				if deaths != 20 || again < 30 {
					t.Errorf("the server failed %d times, and %d batches were sent again", deaths, again)
				}
				compare(t, fold(t, server.Objects()), h)
				s, err := bucket(net, server, "search")
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				for shard := range 3 {
					if err := s.Sweep(t.Context(), feedtest.Crawl, shard, 2); err != nil {
						t.Fatal(err)
					}
				}
				if left := len(server.Objects()); left != 0 {
					t.Errorf("%d objects are left", left)
				}
			})
		})
	}
}

// What an operator must mend is permanent, and the message has the next step. A busy server passes.
func TestS3Errors(t *testing.T) {
	for name, c := range map[string]struct {
		bucket, key string
		put         s3test.Fault
		permanent   bool
		want        string
	}{
		"bucket": {"other", key, s3test.Fault{}, true, "make it, or check endpoint"},
		"key":    {"search", "AKIAOTHER", s3test.Fault{}, true, "AWS_SECRET_ACCESS_KEY"},
		"denied": {"search", key, s3test.Fault{Status: 403, Code: "AccessDenied"}, true, "may put, list and delete"},
		"busy":   {"search", key, s3test.Fault{Status: 503, Code: "SlowDown"}, false, "request rate"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("AWS_ACCESS_KEY_ID", c.key)
			t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
			simnet.Test(t, func(t *testing.T) {
				net := simnet.New(simnet.Options{})
				server := s3test.Start(t, net.Listen, s3test.Config{Bucket: "search", AccessKey: key, Put: func(int) s3test.Fault { return c.put }})
				s, err := bucket(net, server, c.bucket)
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				if err = s.Prepare(t.Context(), nil); err == nil {
					_, err = s.Write(t.Context(), feed.Batch{Crawl: "docs", Changes: []feed.Change{feedtest.Page(a, 1)}})
				}
				var p *feed.Permanent
				if err == nil || errors.As(err, &p) != c.permanent || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%v", err)
				}
			})
		})
	}
}

func TestOpenErrors(t *testing.T) {
	for text, want := range map[string]string{
		"ftp://h/pages":               "neither file nor s3",
		"file://host/pages":           "file:///srv/pages",
		"file:///pages?format=csv":    "parquet and jsonl",
		"file:///pages?endpoint=x":    `"endpoint" is unknown`,
		"s3:///pages":                 "s3://BUCKET/PREFIX",
		"s3://b/pages?endpoint=h:900": "https://s3.example.org:9000",
		"s3://b/pages?zone=x":         `"zone" is unknown`,
	} {
		if _, err := open(text, parts.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	s, err := open("file:"+filepath.Join(t.TempDir(), "file"), parts.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_ = s.Close()
}
