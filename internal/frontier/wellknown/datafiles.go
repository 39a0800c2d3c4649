package wellknown

import (
	"github.com/curtsy/curtsy/internal/frontier/hosts"
)

// DataFiles are the data.txt files of one shard.
type DataFiles struct {
	features *hosts.Features
	ledger   *hosts.Ledger
}

// NewDataFiles returns the DataFiles of one shard.
func NewDataFiles(features *hosts.Features, ledger *hosts.Ledger) *DataFiles {
	return &DataFiles{features: features, ledger: ledger}
}
