package wellknown

import (
	"slices"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/polite"
	"github.com/curtsy/curtsy/pkg/canon"
)

// After how long an origin is asked once more.
const (
	AskedAgain   = 30 * 24 * time.Hour // at the latest, and for its security.txt at the earliest
	AskedSoonest = 24 * time.Hour
)

// file is one kind of file that origins are asked for.
type originFile struct {
	features *hosts.Features
	ledger   *hosts.Ledger
	on       bool // the spec wants it

	kind   crawl.AuxKind
	path   string
	wanted func(s *crawl.Spec) bool
	due    func(o *hosts.Origin) *time.Time
	known  func(o *hosts.Origin) bool // what came of asking is kept
	forget func(o *hosts.Origin)
	// keep takes in an answer, and says after how long it is asked for again; ok is false for an
	// answer to something else.
	keep func(o *hosts.Origin, a *crawl.Answer) (again time.Duration, ok bool)
}

// SecurityTxt asks origins for their security.txt (RFC 9116) while the spec wants that.
func SecurityTxt(f *hosts.Features, l *hosts.Ledger) hosts.Feature {
	return (&originFile{features: f, ledger: l, kind: crawl.AuxSecurityTxt, path: "/.well-known/security.txt",
		wanted: func(s *crawl.Spec) bool { return s.SecurityTxt },
		due:    func(o *hosts.Origin) *time.Time { return &o.SecurityTxtDue },
		known:  func(o *hosts.Origin) bool { return o.SecurityTxt != nil },
		forget: func(o *hosts.Origin) { o.SecurityTxt = nil },
		keep: func(o *hosts.Origin, a *crawl.Answer) (time.Duration, bool) {
			if a.SecurityTxt == nil {
				return 0, false
			}
			m := *a.SecurityTxt
			// They are pieces of the message.
			m.State, m.Reason = strings.Clone(m.State), strings.Clone(crawl.ShortDetail(m.Reason))
			m.Contacts = slices.Clone(m.Contacts)
			for j, c := range m.Contacts {
				m.Contacts[j] = strings.Clone(c)
			}
			m.Expires = m.Expires.UTC()
			o.SecurityTxt = &m
			return AskedAgain, true
		},
	}).feature()
}

// LLMSTxt asks origins for their /llms.txt (signals.md §6 row 22) while the spec wants that. Its
// links come before the answer, as those of any page.
func LLMSTxt(f *hosts.Features, l *hosts.Ledger) hosts.Feature {
	return (&originFile{features: f, ledger: l, kind: crawl.AuxLLMSTxt, path: crawl.LLMSTxtPath,
		wanted: func(s *crawl.Spec) bool { return s.LLMSTxt },
		due:    func(o *hosts.Origin) *time.Time { return &o.LLMSTxtDue },
		known:  func(o *hosts.Origin) bool { return o.LLMSTxt != nil },
		forget: func(o *hosts.Origin) { o.LLMSTxt = nil },
		keep: func(o *hosts.Origin, a *crawl.Answer) (time.Duration, bool) {
			if a.LLMSTxt == nil {
				return 0, false
			}
			m := *a.LLMSTxt
			m.State, m.Reason, m.Title = strings.Clone(m.State), strings.Clone(crawl.ShortDetail(m.Reason)), strings.Clone(m.Title)
			again := max(AskedSoonest, min(m.Fresh, AskedAgain))
			m.Fresh = 0
			o.LLMSTxt = &m
			return again, true
		},
	}).feature()
}

func (f *originFile) feature() hosts.Feature {
	return hosts.Feature{
		Aux: map[crawl.AuxKind]hosts.AuxKind{
			f.kind: {From: polite.PageFrom, Answer: f.answer},
		},
		Ask:           f.ask,
		MirrorChanged: f.mirrorChanged,
		Respec:        f.respec,
	}
}

// url is where an origin has the file; ok is false for one that is forgotten.
func (f *originFile) url(o *hosts.Origin) (u canon.URL, ok bool) {
	u, err := o.Origin.URL(f.path)
	return u, err == nil && !f.ledger.Judge.Forgotten.Has(u)
}

// ask asks an origin, unless it was asked lately.
func (f *originFile) ask(h *hosts.Host, i int, now time.Time) error {
	o := &h.Origins[i]
	u, ok := f.url(o)
	if !ok || !f.on || now.Before(*f.due(o)) || h.Queued == 0 && h.Stored == 0 {
		return nil
	}
	return f.features.AddAux(crawl.AuxRequest{Kind: f.kind, URL: u, Origin: o.Origin, ReplyShard: f.ledger.ID}, now)
}

// answer keeps what came of asking. Applied again it changes nothing.
func (f *originFile) answer(a *crawl.Answer, at, _ time.Time) error {
	h, err := f.ledger.HostNamed(a.Aux.Origin.Host)
	if h == nil || err != nil {
		return err
	}
	i, ok := h.OriginIndex(a.Aux.Origin)
	if !ok {
		return nil
	}
	o := &h.Origins[i]
	again, ok := f.keep(o, a)
	if !ok {
		return nil
	}
	*f.due(o) = at.Add(again)
	if _, ok := f.url(o); !ok {
		f.forget(o)
	}
	f.ledger.MarkDirty(h)
	return nil
}

// mirrorChanged takes the question back when an origin has become a mirror.
func (f *originFile) mirrorChanged(h *hosts.Host, i int, now time.Time) error {
	if o := &h.Origins[i]; o.Mirror.Mirrored() {
		return f.drop(h, o, now)
	}
	return nil
}

// respec has all origins asked once that is wanted. What is not wanted any more is not asked, and
// what was read of a forgotten origin is not kept.
func (f *originFile) respec() error {
	was := f.on
	if f.on = f.wanted(&f.ledger.Judge.Spec); f.on && !was {
		f.features.AskAll(nil)
	}
	for _, h := range f.ledger.Hosts {
		for i := range h.Origins {
			o := &h.Origins[i]
			if !f.known(o) && len(h.Aux) == 0 {
				continue
			}
			_, ok := f.url(o)
			if !ok && f.known(o) {
				f.forget(o)
				f.ledger.MarkDirty(h)
			}
			if !ok || !f.on {
				if err := f.drop(h, o, time.Now()); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// drop takes back the errand that asks o, if there is one.
func (f *originFile) drop(h *hosts.Host, o *hosts.Origin, now time.Time) error {
	i := slices.IndexFunc(h.Aux, func(e crawl.AuxRequest) bool { return e.Kind == f.kind && e.Origin == o.Origin })
	if i < 0 {
		return nil
	}
	return f.features.DropAux(h, h.Aux[i], now)
}
