// Package crawl has the types that frontier, fetcher and indexer exchange: visits, pages, outcomes,
// host facts and auxiliary requests. It also has the names of the NATS subjects, streams and
// buckets that they use, and the rows of answers (package questions). It does little more than
// encode them.
//
// The rows of answers are also the output of `--json`, so their keys are a contract. Durations in
// them are in seconds, and times in RFC 3339.
//
// All frequent messages are protobuf messages. crawl.proto beside this file describes them, and
// fields.go and wire.go encode them by hand. So the body of a page is sent as raw bytes, a link
// costs a few bytes more than its text, and decoding a whole event allocates one string. Readers
// skip unknown fields, so that an older reader understands a newer sender. They refuse a message of
// a newer *version* with ErrVersion.
//
// Times that decisions depend on are sent as durations, and never as clock times. So machines need
// not agree about the time of day. Clock times (FetchedAt) are for people.
package crawl
