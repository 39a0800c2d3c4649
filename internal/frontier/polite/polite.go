// Package polite decides when a host may be visited, and how long the delay between its requests
// is. The schedule, the grants and the auxiliary requests all use it. The fetcher's gate enforces
// the delay once more, independently. Every retry has a row in a table here (retry.go), because a
// webmaster who asks how often we come back after a failure deserves one answer.
package polite

import (
	"github.com/curtsy/curtsy/internal/frontier/hosts"
)

// Polite decides when the hosts of one shard may be visited. Its only state is Caused.
type Polite struct {
	features *hosts.Features
	ledger   *hosts.Ledger

	Caused *Caused
}

// New returns the Polite of one shard.
func New(features *hosts.Features, ledger *hosts.Ledger) *Polite {
	s := &Polite{features: features, ledger: ledger, Caused: newCaused(features, ledger)}
	features.LimitCaused(s.Caused)
	return s
}
