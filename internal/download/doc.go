// Package download fetches the files of datasets into a directory. Its caller provides what sends
// the requests.
//
//	files, none := download.Plan(datasets)
//	results, err := download.Get(ctx, files, download.Options{Dir: "out", Visit: visit})
//
// A file is requested in pieces (Range, RFC 9110 §14), each in its own visit to its host, so that a
// crawl of the same host continues in between. Slow hosts are asked for smaller pieces. The
// received bytes are in NAME.part. NAME.part.json contains how many of them are safe on disk, their
// digest, and the validator with which the rest can be requested. However the process ends, the
// next Get continues from there. If the server reports that the file has changed, it is fetched
// again from its first byte.
//
// NAME itself appears in one step, when the whole file is on disk and its length and digest are
// known. If the catalogue announces a digest and the file has another, the file is kept as
// NAME.mismatch. SHA256SUMS (for sha256sum -c) and datapackage.json (Frictionless Data Package)
// list exactly the files that are complete; each list is replaced in one step. With many files that
// is done only from time to time, and at the end. Meanwhile a log, .curtsy-book, has the new files.
// Verify compares a directory with these lists.
//
// What a crash leaves, in the order of the steps, and what the next Get does with it:
//
//	bytes in NAME.part, not yet in NAME.part.json   they are cut off and requested again
//	NAME.part.json says done, NAME.part is whole    it gets its name
//	NAME exists, NAME.part.json says done           it is read once more and listed
//	NAME is listed, NAME.part.json exists           NAME.part.json is removed
//	half a line at the end of the log               it is cut off: NAME.part.json still says done
//	the lists are written, the log exists           it writes the lists and removes the log
//
// A file gets its name with its first answer, and keeps it: from Content-Disposition, from a URL,
// from the catalogue. Names are made safe: one segment, not hidden, and without a special meaning
// to a file system or a shell. No symbolic link in the directory is followed.
//
// An answer with a Content-Encoding is stored as it comes, in pieces like any other, and decoded
// when it is complete, unless the announced digest or size is that of the encoded bytes. Pieces of
// different codings are pieces of different copies. A complete file that seems to be another than
// the announced one gets a remark, which Verify reports.
package download
