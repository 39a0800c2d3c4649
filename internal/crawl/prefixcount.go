package crawl

import (
	"strings"

	"github.com/curtsy/curtsy/pkg/canon"
)

// PrefixCount is how much is known of a host, or of all URLs with a common beginning.
type PrefixCount struct {
	URLs  int64 `json:"urls"`  // that the frontier knows, in any state
	Pages int64 `json:"pages"` // that are stored
}

// Add adds the counts of another shard.
func (c *PrefixCount) Add(o PrefixCount) { c.URLs, c.Pages = c.URLs+o.URLs, c.Pages+o.Pages }

// EntryHost is the host that an entry of Spec.Forgotten is about.
func EntryHost(entry string) canon.Host {
	if strings.Contains(entry, "://") {
		return canon.URL(entry).Host()
	}
	return canon.Host(entry)
}
