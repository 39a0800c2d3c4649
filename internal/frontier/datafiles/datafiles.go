// Package datafiles says when /data.txt, and the files nested in one, are asked for, and keeps what
// is known of them.
package datafiles

import (
	"github.com/curtsy/curtsy/internal/frontier/features"
	"github.com/curtsy/curtsy/internal/frontier/ledger"
)

// DataFiles are those of one shard.
type DataFiles struct {
	features *features.Features
	ledger   *ledger.Ledger
}

// New returns them for one shard, with the rooms they stand on.
func New(features *features.Features, ledger *ledger.Ledger) *DataFiles {
	return &DataFiles{features: features, ledger: ledger}
}
