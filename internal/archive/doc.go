// Package archive stores what a crawl fetched in WARC files, one series of files for each shard,
// and reads such files for the command line.
//
// # What is written
//
// Each capture (crawl.Capture) becomes a response and its request, and the capture of a page also
// a metadata record with its outlinks. A document that a mobile robot brought was not requested,
// so it becomes a resource, whose block is the document. A page that was answered with 304, or
// whose payload equals that of the last capture of the same URL, becomes a revisit instead.
// Captures refer only to captures of the same URL, so `curtsy forget` removes nothing that a
// remaining page needs. The fetcher leaves out what may not be archived. What turns out here not
// to be allowed (a page whose unavailable_after has come, or that keeps an older noarchive through
// a 304) is left out as well.
//
// # Complete and without repetitions
//
// The indexer writes the archive, because it has the transaction. [Shard.Put] first appends the
// records of a batch to the open file and syncs it to disk. Then the transaction that stores the
// pages records the length of the file, and what was archived of each URL. What a kill leaves:
//
//	killed                                  is left              what happens next
//	before the records are on disk          a longer open file   cut to what was committed
//	after that, before the commit           the same             the same; the batch comes again
//	after a new file was made, before that  a file that no       removed
//	                                        commit names
//	after the commit, before the message    nothing              pages are not new, captures are
//	  is acknowledged                                            known: not written again
//	after the commit that closes a file,    .open and a length   renamed
//	  before it has its name
//	while it is indexed                     no index             indexed
//	while a file is rewritten without       X.new                removed; forgetting was not
//	  forgotten URLs                                             recorded as done, so it is done
//	                                                             again
//	between renaming the new file and       an index of the      it names forgotten URLs, so
//	  its index                             old file             both are made again
//
// A record's identity is made of the crawl, the visit and the number of the request in it, so a
// batch that comes again makes the same records.
//
// # Files
//
// CRAWL-TIME-SERIAL-STORE.warc.gz has at most [Options.MaxFile] bytes; .open is appended to its
// name while it is written. When it is closed, it gets an index with the suffix .cdxj. STORE is the
// beginning of the identity of the page store, so that shards and crawls may share a directory.
package archive
