package feed

import (
	"context"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// step sends one batch of a shard. more reports that there may be more to do. Between its parts a
// crash loses nothing: see the package comment.
func (f *Feeder) step(ctx context.Context, shard int) (more bool, err error) {
	select {
	case f.own <- struct{}{}:
		defer func() { <-f.own }()
	case f.o.Memory <- struct{}{}:
		defer func() { <-f.o.Memory }()
	case <-ctx.Done():
		return false, ctx.Err()
	}
	if err := f.o.Fault("read"); err != nil {
		return false, err
	}
	r, err := f.read(ctx, shard)
	if err != nil {
		return false, err
	}
	ack := crawl.FeedAck{Shard: shard, Generation: r.pos.Generation, Seq: r.end, Sent: int64(len(r.changes))}
	if err := f.send(ctx, shard, r, &ack); err != nil {
		f.report(ctx, r, err)
		return false, err
	}
	if ack.Seq == r.pos.Cursor && !ack.Swept {
		return false, nil // there was nothing to do
	}
	if err := f.o.Fault("ack"); err != nil {
		return false, err
	}
	// If the position has begun again meanwhile, the next step reads from its beginning.
	if _, err := f.acknowledge(ctx, ack); err != nil {
		return false, err
	}
	if f.o.Events.Sent != nil {
		f.o.Events.Sent(len(r.changes), int(ack.Refused))
	}
	return true, nil
}

// send writes a batch to the sink, and what the sink refuses to its file. If everything was
// sent before, it sweeps.
func (f *Feeder) send(ctx context.Context, shard int, r *reading, ack *crawl.FeedAck) error {
	_, ending := f.finishing()
	if len(r.changes) == 0 && !(ending && !r.pos.Swept || sweepDue(&r.pos, time.Now())) {
		return nil
	}
	if err := f.prepare(ctx); err != nil {
		return err
	}
	name := f.crawlName()
	if len(r.changes) == 0 {
		if err := f.o.Fault("sweep"); err != nil {
			return err
		}
		ack.Swept = true
		return f.sink.Sweep(ctx, name, shard, r.pos.Generation)
	}
	if err := f.o.Fault("write"); err != nil {
		return err
	}
	refused, err := f.sink.Write(ctx, Batch{Crawl: name, Shard: shard, Generation: r.pos.Generation, Changes: r.changes})
	if err != nil {
		return err
	}
	if ack.Refused = int64(len(refused)); len(refused) == 0 {
		return nil
	}
	if err := f.o.Fault("dead"); err != nil {
		return err
	}
	return f.dead.add(refused)
}

const (
	// A shard is swept when this time has passed without a change. If its store was lost, its pages
	// are being crawled again, and until then it is better to have the earlier ones.
	sweepQuiet = 10 * time.Minute
	// sweepLatest is when a shard is swept although changes keep coming.
	sweepLatest = 24 * time.Hour
)

// sweepDue reports whether a shard of which everything was sent may be swept.
func sweepDue(p *crawl.FeedPosition, now time.Time) bool {
	began := crawl.FeedEpoch.Add(time.Duration(p.Generation) * time.Second)
	last := began
	if p.AckedAt.After(last) {
		last = p.AckedAt
	}
	return !p.Swept && (now.Sub(last) >= sweepQuiet || now.Sub(began) >= sweepLatest)
}

// report stores why a shard does not go on, for `curtsy feed --list`. If that fails, too, the log
// has it.
func (f *Feeder) report(ctx context.Context, r *reading, err error) {
	_, _ = f.acknowledge(ctx, crawl.FeedAck{Shard: r.pos.Shard, Generation: r.pos.Generation, Seq: r.pos.Cursor, Trouble: err.Error()})
}

// prepare prepares the sink for the fields of the site rules, if it is not.
func (f *Feeder) prepare(ctx context.Context) error {
	select {
	case f.preparing <- struct{}{}:
		defer func() { <-f.preparing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	f.mu.Lock()
	rules := f.rules
	f.mu.Unlock()
	if f.prepared != nil && *f.prepared == rules.Hash() {
		return nil
	}
	if err := f.sink.Prepare(ctx, rules.Schema()); err != nil {
		return err
	}
	f.prepared = new(rules.Hash())
	return nil
}

// crawlName is the name of the crawl.
func (f *Feeder) crawlName() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.spec.Name
}
