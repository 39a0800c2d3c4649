package hosts

import (
	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/frontier/store"
)

// What the bucket blocks holds of a host, by kind. What it has of a host that is little known lies
// in one page, so that a link to it changes one.
const (
	kindSleeper = 0 // a host that was never visited (residence.go): its record
	kindKnown   = 1 // a Set: host id, hash of the URL → order: the seen set
	kindReady   = 2 // a Map: host id, origin index, depth, order → nothing: the queues
	kindRecords = 3 // a Map: host id, order → URL record (package urls)
)

// What a file has most of, in blocks: the seen set, the URLs' records, the queues.
type blocks struct {
	tx      *bolt.Tx // whose they are
	known   *store.PackedSet
	records *store.PackedMap
	ready   *store.PackedMap
}

// About how many bytes a block has at most: three with records fit into a page of bbolt's; with
// queues they hold some hundred URLs, since a visit takes one apart for some dozen.
const (
	recordsSize = 1200
	readySize   = 500
)

// sleeperKey is where the record of a host is that was never visited.
func sleeperKey(id HostID) []byte { return append(id.Append(make([]byte, 0, 5)), kindSleeper) }

// Records returns the URLs' records of a file: host id, order → record. What is put there must be
// flushed before the transaction is committed.
func Records(tx *bolt.Tx) *store.PackedMap {
	return store.NewPackedMap(tx.Bucket(bucketBlocks), kindRecords, recordsSize)
}

func known(tx *bolt.Tx) *store.PackedSet {
	return store.NewPackedSet(tx.Bucket(bucketBlocks), kindKnown)
}

func ready(tx *bolt.Tx) *store.PackedMap {
	return store.NewPackedMap(tx.Bucket(bucketBlocks), kindReady, readySize)
}

// inBlocks returns those of the transaction under way.
func (s *Ledger) inBlocks() *blocks {
	if b := &s.blocks; b.tx != s.Tx {
		*b = blocks{s.Tx, known(s.Tx), Records(s.Tx), ready(s.Tx)}
	}
	return &s.blocks
}

// Known is the seen set: host id and SeenHash → orders. Change it by PutKnown.
func (s *Ledger) Known() *store.PackedSet { return s.inBlocks().known }

// Records are the URLs' records: host id, order → record. Change them by PutRecord.
func (s *Ledger) Records() *store.PackedMap { return s.inBlocks().records }

// Ready are the queues: keys as QueueKey makes them. Change them by PutReady and DropReady.
func (s *Ledger) Ready() *store.PackedMap { return s.inBlocks().ready }

// PutKnown has the seen set know a URL of a host. It counts as a change, as Put does.
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

// DropReady takes a URL out of its queue. It counts as a change.
func (s *Ledger) DropReady(key []byte) error {
	s.Changes++
	return s.Ready().Delete(key)
}

// Flush writes what is in blocks into the transaction, which Commit does before it ends.
func (s *Ledger) Flush() error {
	b := &s.blocks
	if b.tx == nil || b.tx != s.Tx {
		return nil
	}
	return store.Flush(b.known, b.records, b.ready)
}
