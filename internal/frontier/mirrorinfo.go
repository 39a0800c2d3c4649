package frontier

import (
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// mirrorInfo is what `curtsy mirrors` says of an origin; ok is false when there is nothing to say.
func (o *origin) mirrorInfo() (info crawl.MirrorInfo, ok bool) {
	m := o.Mirror
	if m == nil || m.State == "" || m.State == mirrorMain && m.Claim != crawl.ClaimSelf {
		return info, false
	}
	info = crawl.MirrorInfo{
		Host: string(o.Origin.Host), Origin: o.Origin.String(), Main: o.Origin.String(), State: m.State, Reason: m.Reason, Detail: m.Detail,
		Evidence: m.Evidence, Since: m.Since.UTC(),
	}
	switch m.State {
	case mirrorOfMain:
		info.Main = m.Main.String()
	case mirrorUnconfirmed:
		info.Main = m.Target.String()
	}
	return info, true
}

// mirrorInfos is what there is to say of a host's origins.
func (h *host) mirrorInfos() (list []crawl.MirrorInfo) {
	for i := range h.Origins {
		if info, ok := h.Origins[i].mirrorInfo(); ok {
			list = append(list, info)
		}
	}
	return list
}

// Mirrors calls each for every origin that names a main host, or was found to be a mirror.
func (r *Reader) Mirrors(each func(crawl.MirrorInfo) error) error {
	for _, s := range r.shards {
		for _, h := range s.sortedHosts() {
			for _, info := range h.mirrorInfos() {
				if err := each(info); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// mirrorsOf is what a host's record adds to `curtsy hosts`: of which main hosts its origins are mirrors. main is set if all of
// them are.
func (h *host) mirrorsOf(robots []crawl.RobotsInfo) (main *string) {
	mirrors := 0
	for i := range h.Origins {
		m := h.Origins[i].Mirror
		if !m.mirrored() {
			continue
		}
		of := m.Main.String()
		robots[i].MirrorOf = of
		if mirrors++; main == nil || m.Main.Host != h.Name {
			main = &of
		}
	}
	if mirrors < len(h.Origins) {
		return nil // some of it is main
	}
	return main
}

// answerMirrors sends what there is to say.
func (f *Frontier) answerMirrors(send func(any) error) error {
	return f.someHosts(func(s *shard, h *host, _ time.Time) []any {
		var list []any
		for _, info := range h.mirrorInfos() {
			list = append(list, info)
		}
		return list
	}, send)
}
