package store

import (
	bolt "go.etcd.io/bbolt"
)

// The kinds of data of a host in BucketBlocks. All data of a host with few URLs lies in one page,
// so that a link to it changes one page only.
const (
	kindEvicted = 0 // record of an evicted host (package hosts)
	kindKnown   = 1 // a PackedSet: host id, hash of the URL → order: the seen set
	kindReady   = 2 // a PackedMap: host id, origin index, depth, order → nothing: the queues
	kindRecords = 3 // a PackedMap: host id, order → URL record (package urls)
)

// The approximate maximum size of a block in bytes. Three blocks of records fit into a bbolt page.
// A block of a queue has about a hundred URLs, because a visit rewrites one block for a few dozen
// URLs.
const (
	recordsSize = 1200
	readySize   = 500
)

// Transaction is the writable transaction of a shard's file that is open between two commits, with
// the largest parts of the file, which are stored in blocks: the seen set, the records of URLs and
// the queues. Everything is read and written through it. It must not be used concurrently.
type Transaction struct {
	// Tx is the transaction of bbolt, for reading. nil: none is open.
	Tx *bolt.Tx
	// Changes is the number of writes since the last commit, done or due.
	Changes int

	in      *bolt.Tx // the transaction in which the blocks were opened
	known   *PackedSet
	records *PackedMap
	ready   *PackedMap
}

// Put writes to the shard's file; the next commit makes the change permanent. Put and Drop count
// changes, as do the methods that mark a host or a domain as changed, so callers need not. Changes
// of Meta are found by comparison.
func (t *Transaction) Put(bucket, key, value []byte) error {
	t.Changes++
	return t.Tx.Bucket(bucket).Put(key, value)
}

// Drop deletes from the shard's file. It counts as a change, as Put does.
func (t *Transaction) Drop(bucket, key []byte) error {
	t.Changes++
	return t.Tx.Bucket(bucket).Delete(key)
}

// Changed counts a change that is to be written before the next commit, or that another package
// wrote to the transaction by itself.
func (t *Transaction) Changed() { t.Changes++ }

// Records returns the records of URLs in a file: host id, order → record. The caller must flush it
// after changes, before the transaction is committed.
func Records(tx *bolt.Tx) *PackedMap {
	return NewPackedMap(tx.Bucket(BucketBlocks), kindRecords, recordsSize)
}

func knownIn(tx *bolt.Tx) *PackedSet { return NewPackedSet(tx.Bucket(BucketBlocks), kindKnown) }

func readyIn(tx *bolt.Tx) *PackedMap {
	return NewPackedMap(tx.Bucket(BucketBlocks), kindReady, readySize)
}

// open opens the blocks of the current transaction, unless they are open.
func (t *Transaction) open() *Transaction {
	if t.in != t.Tx {
		t.in, t.known, t.records, t.ready = t.Tx, knownIn(t.Tx), Records(t.Tx), readyIn(t.Tx)
	}
	return t
}

// Known is the seen set: host id and SeenHash → orders. Use PutKnown to change it.
func (t *Transaction) Known() *PackedSet { return t.open().known }

// Records are the records of URLs: host id, order → record. Use PutRecord to change them.
func (t *Transaction) Records() *PackedMap { return t.open().records }

// Ready are the queues, with the keys of QueueKey. Use PutReady and DropReady to change them.
func (t *Transaction) Ready() *PackedMap { return t.open().ready }

// PutKnown adds a URL of a host to the seen set. It counts as a change, as Put does.
func (t *Transaction) PutKnown(id HostID, hash, order uint64) error {
	t.Changes++
	return t.Known().Add(uint32(id), hash, order)
}

// PutRecord writes a URL's record. It counts as a change.
func (t *Transaction) PutRecord(key, record []byte) error {
	t.Changes++
	return t.Records().Put(key, record)
}

// PutReady puts a URL into its queue. It counts as a change.
func (t *Transaction) PutReady(key []byte) error {
	t.Changes++
	return t.Ready().Put(key, nil)
}

// DropReady removes a URL from its queue. It counts as a change.
func (t *Transaction) DropReady(key []byte) error {
	t.Changes++
	return t.Ready().Delete(key)
}

// Flush writes changed blocks into the transaction. File.Commit calls it.
func (t *Transaction) Flush() error {
	if t.in == nil || t.in != t.Tx {
		return nil
	}
	return Flush(t.known, t.records, t.ready)
}
