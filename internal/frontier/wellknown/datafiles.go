package wellknown

import (
	"github.com/curtsy/curtsy/internal/frontier/hosts"
)

// DataFiles are those of one shard.
type DataFiles struct {
	features *hosts.Features
	ledger   *hosts.Ledger
}

// New returns them for one shard, with the rooms they stand on.
func NewDataFiles(features *hosts.Features, ledger *hosts.Ledger) *DataFiles {
	return &DataFiles{features: features, ledger: ledger}
}
