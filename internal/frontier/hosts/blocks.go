package hosts

import (
	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/frontier/store"
)

// The kinds of data of a host in the bucket blocks. All data of a host with few URLs lies in one
// page, so that a link to it changes one page only.
const (
	kindEvicted = 0 // record of an evicted host (residence.go)
	kindKnown   = 1 // a PackedSet: host id, hash of the URL → order: the seen set
	kindReady   = 2 // a PackedMap: host id, origin index, depth, order → nothing: the queues
	kindRecords = 3 // a PackedMap: host id, order → URL record (package urls)
)

// The largest parts of a file, which are stored in blocks: the seen set, the records of URLs and
// the queues.
type blocks struct {
	tx      *bolt.Tx // the transaction in which they were opened
	known   *store.PackedSet
	records *store.PackedMap
	ready   *store.PackedMap
}

// The approximate maximum size of a block in bytes. Three blocks of records fit into a bbolt page.
// A block of a queue has about a hundred URLs, because a visit rewrites one block for a few dozen
// URLs.
const (
	recordsSize = 1200
	readySize   = 500
)

// recordKey is the key of an evicted host's record.
func recordKey(id HostID) []byte { return append(id.Append(make([]byte, 0, 5)), kindEvicted) }

// Records returns the records of URLs in a file: host id, order → record. The caller must flush it
// after changes, before the transaction is committed.
func Records(tx *bolt.Tx) *store.PackedMap {
	return store.NewPackedMap(tx.Bucket(bucketBlocks), kindRecords, recordsSize)
}

func known(tx *bolt.Tx) *store.PackedSet {
	return store.NewPackedSet(tx.Bucket(bucketBlocks), kindKnown)
}

func ready(tx *bolt.Tx) *store.PackedMap {
	return store.NewPackedMap(tx.Bucket(bucketBlocks), kindReady, readySize)
}

// inBlocks returns the blocks of the current transaction.
func (s *Ledger) inBlocks() *blocks {
	if b := &s.blocks; b.tx != s.Tx {
		*b = blocks{s.Tx, known(s.Tx), Records(s.Tx), ready(s.Tx)}
	}
	return &s.blocks
}

// Known is the seen set: host id and SeenHash → orders. Use PutKnown to change it.
func (s *Ledger) Known() *store.PackedSet { return s.inBlocks().known }

// Records are the records of URLs: host id, order → record. Use PutRecord to change them.
func (s *Ledger) Records() *store.PackedMap { return s.inBlocks().records }

// Ready are the queues, with the keys of QueueKey. Use PutReady and DropReady to change them.
func (s *Ledger) Ready() *store.PackedMap { return s.inBlocks().ready }

// PutKnown adds a URL of a host to the seen set. It counts as a change, as Put does.
func (s *Ledger) PutKnown(id HostID, hash, order uint64) error {
	s.Changes++
	return s.Known().Add(uint32(id), hash, order)
}

// PutRecord writes a URL's record. It counts as a change.
func (s *Ledger) PutRecord(key, record []byte) error {
	s.Changes++
	return s.Records().Put(key, record)
}

// PutReady puts a URL into its queue. It counts as a change.
func (s *Ledger) PutReady(key []byte) error {
	s.Changes++
	return s.Ready().Put(key, nil)
}

// DropReady removes a URL from its queue. It counts as a change.
func (s *Ledger) DropReady(key []byte) error {
	s.Changes++
	return s.Ready().Delete(key)
}

// Flush writes changed blocks into the transaction. Commit calls it.
func (s *Ledger) Flush() error {
	b := &s.blocks
	if b.tx == nil || b.tx != s.Tx {
		return nil
	}
	return store.Flush(b.known, b.records, b.ready)
}
