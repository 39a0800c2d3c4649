// Package feed keeps other systems in step with the stored pages of a crawl: search servers,
// databases, queues, files. What was stored, changed or deleted since the last acknowledged position
// is sent again until the other side has it: at least once, in order for each page, with versions
// that make a repetition harmless.
package feed

import (
	"context"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/siterules"
)

// Change is a page to be stored or deleted at the other side.
type Change struct {
	// ID identifies the page: export.DocumentID of its URL.
	ID string
	// Version grows with each change of the page, also when its store was lost and begins again.
	// A sink that holds a version that is at least as new keeps it.
	Version int64
	// Row is the page as `curtsy export pages` shows it. With Row.Removed the page is to be deleted.
	Row crawl.PageRow
}

// Batch has changes of one shard, in order. No page is in it twice.
type Batch struct {
	Crawl string
	Shard int
	// Generation is the part of the versions that changes when the shard is sent again from its
	// beginning. Documents carry crawl, shard and generation for Sweep.
	Generation int64
	Changes    []Change
}

// Refused is a change that the other side will never accept.
type Refused struct {
	Change *Change
	Reason string
}

// Sink is another system. Its methods are called by one goroutine for each shard at the same time.
type Sink interface {
	// Prepare creates what is missing at the other side: an index, a table, a stream, a folder. It
	// is called before the first Write, and again when the fields of the site rules change.
	Prepare(ctx context.Context, fields []siterules.FieldInfo) error
	// Write stores and deletes. An error means that the batch may not have arrived, or only a part
	// of it, and must be sent again; *Permanent says that sending it again will not help. Changes
	// that are refused for good are returned, and all others are stored.
	Write(ctx context.Context, b Batch) ([]Refused, error)
	// Sweep deletes the documents of a crawl's shard that are of an earlier generation. It is called
	// when all pages of the shard were sent in this one, and may run twice.
	Sweep(ctx context.Context, crawlName string, shard int, generation int64) error
	Close() error
}

// Permanent is an error that an operator must mend: a wrong password, a missing index, a wrong URL.
// It says what to do. The feed waits longer before it tries again.
type Permanent struct{ Err error }

func (p *Permanent) Error() string { return p.Err.Error() }

// Unwrap returns the cause.
func (p *Permanent) Unwrap() error { return p.Err }
