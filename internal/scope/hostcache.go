package scope

import (
	"hash/maphash"
	"strings"
	"sync/atomic"

	"github.com/curtsy/curtsy/pkg/canon"
)

// hostCache remembers the answers for hosts met lately. The public suffix list costs some 100 ns
// and an allocation a host, and links come in runs of few hosts. The cache has a fixed size and no
// lock: a slot holds its latest host, and a lost race only asks the list again.
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
	// The host is a slice of a URL that is a slice of a page; keep a copy of the host alone.
	slot.Store(&hostAnswer{canon.Host(strings.Clone(string(host))), why, in})
	return why, in
}
