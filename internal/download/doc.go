// Package download brings the files of datasets to a directory. Its caller provides what
// sends the requests.
//
//	files, none := download.Plan(datasets)
//	results, err := download.Get(ctx, files, download.Options{Dir: "out", Visit: visit})
//
// A file is requested in pieces (Range, RFC 9110 §14), each under a visit of its own to its host,
// so that a crawl of the same host goes on in between. Slow hosts are asked for smaller pieces. The
// bytes received are in NAME.part. NAME.part.json says how many of them are safe on disk, what
// their digest is, and by which validator the rest can be requested. Whatever ends the process, the
// next Get goes on from there. When the server says that the file has changed, it is begun again
// from its first byte.
//
// NAME itself appears in one step, once all of the file is on disk and its length and digest are
// known. If the catalogue announces a digest and the file has another, the file is kept as
// NAME.mismatch. SHA256SUMS (for sha256sum -c) and datapackage.json (Frictionless Data Package)
// list the files that are whole, and no others; each list is replaced in one step. With many files
// that is done now and then, and at the end: meanwhile .curtsy-book, a log, has what is new. Verify
// compares a directory with these lists.
//
// What a crash leaves, in the order in which things are done, and what happens to it next:
//
//	bytes in NAME.part, not yet in NAME.part.json   they are cut off and requested again
//	NAME.part.json says done, NAME.part is whole    it gets its name
//	NAME is there, NAME.part.json says done         it is read once more and listed
//	NAME is listed, NAME.part.json is there         NAME.part.json is removed
//	half a line at the end of the log               it is cut off: NAME.part.json still says done
//	the lists are written, the log is there         the next Get writes the lists and removes it
//
// Names come from URLs and are made safe: one segment, nothing hidden, nothing that a file system
// or a shell takes for something else. No symbolic link in the directory is followed.
package download
