package elastictest_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/feed/elastic/elastictest"
)

// What the servers refuse, by their documentation, and what they answer for single items.
func TestProtocol(t *testing.T) {
	for name, c := range map[string]struct {
		request, contentType, body string
		status                     int
		want                       string // in the answer
	}{
		"no line feed":       {"POST /i/_bulk", "application/x-ndjson", `{"delete": {"_id": "1"}}`, 400, `terminated by a newline`},
		"type":               {"POST /i/_bulk", "text/plain", "{}\n", 406, "Content-Type header [text/plain]"},
		"NDJSON elsewhere":   {"PUT /i", "application/x-ndjson", "{}", 406, "Content-Type header"},
		"no body":            {"POST /i/_bulk", "application/x-ndjson", "", 400, "request body is required"},
		"no action":          {"POST /i/_bulk", "application/x-ndjson", "[]\n", 400, "Malformed action/metadata line [1]"},
		"unknown action":     {"POST /i/_bulk", "application/x-ndjson", `{"remove": {"_id": "1"}}` + "\n", 400, "but found [remove]"},
		"unknown parameter":  {"POST /i/_bulk", "application/x-ndjson", `{"delete": {"_id": "1", "_version": 3}}` + "\n", 400, "unknown parameter [_version]"},
		"no document":        {"POST /i/_bulk", "application/x-ndjson", `{"index": {"_id": "1"}}` + "\n", 400, "must have a source"},
		"query":              {"POST /i/_bulk?alias=1", "application/x-ndjson", "{}\n", 400, "unrecognized parameter: [alias]"},
		"too long":           {"POST /i/_bulk", "application/x-ndjson", strings.Repeat("x", 1001), 413, "too long"},
		"internal version":   {"POST /i/_bulk", "application/x-ndjson", `{"delete": {"_id": "1", "version": 3}}` + "\n", 200, "if_seq_no"},
		"long id":            {"POST /i/_bulk", "application/x-ndjson", `{"delete": {"_id": "` + strings.Repeat("x", 513) + `"}}` + "\n", 200, "no longer than 512 bytes"},
		"not found":          {"POST /i/_bulk", "application/x-ndjson", `{"delete": {"_id": "1"}}` + "\n", 200, `"result":"not_found","status":404`},
		"made":               {"POST /i/_bulk", "application/x-ndjson", "{\"index\": {\"_id\": \"1\", \"version\": 3, \"version_type\": \"external_gte\"}}\n{\"a\": 1}\n", 200, `"_version":3,"result":"created","status":201`},
		"require_alias":      {"POST /i/_bulk?require_alias=true", "application/x-ndjson", `{"delete": {"_id": "1"}}` + "\n", 200, "is not an alias"},
		"mapping of none":    {"GET /i/_mapping", "", "", 404, "index_not_found_exception"},
		"type of a field":    {"PUT /i", "application/json", `{"mappings": {"properties": {"a": {"type": "string"}}}}`, 400, "The mapper type [string]"},
		"unknown path":       {"GET /i/_doc/1", "", "", 400, "no handler found"},
		"query of deletions": {"POST /i/_delete_by_query", "application/json", `{"query": {"match_all": {}}}`, 404, "no such index"},
	} {
		t.Run(name, func(t *testing.T) {
			s := elastictest.New(elastictest.Config{MaxContentLength: 1000})
			method, path, _ := strings.Cut(c.request, " ")
			r := httptest.NewRequest(method, path, strings.NewReader(c.body))
			r.Header.Set("Content-Type", c.contentType)
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			if w.Code != c.status || !strings.Contains(w.Body.String(), c.want) || w.Header().Get("X-Elastic-Product") != "Elasticsearch" {
				t.Errorf("%d %s", w.Code, w.Body)
			}
		})
	}
}

// OpenSearch says what it is, and does not have the header of Elasticsearch.
func TestProducts(t *testing.T) {
	w := httptest.NewRecorder()
	elastictest.New(elastictest.Config{Product: elastictest.OpenSearch}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", http.NoBody))
	if !strings.Contains(w.Body.String(), `"distribution":"opensearch"`) || w.Header().Get("X-Elastic-Product") != "" {
		t.Errorf("%s", w.Body)
	}
}
