package wellknown

import (
	"slices"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/polite"
	"github.com/curtsy/curtsy/internal/frontier/store"
)

// This file is the table of the kinds of well-known files. A file that is requested from each
// origin while the spec wants it is a row of originFileKinds: a new one is a row here, and nothing
// else in the frontier. Files with rules of their own, which follow, have a type each: their rows
// say who decides about a request, from when it may be sent, what is done with the answer, and what
// follows when an origin becomes a mirror, or the spec changes.

// When an origin is asked again.
const (
	// At the latest, and for its security.txt also at the earliest
	AskedAgain   = 30 * 24 * time.Hour
	AskedSoonest = 24 * time.Hour
)

// originFileKinds returns the rows of such files. The frontier requests them in this order.
func originFileKinds() []originFile {
	return []originFile{
		{
			kind: crawl.AuxSecurityTxt, path: "/.well-known/security.txt", // RFC 9116
			wanted: func(s *crawl.Spec) bool { return s.SecurityTxt },
			known:  func(f *crawl.OriginFiles) bool { return f.SecurityTxt != nil },
			keep:   keepSecurityTxt,
			forget: func(f *crawl.OriginFiles) { f.SecurityTxt = nil },
			due:    func(d *crawl.OriginFilesDue) *time.Time { return &d.SecurityTxtDue },
		},
		{
			// Formats §8.22. Its links arrive before the answer, like those of a page.
			kind: crawl.AuxLLMSTxt, path: "/llms.txt",
			wanted: func(s *crawl.Spec) bool { return s.LLMSTxt },
			known:  func(f *crawl.OriginFiles) bool { return f.LLMSTxt != nil },
			keep:   keepLLMSTxt,
			forget: func(f *crawl.OriginFiles) { f.LLMSTxt = nil },
			due:    func(d *crawl.OriginFilesDue) *time.Time { return &d.LLMSTxtDue },
		},
	}
}

func keepSecurityTxt(f *crawl.OriginFiles, a *crawl.Answer) (fresh time.Duration, ok bool) {
	if a.SecurityTxt == nil {
		return 0, false
	}
	m := *a.SecurityTxt
	m.State, m.Reason = strings.Clone(m.State), strings.Clone(crawl.ShortDetail(m.Reason))
	m.Contacts = slices.Clone(m.Contacts)
	for j, c := range m.Contacts {
		m.Contacts[j] = strings.Clone(c)
	}
	m.Expires = m.Expires.UTC()
	f.SecurityTxt = &m
	return AskedAgain, true
}

func keepLLMSTxt(f *crawl.OriginFiles, a *crawl.Answer) (fresh time.Duration, ok bool) {
	if a.LLMSTxt == nil {
		return 0, false
	}
	m := *a.LLMSTxt
	m.State, m.Reason, m.Title = strings.Clone(m.State), strings.Clone(crawl.ShortDetail(m.Reason)), strings.Clone(m.Title)
	fresh = max(AskedSoonest, min(m.Fresh, AskedAgain))
	m.Fresh = 0
	f.LLMSTxt = &m
	return fresh, true
}

// OriginFiles requests the files of originFileKinds from origins, while the spec wants them.
func OriginFiles(features *hosts.Features, ledger *hosts.Ledger) (all []hosts.Feature) {
	rows := originFileKinds()
	for i := range rows {
		all = append(all, (&originFiles{originFile: &rows[i], features: features, ledger: ledger}).feature())
	}
	return all
}

// Feature follows robots.txt redirects to other hosts.
func (s *RobotsProxy) Feature() hosts.Feature {
	return hosts.Feature{Aux: map[crawl.AuxKind]hosts.AuxKind{
		crawl.AuxRobots: {Want: s.wantProxied, From: proxyFrom, Answer: s.answerProxied},
	}}
}

// DataFeature requests /data.txt where its redirects lead, and the files nested in it (nested.go).
func (s *DataFiles) DataFeature() hosts.Feature {
	return hosts.Feature{
		Aux: map[crawl.AuxKind]hosts.AuxKind{
			crawl.AuxData: {From: polite.PageFrom, Answer: s.answerProbe},
			crawl.AuxNested: {Want: s.wantNested, From: polite.PageFrom,
				Answer: func(a *crawl.Answer, at, _ time.Time) error { return s.answer(a, at) }},
		},
		MirrorChanged: s.dataMirrorChanged,
		Times:         store.InRecords[Nested](store.BucketNested),
	}
}

// SitemapsFeature reads sitemaps.
func (s *Sitemaps) SitemapsFeature() hosts.Feature {
	return hosts.Feature{
		Aux: map[crawl.AuxKind]hosts.AuxKind{
			crawl.AuxSitemap: {Want: s.wantSitemap, From: s.sitemapFrom, Dress: s.dressSitemaps, Answer: s.answer, Drop: s.dropSitemap},
		},
		Load:          s.load,
		Upkeep:        s.Upkeep,
		Ask:           s.ask,
		MirrorChanged: s.sitemapsMirrorChanged,
		Respec:        s.begin,
		Times:         store.InRecords[sitemap](store.BucketSitemaps),
	}
}

// Feature reads feeds.
func (s *Feeds) Feature() hosts.Feature {
	return hosts.Feature{
		Aux: map[crawl.AuxKind]hosts.AuxKind{
			crawl.AuxFeed: {Want: s.want, From: polite.PageFrom, Dress: s.dress, Answer: s.answer},
		},
		Load:          s.load,
		Upkeep:        s.Upkeep,
		MirrorChanged: s.mirrorChanged,
		Times:         seeFeedTimes,
		Respec:        func() error { s.next = time.Time{}; return nil },
	}
}
