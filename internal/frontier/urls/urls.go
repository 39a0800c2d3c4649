// Package urls keeps the records of a shard's URLs and the books they stand in: the seen set, the
// queue of each host, those that wait, the counts of each class and reason, and the plan of what is
// fetched again. URLs.Become is the one place where a URL goes from one class to another, so that
// the books always agree with the records.
package urls

import (
	"time"

	"github.com/curtsy/curtsy/internal/frontier/features"
	"github.com/curtsy/curtsy/internal/frontier/ledger"
)

// URLs is what one shard knows of its URLs. Its methods expect the ledger's lock.
type URLs struct {
	features *features.Features
	ledger   *ledger.Ledger

	Later time.Time // when the first URL that waits is due; zero: none waits

	InFlight int64 // URLs in outstanding visits

	// Says when a URL is fetched again: plan.
	Planned func(h *ledger.Host, r *Record, at time.Time) error

	Pages  uint64 // taken in since the file was opened
	Events uint64 // applied since then

	key, buffer []byte // a record on its way into the ledger, which keeps neither
}

// New returns them for one shard, with the rooms they stand on.
func New(features *features.Features, ledger *ledger.Ledger) *URLs {
	return &URLs{features: features, ledger: ledger}
}
