// Package crawl holds the nouns that frontier, fetcher and indexer exchange: visits, pages,
// outcomes, host facts, errands, and the names of the NATS subjects, streams and buckets they
// travel on. It has no behaviour beyond encoding.
//
// Everything that crosses the wire in bulk is a protobuf message, described by crawl.proto beside
// this file and encoded by hand (fields.go, wire.go): a page message carries its body as raw bytes,
// a link costs a few bytes more than its text, and decoding a whole event message allocates one
// string. Unknown fields are skipped, so a newer sender can talk to an older reader; a message of a
// newer *version* is refused with ErrVersion.
//
// Times on the wire are durations, never clock times, wherever a decision hangs on them: no two
// machines need to agree about the time of day. Clock times (FetchedAt) are for people.
package crawl
