// Package warc writes and reads WARC files (ISO 28500, version 1.1) and the index beside them. It
// knows the format and nothing of crawls: what is archived, and into which file, is for
// internal/archive to say.
//
// A file is a row of records. A record is a version line, named fields, an empty line, a block of
// Content-Length bytes and two line ends. In a .warc.gz each record is a gzip member of its own
// (annex A), so that one can be read without those before it, and a file that was cut can be taken
// back to its last whole record: see [Whole].
//
//   - [Encoder] appends records to a buffer.
//   - [Reader] goes over the records of a file, compressed or not. Whatever the file holds, it
//     takes memory for one header, and says where it is damaged.
//   - [Entry] is a line of a CDXJ index.
//   - [Message] takes an HTTP message apart: where its head ends, and what its payload is.
package warc
