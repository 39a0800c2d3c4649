// Package restore keeps what a shard can be restored from, and restores it.
//
//   - Copies copies a shard's state while the shard continues its work.
//   - Checkpoints stores these copies in NATS, whole or as deltas to the one before, records their
//     names with the ownership of the shard, and deletes what they make unnecessary: older ones,
//     and the part of the log that they contain.
//   - Files are the shards' files in the frontier's directory. It decides whether a new owner
//     continues with the file there, a checkpoint or the log alone, and provides the file.
//   - Clock keeps the remaining delays of a shard when the wall clock is set, or is another one.
package restore
