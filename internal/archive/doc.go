// Package archive keeps what a crawl fetched in WARC files, one row of files for each shard, and
// reads such files for the command line.
//
// # What is written
//
// Each capture (crawl.Capture) becomes a response and its request, and a page's also a metadata
// record with where it leads. A page that was answered with 304, or whose payload is that of the
// last capture of the same URL, becomes a revisit in the place of the response. Only captures of
// one URL refer to one another: so `curtsy forget` takes nothing from a page that stays. What may
// not be kept was sorted out by the fetcher; what turns out here not to be kept (a page whose
// unavailable_after has come, or that keeps an older noarchive through a 304) is left out.
//
// # Nothing by halves, nothing twice
//
// The indexer writes the archive, because it has the transaction. [Shard.Put] appends the records
// of a batch to the open file and has them on disk; then the transaction that stores the pages says
// how far the file goes, and what was archived of each URL. What a kill leaves:
//
//	killed                                  is left              and then
//	before the records are on disk          a longer open file   cut to what was committed
//	after that, before the commit           the same             the same; the batch comes again
//	after a new file was made, before that  a file nobody names  removed
//	after the commit, before the message    nothing              pages are not new, captures are
//	  is acknowledged                                            known: not written again
//	after the commit that ends a file,      .open and a length   renamed
//	  before it has its name
//	while it is indexed                     no index             indexed
//	while a file is written without what    X.new                removed; the takedown is not done,
//	  is forgotten                                               so it is done again
//	between the new file's name and its     an index of the      it names what is forgotten, so
//	  index's                               file before          both are made again
//
// A record's identity is made of the crawl, the visit and the number of the request in it, so a
// batch that comes again makes the same records.
//
// # Files
//
// CRAWL-TIME-SERIAL-STORE.warc.gz, of at most [Options.MaxFile] bytes, with .open behind it while
// it is written to; .cdxj beside it once it is closed. STORE is the beginning of the identity of
// the page store, so that shards and crawls may share a directory.
package archive
