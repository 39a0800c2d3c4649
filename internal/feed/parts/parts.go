// Package parts is the sink of the feed that writes files, so-called parts, in Parquet or JSON
// lines, into a folder or into a bucket of S3.
//
// Each batch becomes one part, or several if it is larger than PartBytes. The name of a part is
// part-CRAWL-SHARD-GENERATION-VERSION, with the version of its last change, so a batch that is sent
// again replaces the same part. It may also come again with other limits. A page may therefore be
// in several parts: the row with its highest version counts, and if that has "removed", the page is
// deleted. A part appears under its name when it is complete. Sweep deletes the parts of earlier
// generations.
package parts

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/curtsy/curtsy/internal/feed"
	"github.com/curtsy/curtsy/internal/siterules"
)

// PartBytes is the size of a part at which the next one begins: the bytes of its texts, before they
// are compressed. A part has at least one change.
const PartBytes = 16 << 20

// store is where parts are.
type store interface {
	// prepare makes what is missing, or reports what an operator must make.
	prepare(ctx context.Context) error
	// put stores a part, or replaces it. After an error the old one, the new one or none is there.
	put(ctx context.Context, name string, content []byte) error
	// list calls do for the names that begin with a prefix.
	list(ctx context.Context, prefix string, do func(name string) error) error
	remove(ctx context.Context, name string) error
	close()
}

// Sink writes parts. Its methods may be called concurrently.
type Sink struct {
	store   store
	format  string // parquet or jsonl
	columns atomic.Pointer[schema]
	// encoding is locked while a part is made, because that takes several times its size.
	encoding sync.Mutex
}

var _ feed.Sink = (*Sink)(nil)

// Open checks a URL and makes a sink for it, without a request: file:///srv/pages?format=parquet,
// or s3://BUCKET/PREFIX with the parameters format, endpoint (the URL of a server that is not
// Amazon's) and region. The format of a folder is jsonl unless it is given, that of a bucket
// parquet.
func Open(_ context.Context, u *url.URL, o Options) (feed.Sink, error) {
	q := u.Query()
	s := &Sink{format: q.Get("format")}
	q.Del("format")
	var err error
	switch u.Scheme {
	case "file":
		dir := u.Path + u.Opaque
		if dir == "" || u.Host != "" && u.Host != "localhost" {
			return nil, fmt.Errorf("the URL names no folder: write file:///srv/pages")
		}
		s.store = &folder{dir: filepath.FromSlash(dir)}
		if s.format == "" {
			s.format = "jsonl"
		}
	case "s3":
		if s.store, err = openBucket(u, q, o); err != nil {
			return nil, err
		}
		q.Del("endpoint")
		q.Del("region")
		if s.format == "" {
			s.format = "parquet"
		}
	default:
		return nil, fmt.Errorf("the scheme %q is neither file nor s3", u.Scheme)
	}
	if s.format != "parquet" && s.format != "jsonl" {
		return nil, fmt.Errorf("the format %q is unknown; there are parquet and jsonl", s.format)
	}
	for name := range q {
		return nil, fmt.Errorf("the parameter %q is unknown", name)
	}
	s.columns.Store(newSchema(nil))
	return s, nil
}

// Prepare makes a folder, or checks that the bucket can be used. Later parts have columns for the
// fields.
func (s *Sink) Prepare(ctx context.Context, fields []siterules.FieldInfo) error {
	s.columns.Store(newSchema(fields))
	return s.store.prepare(ctx)
}

// Write stores the parts of a batch.
func (s *Sink) Write(ctx context.Context, b feed.Batch) (refused []feed.Refused, err error) {
	for rest := b.Changes; len(rest) > 0; {
		n, size := 0, 0
		for n < len(rest) && (n == 0 || size+bytesOf(&rest[n]) <= PartBytes) {
			size += bytesOf(&rest[n])
			n++
		}
		part := feed.Batch{Crawl: b.Crawl, Shard: b.Shard, Generation: b.Generation, Changes: rest[:n]}
		content, err := s.encode(&part)
		if err != nil {
			return nil, err
		}
		if err := s.store.put(ctx, partName(&part)+"."+s.format, content); err != nil {
			return nil, err
		}
		rest = rest[n:]
	}
	return refused, nil
}

// bytesOf is about how many bytes a change has.
func bytesOf(c *feed.Change) int {
	n := 1000 + len(c.Row.URL) + len(c.Row.Title) + len(c.Row.Text) + len(c.Row.HTML) + len(c.Row.Markdown)
	for _, f := range c.Row.Fields {
		for _, v := range f.Values {
			n += len(v)
		}
	}
	return n
}

func (s *Sink) encode(b *feed.Batch) ([]byte, error) {
	s.encoding.Lock()
	defer s.encoding.Unlock()
	if s.format == "parquet" {
		return s.columns.Load().encode(b)
	}
	return lines(b)
}

// Sweep deletes the parts of earlier generations of a shard.
func (s *Sink) Sweep(ctx context.Context, crawlName string, shard int, generation int64) error {
	return s.store.list(ctx, shardPrefix(crawlName, shard), func(name string) error {
		n, ok := generationOf(name, crawlName, shard)
		if !ok || n >= generation {
			return nil
		}
		return s.store.remove(ctx, name)
	})
}

// Close closes connections.
func (s *Sink) Close() error {
	s.store.close()
	return nil
}

func shardPrefix(crawlName string, shard int) string {
	return fmt.Sprintf("part-%s-%04d-", crawlName, shard)
}

func partName(b *feed.Batch) string {
	return shardPrefix(b.Crawl, b.Shard) + fmt.Sprintf("%010d-%019d", b.Generation, b.Changes[len(b.Changes)-1].Version)
}

// generationOf reads the name of a part of a shard. That of another crawl may have the same
// beginning, because names of crawls have hyphens: then more than two numbers follow.
func generationOf(name, crawlName string, shard int) (int64, bool) {
	rest, ok := strings.CutPrefix(name, shardPrefix(crawlName, shard))
	rest, _, dotted := strings.Cut(rest, ".")
	generation, version, both := strings.Cut(rest, "-")
	if !ok || !dotted || !both || strings.Contains(version, "-") {
		return 0, false
	}
	n, err := strconv.ParseInt(generation, 10, 64)
	return n, err == nil
}
