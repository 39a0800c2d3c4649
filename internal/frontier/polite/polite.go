// Package polite says when a host may be asked, and how far apart its requests lie: the one answer
// that the schedule, the grants and the errands go by. The fetcher's gate holds to it once more, on
// its own.
package polite

import (
	"github.com/curtsy/curtsy/internal/frontier/hosts"
)

// Polite says when the hosts of one shard may be asked. It keeps no state of its own.
type Polite struct {
	features *hosts.Features
	ledger   *hosts.Ledger
}

// New returns them for one shard, with the rooms they stand on.
func New(features *hosts.Features, ledger *hosts.Ledger) *Polite {
	return &Polite{features: features, ledger: ledger}
}
