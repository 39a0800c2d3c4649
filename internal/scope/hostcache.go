package scope

import (
	"hash/maphash"
	"strings"
	"sync/atomic"

	"github.com/curtsy/curtsy/pkg/canon"
)

// hostCache caches the answers for recent hosts. The public suffix list costs about 100 ns and an
// allocation per host, and consecutive links mostly have few hosts. The cache has a fixed size and
// no lock: a slot stores its latest host, and after a lost race the list is asked again.
type hostCache [512]atomic.Pointer[hostAnswer]

type hostAnswer struct {
	host canon.Host
	why  string
	in   bool
}

var hostSeed = maphash.MakeSeed()

// lookup finds the host's registered domain in domains.
func (c *hostCache) lookup(host canon.Host, domains map[string]string) (why string, in bool) {
	slot := &c[maphash.String(hostSeed, string(host))%uint64(len(c))]
	if a := slot.Load(); a != nil && a.host == host {
		return a.why, a.in
	}
	why, in = domains[host.Registered()]
	// The host is part of a URL, which is part of a page. A copy keeps only the host in memory.
	slot.Store(&hostAnswer{canon.Host(strings.Clone(string(host))), why, in})
	return why, in
}
