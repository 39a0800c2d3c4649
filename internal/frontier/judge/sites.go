package judge

import (
	"time"

	"github.com/curtsy/curtsy/pkg/canon"
)

// What site rules decide about hosts and URLs beside the scope.

// LeastDelay is the least delay between requests to a host that the operator wants: in the
// settings, for this host, or by site rules.
func (j *Judge) LeastDelay(host canon.Host) time.Duration {
	return max(j.Spec.Delay, j.Spec.Hosts[host].Delay, j.Sites.Delay(host))
}

// MaxDepth is how many links from a seed a URL may be, and which setting or rule says so. Without a
// limit it is negative.
func (j *Judge) MaxDepth(u canon.URL) (most int, by string) {
	if s := j.Sites.For(u); s != nil && s.MaxDepth != nil {
		return *s.MaxDepth, s.Entry() + ": max-depth"
	}
	return j.Spec.MaxDepth, "--max-depth"
}

// MaxPages is how many pages of a host may be stored; 0: there is no limit.
func (j *Judge) MaxPages(host canon.Host) int64 {
	n, _ := j.maxPages(host)
	return n
}

func (j *Judge) maxPages(host canon.Host) (n int64, by string) {
	if n := j.Sites.MaxPages(host); n > 0 {
		return n, "max-pages of the site rules:"
	}
	return j.Spec.MaxPagesPerHost, "--max-pages-per-host"
}

// LimitsPages reports whether there may be hosts with a limit of pages.
func (j *Judge) LimitsPages() bool { return j.Spec.MaxPagesPerHost > 0 || j.Sites.HasMaxPages() }
