package feed

import (
	"context"
	"fmt"
	"slices"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/questions"
)

const (
	// batchBytes is about how many bytes of rows one batch has, and batchRows how many rows.
	batchBytes = 1 << 20
	batchRows  = 500
	// shared is how many batches are in memory at the same time, for all shards of all feeds of a
	// process, beside one for each feed. A batch is there up to four times: as it came, as rows,
	// and as a sink sends it.
	shared = 3
)

// version is the version of a change. Numbers of changes start again when a store was lost, and
// generations do not.
func version(generation int64, seq uint64) int64 { return generation<<32 + int64(seq) }

// reading is the answer to one question for changes.
type reading struct {
	pos     crawl.FeedPosition
	changes []Change
	end     uint64 // the number up to which it is complete
}

// read asks for the next changes of a shard.
func (f *Feeder) read(ctx context.Context, shard int) (*reading, error) {
	var r reading
	known, ended := false, false
	at := map[string]int{} // changes by page
	req := crawl.FeedRead{Sink: f.o.Name, Shard: shard, Content: f.o.Content, Fields: f.o.Fields, For: f.o.For, UnknownToo: f.o.UnknownToo,
		MaxBytes: batchBytes, MaxRows: batchRows}
	err := questions.FeedRead.Each(ctx, f.crawl, req, func(row crawl.FeedRow) error {
		switch {
		case row.Position != nil && known:
			// The shard moves, and both indexers answered. Which of them has it is not known.
			return fmt.Errorf("two indexers answered for shard %d", shard)
		case row.Position != nil:
			r.pos, known = *row.Position, true
		case row.End:
			r.end, ended = row.Seq, true
		case row.Page != nil:
			if i, twice := at[row.ID]; twice { // it was stored again while the answer was made
				r.changes[i].ID = ""
			}
			at[row.ID] = len(r.changes)
			r.changes = append(r.changes, f.only.change(row.ID, version(r.pos.Generation, row.Seq), row.Page))
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case !known || !ended:
		return nil, fmt.Errorf("no indexer has shard %d now", shard)
	}
	r.changes = slices.DeleteFunc(r.changes, func(c Change) bool { return c.ID == "" })
	return &r, nil
}

// acknowledge reports that the sink has everything up to a number. begun reports that the position
// is another one meanwhile.
func (f *Feeder) acknowledge(ctx context.Context, a crawl.FeedAck) (begun bool, err error) {
	a.Sink = f.o.Name
	pos, found, err := questions.FeedAck.Ask(ctx, f.crawl, a)
	if err != nil {
		return false, err
	}
	if !found {
		return false, fmt.Errorf("no indexer has shard %d now", a.Shard)
	}
	return pos.Generation != a.Generation, nil
}
