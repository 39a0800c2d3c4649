package store

import (
	"encoding/binary"
	"time"

	xxhash "github.com/cespare/xxhash/v2"

	"github.com/curtsy/curtsy/pkg/canon"
)

// HostID is a host's short number within its shard; 0 is none.
type HostID uint32

// Append appends the four bytes of a host with which keys begin.
func (id HostID) Append(b []byte) []byte { return binary.BigEndian.AppendUint32(b, uint32(id)) }

// SeenHash is the key of a URL in the seen set, within its host.
func SeenHash(u canon.URL) uint64 { return xxhash.Sum64String(string(u)) }

// URLKey appends the key of a URL's record. Records are in the order of acceptance, which is
// roughly the order of visits. Records that a visit changes therefore lie together; the hashes of
// the seen set would scatter them over the whole file.
func URLKey(b []byte, id HostID, order uint64) []byte {
	return binary.BigEndian.AppendUint64(id.Append(b), order)
}

// KeyOrder is the order in a key that ends with it, without the rank in its upper bits (QueueKey).
func KeyOrder(key []byte) uint64 {
	return binary.BigEndian.Uint64(key[len(key)-8:]) & (1<<rankShift - 1)
}

// QueueKey appends a URL's position in its host's queue: lowest depth first, then lowest rank, then
// first found.
func QueueKey(b []byte, id HostID, origin uint8, depth int, rank uint16, order uint64) []byte {
	b = id.Append(b)
	b = append(b, origin)
	b = binary.BigEndian.AppendUint16(b, uint16(min(depth, 0xffff)))
	return binary.BigEndian.AppendUint64(b, uint64(rank)<<rankShift|order)
}

// rankShift is the position of the rank in a queue key. No shard accepts enough URLs for an order
// to reach these bits.
const rankShift = 48

// LaterKey appends the key of a URL that waits until due.
func LaterKey(b []byte, due time.Time, id HostID, order uint64) []byte {
	b = binary.BigEndian.AppendUint64(b, uint64(max(due.UnixMilli(), 0)))
	return URLKey(b, id, order)
}

// KeyHost is the host id with which a key begins.
func KeyHost(key []byte) HostID { return HostID(binary.BigEndian.Uint32(key)) }
