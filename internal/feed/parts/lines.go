package parts

import (
	"bytes"
	"encoding/json"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/feed"
)

// lines are the changes of a batch as lines of JSON: the id and the version, and the page as
// `curtsy export pages` writes it.
func lines(b *feed.Batch) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	for i := range b.Changes {
		c := &b.Changes[i]
		var err error
		if c.Row.Removed != "" {
			err = e.Encode(struct {
				ID      string `json:"id"`
				Version int64  `json:"version"`
				crawl.PageRemoved
			}{c.ID, c.Version, crawl.PageRemoved{URL: c.Row.URL, FetchedAt: c.Row.FetchedAt, Removed: c.Row.Removed}})
		} else {
			err = e.Encode(struct {
				ID      string `json:"id"`
				Version int64  `json:"version"`
				*crawl.PageRecord
			}{c.ID, c.Version, &c.Row.PageRecord})
		}
		if err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}
