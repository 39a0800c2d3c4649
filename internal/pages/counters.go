package pages

import (
	"encoding/binary"
	"fmt"

	bolt "go.etcd.io/bbolt"
)

// counters are stored in the file, in the transaction that changes them.
type counters struct {
	LastID, LastSeq                  uint64
	Pages, Bytes, Packed, Tombstones int64
}

func putCounters(about *bolt.Bucket, c *counters) error {
	var b []byte
	for _, v := range [...]uint64{c.LastID, c.LastSeq, uint64(c.Pages), uint64(c.Bytes), uint64(c.Packed), uint64(c.Tombstones)} {
		b = binary.BigEndian.AppendUint64(b, v)
	}
	return about.Put(keyCounters, b)
}

func getCounters(about *bolt.Bucket) (*counters, error) {
	b := about.Get(keyCounters)
	if len(b) != 48 {
		return nil, fmt.Errorf("%w: its counters are missing", ErrFormat)
	}
	at := func(i int) uint64 { return binary.BigEndian.Uint64(b[8*i:]) }
	return &counters{LastID: at(0), LastSeq: at(1), Pages: int64(at(2)), Bytes: int64(at(3)), Packed: int64(at(4)),
		Tombstones: int64(at(5))}, nil
}

// count subtracts from the counters what was known about a URL and adds what is known now.
func count(c *counters, w *write) {
	c.add(&w.old, -1)
	c.add(&w.page, 1)
}

func (c *counters) add(p *Page, sign int64) {
	switch {
	case p.ID == 0:
	case p.listed():
		c.Pages += sign
		c.Bytes += sign * p.Size
		c.Packed += sign * int64(p.Packed)
	default:
		c.Tombstones += sign
	}
}
