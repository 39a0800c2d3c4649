// Package postgres is the sink of the feed for PostgreSQL, 12 or later.
//
// Open takes the address of a database, as libpq does, and the name of a table:
//
//	postgres://feed@db.example.org/search?table=pages&sslmode=verify-full
//
// Prepare makes the table with its indices, and adds columns that an existing table lacks. Each
// batch is one transaction. A row has the version of its change, and is only replaced by one that
// is at least as new.
//
// # Deletions
//
// A feeder that was killed sends again from the first batch that was not acknowledged, in order,
// and so repeats a deletion that follows an older version of its page. For this, deleting the row
// would be enough. But for a moment there may be two feeders of a shard: one that lost its
// connection while its batch was on the way, and the one that has replaced it. The old batch could
// then store a page after the new feeder has deleted it, and nobody would delete it again.
// Therefore the table NAME_deleted has the versions of deleted pages for a day, far longer than a
// transaction lasts, and the transactions of a shard run one after another, by an advisory lock.
package postgres
