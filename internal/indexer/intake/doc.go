// Package intake takes pages over from the fetcher of the same process. Between processes, pages
// travel through NATS (design §4). Within one process, that would write them into the files of a
// server, read them from there, and record for each message that it was stored. An [Intake] appends
// a message to a file and returns: from then on, killing the process does not lose it. The indexer
// takes the messages in order, stores them, and settles them. The messages are the same in both
// cases, and so is the code that stores them.
//
// An intake is a sequence of files, intake-<shard>-<number>.log, of about eight megabytes each. A
// file begins with its format. Then the messages follow, each with its length and a checksum. When
// all messages of a file are settled and a newer file exists, the file is removed, or used again
// as the next one. Nothing records which messages of a file are settled: after a kill, all messages
// of the remaining files are stored once more, which changes nothing, because the newest visit of a
// page counts.
//
// What a kill at each step loses:
//
//	before the message is in the file      the message; nobody reported its pages, so they are
//	                                       fetched again
//	while it is written                    the same: an incomplete end is not read
//	after that, before it is stored        nothing: it is stored at the next start
//	after it is stored, before the file    nothing: it is stored once more
//	is removed
//
// A machine that fails loses what its system had not written yet. A message that waits for more
// than a second is synced, so that no older one is lost; the frontier has the pages of the last ten
// seconds fetched again after such a failure.
package intake
