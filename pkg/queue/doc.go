// Package queue provides what a sharded pipeline needs of NATS JetStream. It has five parts:
//
//   - A Log is a stream that each reader follows in order, from a position that the reader stores
//     itself. The position is an anchor: a sequence number together with the server's timestamp of
//     that message. If the log lost its last messages or was created again, the position no longer
//     matches, and the reader gets ErrAnchor instead of wrong messages.
//   - Work distributes messages: each message goes to the only consumer of its subject, and is
//     delivered again until it is acknowledged. A consumer belongs to an ownership epoch. Creating
//     the consumer of the next epoch fences the previous one (ErrFenced).
//   - Ownership decides who owns a shard. It is one key-value record, and every write is a
//     compare-and-set on the revision of the record. It needs no TTL and no synchronised clocks.
//   - Members lists the running processes, and Assign derives which process should own which shard.
//     Both are hints; only Ownership decides.
//   - Snapshots stores copies of files. A copy is either complete or missing (ErrNoSnapshot).
//
// Nothing here is exactly-once. Append and Send return when the message is stored. If the answer is
// lost, they send the message again. Handlers may be called again with a message that they have
// handled. Readers must therefore be idempotent.
//
// A full Log or Work refuses new messages instead of dropping old ones, and Append and Send wait.
// This is the back-pressure of the pipeline. They also wait while the broker is unreachable. The
// logger given to Dial receives one message about what they wait for.
//
// Follow, Consume, Own, Ownership.Run, Members and WatchOwners block and own their goroutines. They
// continue whatever happens to the broker: it may be killed, restarted, cut off, without a leader
// (a cluster whose leader was killed accepts nothing for 4 to 9 s), or its disk may be full. They
// end with their context, or with an error that only the caller can handle.
package queue
