// Package download brings the files of datasets to a directory, by whoever sends the requests for it.
//
//	files, none := download.Plan(datasets)
//	results, err := download.Get(ctx, files, download.Options{Dir: "out", Visit: visit})
//
// A file is asked for in pieces (Range, RFC 9110 §14), each under a visit of its own to its host, so that a crawl of the same host
// goes on between them; a slow host is asked for smaller ones. What is there of it stands in NAME.part, and NAME.part.json says how
// much of that is safe on disk, what its digest is and by which validator the rest can be asked for: whatever ends the process, the
// next Get goes on from there. When the server says that the file is another one now, it is begun again from its first byte.
//
// NAME itself appears in one step, once all of the file is on disk and its length and digest are known; a digest that the catalogue
// announces must be that of the file, else it is kept aside as NAME.mismatch. SHA256SUMS (for sha256sum -c) and datapackage.json
// (Frictionless Data Package) tell of the files that are whole, and of no others; each is replaced in one step. Verify compares a
// directory with them.
//
// What a crash leaves, in the order in which things are done:
//
//	bytes in NAME.part, not yet in NAME.part.json   they are cut off and asked for again
//	NAME.part.json says done, NAME.part is whole    it gets its name
//	NAME is there, NAME.part.json says done         it is read once more, and goes into SHA256SUMS and datapackage.json
//	both tell of NAME, NAME.part.json is there      it is removed
//
// Names come from URLs and are made safe: one segment, nothing hidden, nothing that a file system or a shell takes for something else.
// No symbolic link in the directory is followed.
package download
