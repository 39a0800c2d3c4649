package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/curtsy/curtsy/internal/feed/elastic/elastictest"
	"github.com/curtsy/curtsy/internal/feed/parts/s3test"
	"github.com/curtsy/curtsy/pkg/queue/embedded"
)

// kinds are the sinks, in the order in which they are fed.
var kinds = []string{"webhook", "webhook-ndjson", "elasticsearch", "opensearch", "postgres", "nats", "jsonl", "parquet", "s3"}

// receive is the server of a sink. It prints the sink's URL, and ends when its input does.
func receive(kind string) error {
	dir, err := os.MkdirTemp("", "sink") // a short path, for PostgreSQL's socket
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	to, stop, err := serve(kind, dir)
	if err != nil {
		return err
	}
	defer stop()
	fmt.Println(to)
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

func serve(kind, dir string) (to string, stop func(), err error) {
	stop = func() {}
	listen := func(h http.Handler) string {
		l, e := net.Listen("tcp", "127.0.0.1:0")
		if err = e; e != nil {
			return ""
		}
		go func() { _ = http.Serve(l, h) }() // until the process ends
		return l.Addr().String()
	}
	switch kind {
	case "webhook":
		return "http://" + listen(http.HandlerFunc(discard)) + "/pages", stop, err
	case "webhook-ndjson":
		return "http://" + listen(http.HandlerFunc(discard)) + "/pages?format=ndjson", stop, err
	case "elasticsearch", "opensearch":
		return kind + "+http://" + listen(&bulkServer{elastictest.New(elastictest.Config{Product: kind})}) + "/pages", stop, err
	case "s3":
		return "s3://bucket/pages?endpoint=http://" + listen(s3test.New(s3test.Config{Bucket: "bucket", AccessKey: "K"})), stop, err
	case "jsonl", "parquet":
		return "file://" + filepath.Join(dir, "parts") + "?format=" + kind, stop, nil
	case "nats":
		s, err := embedded.Start(embedded.Options{Dir: dir, Listen: "127.0.0.1:0", User: "feed", Password: "feed", Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			return "", nil, err
		}
		return "nats://feed:feed@" + strings.TrimPrefix(strings.TrimSuffix(s.ClientURL(), "/"), "nats://") + "/curtsy.pages?stream=PAGES", s.Shutdown, nil
	case "postgres":
		return startPostgres(dir)
	}
	return "", nil, fmt.Errorf("the sink %q is unknown; there are %s", kind, strings.Join(kinds, ", "))
}

// discard is a webhook that reads everything.
func discard(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }

// bulkServer is a search server that accepts every document of _bulk without storing it. All other
// requests are answered by the stand-in of the tests.
type bulkServer struct{ other http.Handler }

func (s *bulkServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !strings.HasSuffix(r.URL.Path, "/_bulk") {
		s.other.ServeHTTP(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	type result struct {
		ID     string `json:"_id"`
		Status int    `json:"status"`
	}
	answer := struct {
		Errors bool                `json:"errors"`
		Items  []map[string]result `json:"items"`
	}{}
	for n, line := 0, []byte(nil); len(body) > 0; n++ {
		line, body, _ = bytes.Cut(body, []byte("\n"))
		if n%2 == 1 { // a document; nothing is deleted here
			continue
		}
		var action struct {
			Index struct {
				ID string `json:"_id"`
			} `json:"index"`
		}
		if err := json.Unmarshal(line, &action); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		answer.Items = append(answer.Items, map[string]result{"index": {action.Index.ID, http.StatusCreated}})
	}
	w.Header().Set("X-Elastic-Product", "Elasticsearch")
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}
