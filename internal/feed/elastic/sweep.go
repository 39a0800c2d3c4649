package elastic

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
)

// Sweep deletes what is left of earlier generations. A document that is written at the same time is
// a conflict for the server, which then leaves the document alone. It is of the new generation.
func (s *Sink) Sweep(ctx context.Context, crawlName string, shard int, generation int64) error {
	// A server finds a document only after a refresh, by default once a second.
	what := "/" + s.index + "/_refresh"
	a, err := s.do(ctx, http.MethodPost, what, "", nil)
	if err != nil {
		return err
	}
	if a.status != http.StatusOK {
		return s.failed("POST "+what, a)
	}
	query, err := json.Marshal(object{"query": object{"bool": object{"filter": []object{
		{"term": object{"crawl": crawlName}},
		{"term": object{"shard": shard}},
		{"range": object{"generation": object{"lt": generation}}},
	}}}})
	if err != nil {
		return err
	}
	what = "/" + s.index + "/_delete_by_query?conflicts=proceed&refresh=true"
	// It takes as long as the number of documents needs.
	a, err = s.perform(ctx, http.MethodPost, what, "application/json", query)
	if err != nil {
		return err
	}
	if a.status != http.StatusOK {
		return s.failed("POST "+what, a)
	}
	var r struct {
		Deleted  int64             `json:"deleted"`
		TimedOut bool              `json:"timed_out"`
		Failures []json.RawMessage `json:"failures"`
	}
	if err := json.Unmarshal(a.body, &r); err != nil {
		return fmt.Errorf("%s: the answer to _delete_by_query cannot be read: %w", s.server, err)
	}
	if r.TimedOut || len(r.Failures) > 0 {
		return fmt.Errorf("%s: _delete_by_query has deleted %d documents, and failed for %d: %s", s.server, r.Deleted, len(r.Failures), cut(fmt.Sprintf("%s", r.Failures)))
	}
	return nil
}
