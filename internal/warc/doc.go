// Package warc writes and reads WARC files (ISO 28500, version 1.1) and their index. It knows the
// format and nothing about crawls: internal/archive decides what is archived, and in which file.
//
// A file is a sequence of records. A record is a version line, named fields, an empty line, a block
// of Content-Length bytes and two line ends. In a .warc.gz each record is a separate gzip member
// (annex A), so that it can be read without those before it, and a truncated file can be cut to its
// last complete record: see [Whole].
//
//   - [Encoder] appends records to a buffer.
//   - [Reader] reads the records of a file, compressed or not. For any file it needs memory for one
//     header only, and it reports where the file is damaged.
//   - [Entry] is a line of a CDXJ index.
//   - [Message] splits an HTTP message: the end of its head, and its payload.
package warc
