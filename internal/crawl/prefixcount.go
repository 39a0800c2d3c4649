package crawl

import (
	"strings"

	"github.com/curtsy/curtsy/pkg/canon"
)

// PrefixCount is how much a crawl knows of a host, or of a URL and all that begins with it: an
// answer of some shards.
type PrefixCount struct {
	URLs  int64 `json:"urls"`  // known to the frontier, whatever came of them
	Pages int64 `json:"pages"` // stored
}

// EntryHost is the host that an entry of Spec.Forgotten is about.
func EntryHost(entry string) canon.Host {
	if strings.Contains(entry, "://") {
		return canon.URL(entry).Host()
	}
	return canon.Host(entry)
}
