package store

import (
	"encoding/json"
	"fmt"
	"os"

	bolt "go.etcd.io/bbolt"
)

// Meta is a file's information about itself, beside its format. It changes in the same transaction
// as the state that it describes.
type Meta struct {
	Seq      uint64 `json:"seq"`  // log sequence applied last
	SeqTime  int64  `json:"time"` // its server timestamp, Unix ns: with Seq the anchor
	Epoch    uint64 `json:"epoch"`
	Owner    string `json:"owner"`
	Order    uint64 `json:"order"` // last acceptance number
	NextHost uint32 `json:"next_host"`
	Counts   Counts `json:"counts"`
	// Fingerprint of the settings that decided about URLs (judging.go)
	Spec   string `json:"spec"`
	BootID string `json:"boot_id"` // of the machine that wrote the file last
	// The file was closed without outstanding visits, except those in schedule.keyVisits.
	Clean   bool   `json:"clean"`
	Written int64  `json:"written"` // Unix ms
	Outbox  uint64 `json:"outbox"`  // last outbox number

	Applied int64 `json:"applied,omitempty"` // total bytes of the log that were applied
	Gen     int   `json:"gen,omitempty"`     // how often a new log was found
	Mark    Mark  `json:"mark,omitzero"`     // the last checkpoint

	// Strangers: visits were granted to processes that may outlive this one, although the frontier
	// is embedded (downloads.go).
	Strangers bool `json:"strangers,omitempty"`

	Lost lostStore `json:"lost,omitzero"`
	Plan Planning  `json:"plan,omitzero"`

	Counted bool  `json:"counted,omitempty"` // the hosts of each registered domain are counted
	Closed  int64 `json:"closed,omitempty"`  // number of closed hosts
	// The value of judge.maxHosts for which closed names were opened last.
	MaxHosts int64 `json:"max_hosts,omitempty"`
	// How far the pass that opens names for a new value has got.
	OpenedTo []byte `json:"opened_to,omitempty"`
	// Unix ms: evicted hosts that were never visited count as visited then
	DelayedUntil int64 `json:"owed,omitempty"`

	Judging Judging `json:"judging,omitzero"`

	// Visited hosts were evicted with regard to re-crawl: until their URLs or sitemaps are due
	// again.
	EvictRecrawl bool `json:"rest_recrawl,omitempty"`
	// How often the operator may have slowed hosts down.
	Paces uint64 `json:"paces,omitempty"`

	// The SitemapText with which all origins were asked for sitemaps.
	Sitemaps string `json:"sitemaps,omitempty"`
	Updates  bool   `json:"updates,omitempty"` // all origins were to be asked for /rupinfo.txt

	// The settings with which all origins were asked for servers of mobile robots; empty: none
	// were.
	Dispatches string         `json:"dispatches,omitempty"`
	Robots     DispatchCounts `json:"mobile_robots,omitzero"`
}

// EntryOverhead is the approximate size of a log message beside its data.
const EntryOverhead = 64

// Mark is the last recorded checkpoint that a shard's state knows of.
type Mark struct {
	Name    string `json:"name"`
	Applied int64  `json:"applied"` // Meta.Applied in the checkpoint
	Size    int64  `json:"size"`    // stored size, compressed
}

var keyMeta = []byte("state")

// LoadMeta reads the shard's state from its file.
func LoadMeta(tx *bolt.Tx) (m Meta, err error) {
	if v := tx.Bucket(BucketMeta).Get(keyMeta); v != nil {
		if err := json.Unmarshal(v, &m); err != nil {
			return m, fmt.Errorf("%w: the shard's state: %w", ErrRecord, err)
		}
	}
	if m.Counts.ByReason == nil {
		m.Counts.ByReason = map[string]int64{}
	}
	return m, nil
}

// encode returns the record of a shard's state.
func (m *Meta) encode() []byte {
	v, err := json.Marshal(m)
	if err != nil {
		panic(err) // all its fields can be encoded
	}
	return v
}

// Save writes the shard's state.
func (m *Meta) Save(tx *bolt.Tx) error { return tx.Bucket(BucketMeta).Put(keyMeta, m.encode()) }

// BootID identifies the current boot of the machine. It is empty on systems that have no such id.
func BootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return string(b)
}
