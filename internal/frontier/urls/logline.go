package urls

import (
	"strconv"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/store"
)

// LogLine adds one line to the crawl log (DIR/crawl.jsonl) for a URL that was fetched, refused or
// given up. res is nil when this was decided without a visit.
func (s *URLs) LogLine(r *Record, res *crawl.Result) {
	if s.ledger.CrawlLog == nil {
		return
	}
	s.ledger.AddLine(func(b []byte) []byte { return appendLine(b, r, res) })
}

// appendLine appends what follows the time in the line of a URL.
func appendLine(b []byte, r *Record, res *crawl.Result) []byte {
	b = append(b, `,"url":`...)
	b = store.AppendJSON(b, string(r.URL))
	class := r.Class.String()
	if r.Class == crawl.Queued {
		class = crawl.Retry.String()
	}
	b = append(b, `,"state":"`...)
	b = append(b, class...)
	b = append(b, '"')
	if r.Reason != "" {
		b = append(b, `,"reason":`...)
		b = store.AppendJSON(b, string(r.Reason))
	}
	detail := r.Detail
	if detail == "" && res != nil && r.Class == crawl.Stored {
		// A note about this response only, which the record does not keep
		detail = crawl.ShortDetail(res.Rule)
	}
	if detail != "" {
		b = append(b, `,"detail":`...)
		b = store.AppendJSON(b, detail)
	}
	if r.Line > 0 {
		b = append(b, `,"line":`...)
		b = strconv.AppendInt(b, int64(r.Line), 10)
	}
	b = append(b, `,"depth":`...)
	b = strconv.AppendInt(b, int64(r.Depth), 10)
	if res != nil {
		if res.Status != 0 {
			b = append(b, `,"status":`...)
			b = strconv.AppendInt(b, int64(res.Status), 10)
		}
		b = append(b, `,"bytes":`...)
		b = strconv.AppendInt(b, res.Bytes, 10)
		b = append(b, `,"took_s":`...)
		b = strconv.AppendFloat(b, res.Took.Seconds(), 'f', 6, 64)
		b = append(b, `,"visit":"`...)
		b = append(b, r.Visit.String()...)
		b = append(b, '"')
	}
	return append(b, '}', '\n')
}
