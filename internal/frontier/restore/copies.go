package restore

import (
	"fmt"
	"io"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/boltfile"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/schedule"
	"github.com/curtsy/curtsy/internal/frontier/shard"
)

// Copies makes the copies of one shard's state that become its checkpoints, while the shard
// continues its work. The caller holds the shard's lock, unless a method's comment says otherwise.
type Copies struct {
	ledger *hosts.Ledger
	visits *schedule.Visits
	deltas Deltas

	made       int      // number of copies made in this epoch
	chain      Chain    // the last of them that was recorded
	unreadable []string // checkpoints named in the ownership record that could not be read
}

// NewCopies returns the copies of a shard that was just opened. unreadable are the checkpoints that
// Files.Prepare could not read.
func NewCopies(p *shard.Parts, d Deltas, unreadable []string) *Copies {
	return &Copies{ledger: p.Ledger, visits: p.Visits, deltas: d.orDefault(), unreadable: unreadable}
}

// Image is a shard's state at one commit, which is copied while work continues. Its methods may be
// called without the shard's lock.
type Image struct {
	Tx *bolt.Tx // reads the state

	db      *boltfile.File
	name    Name
	applied int64
	deltas  Deltas
	against *Chain // the checkpoint to which a delta is made; nil: a full copy is made
}

// Image commits and returns the committed state. The caller closes the image when it is done with
// it.
func (c *Copies) Image() (Image, error) {
	c.ledger.CommitTime() // so that the commit writes Meta with the current time
	if err := c.ledger.Commit(true); err != nil {
		return Image{}, err
	}
	tx, err := c.ledger.DB.Begin(false)
	if err != nil {
		return Image{}, c.ledger.Fail(err)
	}
	c.made++
	m := &c.ledger.Meta
	im := Image{Tx: tx, db: c.ledger.DB, applied: m.Applied, deltas: c.deltas,
		name: Name{Shard: c.ledger.ID, Epoch: c.ledger.Epoch, Gen: m.Gen, Seq: m.Seq, N: c.made}}
	if c.chain.usable(c.deltas) {
		last := c.chain
		im.against, im.name.Full = &last, last.full
	}
	return im, nil
}

// Farewell is the last Image, with which a shard is handed over: it has the outstanding visits, and
// is marked clean if these are all that may be running.
func (c *Copies) Farewell() (Image, error) {
	if err := c.ledger.Phase.MayWrite(); err != nil {
		return Image{}, err
	}
	if c.ledger.Phase.InOrder(time.Now()) {
		if err := c.visits.Save(); err != nil {
			return Image{}, c.ledger.Fail(fmt.Errorf("save the visits: %w", err))
		}
		c.ledger.Meta.Left(true)
	}
	return c.Image()
}

// Recorded notes the checkpoint to which the next copy may be a delta. The zero Chain: to none.
func (c *Copies) Recorded(next Chain) { c.chain = next }

// Due reports whether enough of the log was applied since the last checkpoint: every bytes, or more
// if a checkpoint is large. logCapacity is the capacity of the log in bytes; 0: it has no limit. A
// checkpoint is due long before the log is full, because only checkpoints permit emptying it.
func (c *Copies) Due(every, logCapacity int64) bool {
	if !c.ledger.Phase.Active() {
		return false
	}
	limit := max(every, c.ledger.Meta.Mark.Size/2)
	if logCapacity > 0 {
		limit = min(limit, logCapacity/4)
	}
	return c.ledger.CheckpointWanted() || c.ledger.Meta.Applied-c.ledger.Meta.Mark.Applied > limit
}

// Name is the name of the checkpoint that is made of the image.
func (im *Image) Name() Name { return im.name }

// Copy writes the checkpoint. It returns the chain to which the next checkpoint may be a delta
// once this one is recorded.
func (im *Image) Copy(w io.Writer) (next Chain, err error) {
	d, err := newDiffer(w, im.against, im.Tx.Size())
	if err == nil {
		_, err = im.Tx.WriteTo(d)
	}
	if err == nil {
		err = d.end()
	}
	if err != nil {
		return Chain{}, err
	}
	if next = d.next(im.against, im.name); next.whole < im.deltas.Least {
		return Chain{}, nil // nothing is kept in memory for it
	}
	return next, nil
}

// Close ends the reading of the state.
func (im *Image) Close() { _ = im.Tx.Rollback() }
