package asker

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/questions"
)

// Log is a part of the crawl log, merged from the files of all frontiers that answer. One call
// looks at a limited part of each file. So a call with a filter may return fewer lines than asked
// for, or none, although there are more before them. LogPage.Before continues there.
func (c *Crawl) Log(ctx context.Context, q crawl.LogQuery) (crawl.LogPage, error) {
	req := crawl.LogRequest{Host: q.Host, URL: q.URL, Class: q.Class, Reason: q.Reason, Limit: cmp.Or(q.Limit, crawl.DefaultLimit)}
	var err error
	if q.After != "" {
		req.After, err = places(q.After)
	} else if q.Before != "" {
		req.Before, err = places(q.Before)
	}
	if err != nil {
		return crawl.LogPage{}, err
	}
	files := map[string]*logFile{}
	err = questions.Log.Each(ctx, c, req, func(part crawl.LogPart) error {
		f := files[part.File]
		if f == nil {
			f = &logFile{}
			files[part.File] = f
		}
		if f.span == nil {
			f.lines = append(f.lines, part.Lines...)
			f.span = part.Span
		}
		return nil
	})
	for file, f := range files {
		if f.span == nil {
			delete(files, file) // its frontier went away during the answer
		}
	}
	return mergeLog(files, req), err
}

// logFile is the answer from one file.
type logFile struct {
	lines []crawl.LogEntry
	span  *crawl.LogSpan
}

// mergeLog merges lines in the order of time. The lines of one file keep the order of the file. So
// the lines of a file that are left out are all behind, or all before, those that are taken, and a
// cursor needs only one position in each file.
func mergeLog(files map[string]*logFile, req crawl.LogRequest) (p crawl.LogPage) {
	after, before := maps.Clone(req.After), map[string]int64{}
	if after == nil {
		after = map[string]int64{}
	}
	delete(after, "") // it comes back below if that file still has no lines
	forward := req.After != nil
	from, to := map[string]int{}, map[string]int{} // the lines that are not taken yet
	for id, f := range files {
		to[id] = len(f.lines)
		after[id], before[id] = f.span.To, f.span.From
	}
	p.Lines = []crawl.LogLine{}
	for len(p.Lines) < req.Limit {
		next := ""
		for id, f := range files {
			if from[id] == to[id] {
				continue
			}
			if next == "" {
				next = id
				continue
			}
			is, was := f.lines[from[id]], files[next].lines[from[next]]
			if !forward {
				was, is = f.lines[to[id]-1], files[next].lines[to[next]-1]
			}
			if c := is.Line.Time.Compare(was.Line.Time); c < 0 || c == 0 && id < next {
				next = id
			}
		}
		if next == "" {
			break
		}
		f := files[next]
		if forward {
			p.Lines = append(p.Lines, f.lines[from[next]].Line)
			from[next]++
		} else {
			to[next]--
			p.Lines = append(p.Lines, f.lines[to[next]].Line)
		}
	}
	for id, f := range files {
		switch n := len(f.lines); {
		case from[id] == to[id]:
		case forward:
			after[id] = f.lines[from[id]].Start
		case to[id] < n:
			before[id] = f.lines[to[id]].Start
		default:
			before[id] = f.span.To
		}
	}
	if !forward {
		slices.Reverse(p.Lines)
	}
	p.After, p.Before = cursorOf(after), ""
	for _, at := range before {
		if at > 0 {
			p.Before = cursorOf(before)
		}
	}
	return p
}

// maxLogCursor limits how much of a cursor is read, in bytes. A cursor of 256 files has 8 KiB.
const maxLogCursor = 16 << 10

func cursorOf(places map[string]int64) string {
	b, err := json.Marshal(places)
	if err != nil {
		panic(err) // texts and numbers can always be encoded
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// places reads a cursor.
func places(cursor string) (at map[string]int64, err error) {
	b, err := base64.RawURLEncoding.DecodeString(cursor[:min(len(cursor), maxLogCursor)])
	if err == nil {
		err = json.Unmarshal(b, &at)
	}
	if err != nil || at == nil {
		return nil, fmt.Errorf("%.40q is not a cursor of a crawl log: start without a cursor", cursor)
	}
	return at, nil
}
