//go:build arrow

package parquet

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

// Read returns what arrow-go finds in a Parquet file: each row as JSON, and the file itself. It may
// be called concurrently.
func Read(ctx context.Context, b []byte) (rows []map[string]any, f *file.Reader, err error) {
	if f, err = file.NewParquetReader(bytes.NewReader(b)); err != nil {
		return nil, nil, err
	}
	r, err := pqarrow.NewFileReader(f, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	if err != nil {
		return nil, nil, err
	}
	table, err := r.ReadTable(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer table.Release()
	chunks := array.NewTableReader(table, 1000)
	defer chunks.Release()
	for chunks.Next() {
		var j bytes.Buffer
		if err := array.RecordToJSON(chunks.RecordBatch(), &j); err != nil {
			return nil, nil, err
		}
		for line := range strings.Lines(j.String()) {
			var row map[string]any
			if err := json.Unmarshal([]byte(line), &row); err != nil {
				return nil, nil, err
			}
			rows = append(rows, row)
		}
	}
	return rows, f, chunks.Err()
}

// Time is a time of Read in the form of RFC 3339, or the text itself if it is no time.
func Time(text string) string {
	for _, layout := range []string{"2006-01-02 15:04:05.999Z", "2006-01-02 15:04:05.999", time.RFC3339} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC().Format(time.RFC3339)
		}
	}
	return text
}
