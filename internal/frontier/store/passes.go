package store

import (
	"slices"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/judge"
	"github.com/curtsy/curtsy/pkg/canon"
)

const MirrorPending = 256 // number of unsent messages at which a mirrors pass pauses

// PassStretch is the number of records that a pass handles before it releases the shard's lock.
const PassStretch = 1000

// When a setting of the spec that decides about URLs has changed, a pass decides about all known
// URLs again: it refuses URLs that a narrower spec forbids and queues URLs that a wider one
// permits. Until the pass has reached the end, a grant checks each URL itself, so that nothing is
// fetched that the current spec forbids. The crawl is not done before the pass is.
//
// The table of reasons (internal/crawl/reason.go) defines which setting may undo which reason. The
// reasons forgotten, mirror and hosts have passes of their own (shard.Passes, package mirrors,
// hosts.Domain).

// Judging is the state of that pass. It is part of the shard's state.
type Judging struct {
	// The settings of the last pass; nil in a file from before they were stored.
	By      *judge.Settings `json:"by,omitempty"`
	Running bool            `json:"running,omitempty"`
	Next    []byte          `json:"next,omitempty"` // the key with which to continue
	// The settings before the pass, or before an earlier pass that this one replaced.
	Was *judge.Settings `json:"was,omitempty"`
	// Also are the settings of passes that others replaced before they had ended. Results that came
	// meanwhile were judged by them.
	Also []*judge.Settings `json:"also,omitempty"`
	// Sites is what the passes did since the shard has used its present site rules.
	Sites JudgedBySites `json:"sites,omitzero"`
}

// JudgedBySites counts URLs that the passes queued or refused while a shard used some site rules.
type JudgedBySites struct {
	Rules   uint64 `json:"rules,omitempty"` // their Spec.SitesHash
	Queued  int64  `json:"queued,omitempty"`
	Refused int64  `json:"refused,omitempty"`
}

// Follow begins the counts again if the rules are other ones.
func (s *JudgedBySites) Follow(rules uint64) {
	if s.Rules != rules {
		*s = JudgedBySites{Rules: rules}
	}
}

// Count counts a URL about which the running pass has decided.
func (m *Judging) Count(was, is crawl.Class) {
	switch {
	case !m.Running || was == is:
	case is == crawl.Queued:
		m.Sites.Queued++
	case was == crawl.Queued:
		m.Sites.Refused++
	}
}

// Differs reports whether the pass is running, and URLs may have been decided by settings of which
// differ says that they differ from those of now.
func (m *Judging) Differs(differ func(now, was *judge.Settings) bool) bool {
	if !m.Running || m.By == nil || m.Was == nil {
		return false
	}
	return differ(m.By, m.Was) || slices.ContainsFunc(m.Also, func(was *judge.Settings) bool { return differ(m.By, was) })
}

// Opened reports that addresses are permitted now that were forbidden before.
func (m *Judging) Opened() bool {
	return m.Differs(func(now, was *judge.Settings) bool {
		return now.AllowPrivate && !was.AllowPrivate || now.Contact && !was.Contact
	})
}

// Led reports that a host is now resolved to other addresses than before.
func (m *Judging) Led(host canon.Host) bool {
	return m.Differs(func(now, was *judge.Settings) bool { return !slices.Equal(now.Resolves(host), was.Resolves(host)) })
}

// Undoes reports whether a URL of a host that was given a reason may have none by the settings of
// now.
func (m *Judging) Undoes(reason crawl.Reason, host canon.Host) bool {
	return reason.Has(crawl.UndoneByAddress) && m.Opened() || reason.Has(crawl.UndoneByResolve) && m.Led(host) ||
		m.Differs(func(now, was *judge.Settings) bool {
			return reason.Has(crawl.UndoneByAgent) && now.Agent != was.Agent || reason.Has(crawl.UndoneByPurpose) && !now.SamePurposes(was) ||
				reason.Has(crawl.UndoneByTypes) && !now.SameTypes(was) || reason.Has(crawl.UndoneBySites) && now.Sites != was.Sites
		})
}

// RendersOthers reports that other pages than before may be rendered.
func (m *Judging) RendersOthers() bool {
	return m.Differs(func(now, was *judge.Settings) bool { return now.Render != was.Render || now.Sites != was.Sites })
}

// Begin begins the pass that decides all URLs again, by other settings than was, which may allow
// less or more. If the pass is running, it begins again, and was is remembered beside what was
// before: a shard may go to an owner that does not know the new settings yet, and come back.
func (m *Judging) Begin(by, was *judge.Settings) {
	switch {
	case !m.Running:
		m.Was, m.Also = was, nil
	case !slices.ContainsFunc(m.Also, func(had *judge.Settings) bool { return had.Same(was) && had.Scope == was.Scope }):
		m.Also = append(m.Also, was)
	}
	m.By, m.Running, m.Next = by, true, nil
}

// DecidedBy notes what URLs are decided by, without a pass.
func (m *Judging) DecidedBy(by *judge.Settings) { m.By = by }

// Step moves the pass on to the key next; nil: it is done, and Step returns false.
func (m *Judging) Step(next []byte) (more bool) {
	if m.Next = next; next != nil {
		return true
	}
	m.Running, m.Was, m.Also = false, nil, nil
	return false
}

// Planning is the state of a pass over all URLs after a setting has changed that determines when
// URLs are fetched again. It is part of the shard's state.
type Planning struct {
	// The settings of the last plan; "": there is no plan, or it is ignored.
	Spec    string `json:"spec,omitempty"`
	Running bool   `json:"running,omitempty"`
	Next    []byte `json:"next,omitempty"` // the key with which to continue
}

// Begin begins the pass that plans when URLs are requested again, by the settings in text; "": no
// URL is.
func (p *Planning) Begin(text string) {
	if p.Spec != text {
		*p = Planning{Spec: text, Running: text != ""}
	}
}

// Again makes the next Begin start the pass, whatever the settings are.
func (p *Planning) Again() { *p = Planning{} }

// Step moves the pass on to the key next; nil: it is done.
func (p *Planning) Step(next []byte) { p.Next, p.Running = next, next != nil }

// lostStore records that page stores of this shard were lost, which pages must be fetched again
// because of that, and how far the pass has got. It is part of the shard's state.
type lostStore struct {
	Seen []string `json:"seen,omitempty"` // identities of the last stores that began since
	// Mark is the newest visit that was granted when the last loss was reported. Pages that this or
	// an earlier visit stored may be gone, whenever its outcome arrives. Pages of later visits are
	// in the new store, because it had begun before them.
	Mark    crawl.VisitID `json:"mark,omitzero"`
	Running bool          `json:"running,omitempty"` // URLs are being put back into their queues
	Next    []byte        `json:"next,omitempty"`    // the key with which to continue
}

// IsLost reports whether pages that the visit stored may be gone.
func (l *lostStore) IsLost(id crawl.VisitID) bool {
	return !l.Mark.IsZero() && id.Compare(l.Mark) <= 0
}

// maxStoresSeen is how many identities of page stores are remembered.
const maxStoresSeen = 64

// Begin notes that the page store before identity was lost, with the pages of all visits up to
// newest. It reports false if that is known already.
func (l *lostStore) Begin(identity string, newest crawl.VisitID) (news bool) {
	if slices.Contains(l.Seen, identity) {
		return false
	}
	l.Seen = append(l.Seen, identity)
	l.Seen = l.Seen[max(len(l.Seen)-maxStoresSeen, 0):]
	l.Mark, l.Running, l.Next = newest, true, nil
	return true
}

// Step moves the pass that queues the lost pages again on to the key next; nil: it is done.
func (l *lostStore) Step(next []byte) { l.Next, l.Running = next, next != nil }
