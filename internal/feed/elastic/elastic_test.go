package elastic_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/feed"
	"github.com/curtsy/curtsy/internal/feed/elastic"
	"github.com/curtsy/curtsy/internal/feed/elastic/elastictest"
	"github.com/curtsy/curtsy/internal/feed/feedtest"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/internal/siterules"
)

// open opens a sink for a server. Query is that of the URL.
func open(t *testing.T, s *elastictest.Server, query, key string) feed.Sink {
	t.Helper()
	sink, err := openOn(simnet.Of(t), s, query, key)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sink.Close() })
	return sink
}

func openOn(net *simnet.Net, s *elastictest.Server, query, key string) (feed.Sink, error) {
	u, err := url.Parse("opensearch+http://" + s.Addr + "/pages" + query)
	if err != nil {
		return nil, err
	}
	return elastic.Open(context.Background(), u, elastic.Options{Dial: net.Dial, APIKey: key})
}

func prepare(t *testing.T, s feed.Sink, fields ...siterules.FieldInfo) {
	t.Helper()
	if err := s.Prepare(t.Context(), fields); err != nil {
		t.Fatal(err)
	}
}

func batch(changes ...feed.Change) feed.Batch {
	return feed.Batch{Crawl: feedtest.Crawl, Shard: 2, Generation: 7, Changes: changes}
}

// write writes a batch of which nothing is refused.
func write(t *testing.T, s feed.Sink, changes ...feed.Change) {
	t.Helper()
	refused, err := s.Write(t.Context(), batch(changes...))
	if err != nil || len(refused) > 0 {
		t.Fatalf("%v, %v", refused, err)
	}
}

const (
	a = "https://example.org/a"
	b = "https://example.org/b"
)

// Both products take the same requests: what is made, stored, changed and deleted.
func TestBothProducts(t *testing.T) {
	for _, product := range []string{elastictest.Elasticsearch, elastictest.OpenSearch} {
		t.Run(product, func(t *testing.T) {
			simnet.Test(t, func(t *testing.T) {
				server := elastictest.Start(t, simnet.Of(t).Listen, elastictest.Config{Product: product})
				s := open(t, server, "?gzip=true", "")
				prepare(t, s, siterules.FieldInfo{Name: "version", Type: crawl.FieldNumber})
				kinds := server.Kinds("pages-000001")
				for name, want := range map[string]string{"url": "keyword", "title": "text", "fetched_at": "date", "crawl": "keyword", "generation": "long", "fields.version": "double"} {
					if kinds[name] != want {
						t.Errorf("%s is mapped as %q, want %q", name, kinds[name], want)
					}
				}
				write(t, s, feedtest.Page(a, 1), feedtest.Page(b, 2))
				write(t, s, feedtest.Page(a, 3), feedtest.Gone(b, 4))
				never := feedtest.Gone("https://example.org/never", 5)
				write(t, s, feedtest.Gone(b, 4), never) // deleted already, and never there
				docs := server.Docs("pages")
				if len(docs) != 1 {
					t.Fatalf("%d documents", len(docs))
				}
				for _, d := range docs {
					var doc struct {
						URL, Host, Crawl, Text string
						Shard                  int
						Generation             int64
					}
					if err := json.Unmarshal(d.Source, &doc); err != nil {
						t.Fatal(err)
					}
					if d.Version != 3 || doc.URL != a || doc.Host != "example.org" || doc.Crawl != "docs" || doc.Shard != 2 || doc.Generation != 7 || doc.Text != feedtest.Page(a, 3).Row.Text {
						t.Errorf("%+v, version %d", doc, d.Version)
					}
				}
			})
		})
	}
}

// A batch that is sent again later, after newer changes, changes nothing.
func TestOlderVersions(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		server := elastictest.Start(t, simnet.Of(t).Listen, elastictest.Config{})
		s := open(t, server, "", "")
		prepare(t, s)
		write(t, s, feedtest.Page(a, 8), feedtest.Page(b, 9))
		write(t, s, feedtest.Gone(b, 10))
		write(t, s, feedtest.Page(a, 1), feedtest.Page(b, 2))
		if docs := server.Docs("pages"); len(docs) != 1 || docs[feedtest.Page(a, 0).ID].Version != 8 {
			t.Errorf("%v", docs)
		}
	})
}

// An index that somebody else made is used. Its mapping gets what is missing, and keeps the rest.
func TestConcreteIndex(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		server := elastictest.Start(t, simnet.Of(t).Listen, elastictest.Config{})
		if err := server.MakeIndex("pages", `{"properties": {"title": {"type": "keyword"}, "fields": {"properties": {"kind": {"type": "text"}}}}}`); err != nil {
			t.Fatal(err)
		}
		s := open(t, server, "", "")
		prepare(t, s, siterules.FieldInfo{Name: "kind", Type: crawl.FieldKeyword}, siterules.FieldInfo{Name: "when", Type: crawl.FieldDate})
		write(t, s, feedtest.Page(a, 1))
		kinds := server.Kinds("pages")
		if kinds["title"] != "keyword" || kinds["fields.kind"] != "text" || kinds["fields.when"] != "date" || kinds["crawl"] != "keyword" {
			t.Errorf("%v", kinds)
		}
		if len(server.Docs("pages")) != 1 || server.Kinds("pages-000001") != nil {
			t.Error("the index was not used")
		}
	})
}

// Prepare adds new fields, may be called by several at once, and adds an alias again.
func TestPrepareAgain(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		server := elastictest.Start(t, simnet.Of(t).Listen, elastictest.Config{})
		done := make(chan error)
		for range 4 {
			s := open(t, server, "", "")
			go func() { done <- s.Prepare(t.Context(), nil) }()
		}
		for range 4 {
			if err := <-done; err != nil {
				t.Fatal(err)
			}
		}
		s := open(t, server, "", "")
		prepare(t, s, siterules.FieldInfo{Name: "tags", Type: crawl.FieldKeyword, Many: true})
		if got := server.Kinds("pages-000001")["fields.tags"]; got != "keyword" {
			t.Errorf("the new field is mapped as %q", got)
		}
		if err := server.MakeIndex("pages-000002", ""); err != nil { // as a rollover does
			t.Fatal(err)
		}
		if got := server.Kinds("pages-000002")["fields.tags"]; got != "keyword" {
			t.Errorf("in the next index the new field is mapped as %q", got)
		}
	})
}

// Without the privileges for the cluster, an account can still feed an index.
func TestFewPrivileges(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		server := elastictest.Start(t, simnet.Of(t).Listen, elastictest.Config{
			Authorization: "ApiKey secret==", Forbidden: []string{"PUT /_index_template", "POST /_aliases"},
		})
		s := open(t, server, "", "secret==")
		prepare(t, s)
		write(t, s, feedtest.Page(a, 1))
	})
}

// What an operator must mend is permanent, and the message has the next step.
func TestPermanent(t *testing.T) {
	for name, c := range map[string]struct {
		config elastictest.Config
		drop   bool // the index vanishes after Prepare
		want   string
	}{
		"password":      {elastictest.Config{Authorization: "Basic abc"}, false, "API key"},
		"privilege":     {elastictest.Config{Forbidden: []string{"PUT /pages-000001"}}, false, "privileges create_index"},
		"write":         {elastictest.Config{Forbidden: []string{"POST /pages/_bulk"}}, false, "privileges"},
		"missing index": {elastictest.Config{}, true, "whether the index pages still exists"},
		"read only": {elastictest.Config{Bulk: func(int) elastictest.Fault {
			return elastictest.Fault{Item: func(string) int { return 403 }}
		}}, false, "writable again"},
	} {
		t.Run(name, func(t *testing.T) {
			simnet.Test(t, func(t *testing.T) {
				server := elastictest.Start(t, simnet.Of(t).Listen, c.config)
				s := open(t, server, "", "")
				err := s.Prepare(t.Context(), nil)
				if c.drop {
					server.DropIndex("pages-000001")
				}
				if err == nil {
					_, err = s.Write(t.Context(), batch(feedtest.Page(a, 1)))
				}
				var p *feed.Permanent
				if !errors.As(err, &p) || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%v", err)
				}
				if c.drop && len(server.Docs("pages")) > 0 {
					t.Error("the write has made an index")
				}
			})
		})
	}
}

// The template in deploy is what Prepare sends for an index without fields of site rules.
func TestTemplateInDeploy(t *testing.T) {
	want, err := elastic.Template("pages", nil)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join("..", "..", "..", "deploy", "search-template.json")
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(name, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	has, err := os.ReadFile(name)
	if err != nil || string(has) != string(want) {
		t.Errorf("%s is not what the feed sends; UPDATE=1 go test writes it again (%v)", name, err)
	}
}

func TestOpenErrors(t *testing.T) {
	for text, want := range map[string]string{
		"elastic://h/pages":                        "is not one of elasticsearch",
		"elasticsearch+ftp://h/pages":              "is not one of elasticsearch",
		"elasticsearch:///pages":                   "elasticsearch://HOST:9200/INDEX",
		"elasticsearch://h:9200":                   "elasticsearch://h:9200/INDEX",
		"elasticsearch://h/Pages":                  "lower case",
		"elasticsearch://h/pages?part=65535":       "64KiB to 100MB",
		"elasticsearch://h/pages?part=101MB":       "64KiB to 100MB",
		"elasticsearch://h/pages?part=much":        "such as 20MiB",
		"elasticsearch://h/pages?gzip=1":           "neither true nor false",
		"elasticsearch://h/pages?ca=/nowhere":      "no such file",
		"elasticsearch://h/pages?ca=/etc/hostname": "no certificate in PEM",
		"elasticsearch://h/pages?index=x":          "there are part, ca and gzip",
	} {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := elastic.Open(context.Background(), u, elastic.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{"elasticsearch://h/pages?part=64KiB", "opensearch+http://u:p@h:9200/below/pages?part=100MB&gzip=true"} {
		u, _ := url.Parse(text)
		if _, err := elastic.Open(context.Background(), u, elastic.Options{}); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}
