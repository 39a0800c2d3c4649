package urls

import (
	"time"

	"github.com/curtsy/curtsy/internal/frontier/hosts"
)

// URLs is what one shard knows of its URLs. Its methods expect the ledger's lock.
type URLs struct {
	features *hosts.Features
	ledger   *hosts.Ledger

	Later time.Time // when the first URL that waits is due; zero: none waits

	InFlight int64 // URLs in outstanding visits

	// planned sets when a URL is fetched again.
	planned func(h *hosts.Host, r *Record, at time.Time) error

	Pages  uint64 // taken in since the file was opened
	Events uint64 // applied since then

	key, buffer []byte // a record on its way into the ledger, which keeps neither
}

// New returns the URLs of one shard. planned sets when a URL is fetched again: Recrawl.Plan.
func New(features *hosts.Features, ledger *hosts.Ledger, planned func(*hosts.Host, *Record, time.Time) error) *URLs {
	return &URLs{features: features, ledger: ledger, planned: planned}
}
