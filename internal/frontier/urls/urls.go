package urls

import (
	"time"

	"github.com/curtsy/curtsy/internal/frontier/hosts"
)

// URLs is what one shard knows of its URLs. Callers of its methods must hold the ledger's lock.
type URLs struct {
	features *hosts.Features
	ledger   *hosts.Ledger

	Later time.Time // when the first waiting URL is due; zero: none waits

	InFlight int64 // URLs in outstanding visits

	// planned sets when a URL is fetched again.
	planned func(h *hosts.Host, r *Record, at time.Time) error

	Pages  uint64 // pages whose links were applied since the file was opened
	Events uint64 // events applied since then

	key, buffer []byte // buffers for records on their way into the ledger, which copies them
}

// New returns the URLs of one shard. planned sets when a URL is fetched again: Recrawl.Plan.
func New(features *hosts.Features, ledger *hosts.Ledger, planned func(*hosts.Host, *Record, time.Time) error) *URLs {
	return &URLs{features: features, ledger: ledger, planned: planned}
}
