// Package queue is NATS JetStream as a sharded pipeline needs it. It has five parts:
//
//   - A Log is a stream that one reader follows in order from a position it keeps itself. The
//     position is an anchor: a sequence together with the server's timestamp of that message, so
//     that a log that lost its tail, or was made anew, is noticed (ErrAnchor) and not read on as if
//     nothing had happened.
//   - Work is hand-off: each message goes to the one consumer of its subject and comes back until
//     it is settled. A consumer is made for an ownership epoch, and making the next one fences the
//     last (ErrFenced).
//   - Ownership says who holds a shard: one key-value record, every write a compare-and-set on its
//     revision, no TTL and no agreement of clocks.
//   - Members says who is there, and Assign who should hold what. Both are hints; Ownership
//     decides.
//   - Snapshots keeps copies of files: whole, or not there (ErrNoSnapshot).
//
// Nothing here is exactly-once. Append and Send return when the message is stored, and after a
// lost answer they send it again; handlers may be called again with what they have handled.
// Readers are idempotent.
//
// A full Log or Work refuses new messages instead of dropping old ones, and Append and Send wait:
// that is the pipeline's back-pressure. They also wait while the broker is away. What they wait for
// is said once, through the logger given to Dial.
//
// Follow, Consume, Own, Ownership.Run, Members and WatchOwners block, own their goroutines, and go
// on through whatever becomes of the broker: killed, restarted, cut off, without a leader (a
// cluster whose leader was killed accepts nothing for 4 to 9 s), its disk full. They end with their
// context, or with an error that is the caller's to decide on.
package queue
