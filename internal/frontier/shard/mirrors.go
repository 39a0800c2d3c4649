package shard

import (
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/mirror"
)

// mirrorInfo is the line of `curtsy mirrors` about an origin; ok is false when there is none.
func mirrorInfo(o *hosts.Origin) (info crawl.MirrorInfo, ok bool) {
	m := o.Mirror
	if m == nil || m.State == "" || m.State == mirror.Main && m.Claim != crawl.ClaimSelf {
		return info, false
	}
	info = crawl.MirrorInfo{
		Host: string(o.Origin.Host), Origin: o.Origin.String(), Main: o.Origin.String(), State: m.State, Reason: m.Reason, Detail: m.Detail,
		Evidence: m.Evidence, Since: m.Since.UTC(),
	}
	switch m.State {
	case mirror.OfMain:
		info.Main = m.Main.String()
	case mirror.Unconfirmed:
		info.Main = m.Target.String()
	}
	return info, true
}

// MirrorInfos returns the lines about all origins of a host.
func MirrorInfos(h *hosts.Host) (list []crawl.MirrorInfo) {
	for i := range h.Origins {
		if info, ok := mirrorInfo(&h.Origins[i]); ok {
			list = append(list, info)
		}
	}
	return list
}

// mirrorsOf adds to robots, for `curtsy hosts`, the main host of each origin of h that is a mirror.
// main is set if all origins are mirrors.
func mirrorsOf(h *hosts.Host, robots []crawl.RobotsInfo) (main *string) {
	mirrors := 0
	for i := range h.Origins {
		m := h.Origins[i].Mirror
		if !m.Mirrored() {
			continue
		}
		of := m.Main.String()
		robots[i].MirrorOf = of
		if mirrors++; main == nil || m.Main.Host != h.Name {
			main = &of
		}
	}
	if mirrors < len(h.Origins) {
		return nil // some origin is no mirror
	}
	return main
}
