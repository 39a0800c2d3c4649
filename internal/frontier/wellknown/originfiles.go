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

// When an origin is asked again.
const (
	// At the latest, and for its security.txt also at the earliest
	AskedAgain   = 30 * 24 * time.Hour
	AskedSoonest = 24 * time.Hour
)

// originFile is one kind of file that is requested from origins.
type originFile struct {
	features *hosts.Features
	ledger   *hosts.Ledger
	on       bool // the spec wants it

	kind   crawl.AuxKind
	path   string
	wanted func(s *crawl.Spec) bool
	due    func(o *hosts.Origin) time.Time // not requested before
	known  func(o *hosts.Origin) bool      // a result is stored
	forget func(o *hosts.Origin)
	// keep stores an answer that was sent at a time; ok is false for an answer to another request.
	keep func(o *hosts.Origin, a *crawl.Answer, at time.Time) (ok bool)
}

// SecurityTxt requests security.txt (RFC 9116) from origins while the spec wants that.
func SecurityTxt(f *hosts.Features, l *hosts.Ledger) hosts.Feature {
	return (&originFile{features: f, ledger: l, kind: crawl.AuxSecurityTxt, path: "/.well-known/security.txt",
		wanted: func(s *crawl.Spec) bool { return s.SecurityTxt },
		due:    func(o *hosts.Origin) time.Time { return o.SecurityTxtDue },
		known:  func(o *hosts.Origin) bool { return o.SecurityTxt != nil },
		forget: (*hosts.Origin).ForgetSecurityTxt,
		keep: func(o *hosts.Origin, a *crawl.Answer, at time.Time) bool {
			if a.SecurityTxt == nil {
				return false
			}
			m := *a.SecurityTxt
			// These strings are substrings of the message.
			m.State, m.Reason = strings.Clone(m.State), strings.Clone(crawl.ShortDetail(m.Reason))
			m.Contacts = slices.Clone(m.Contacts)
			for j, c := range m.Contacts {
				m.Contacts[j] = strings.Clone(c)
			}
			m.Expires = m.Expires.UTC()
			o.KeepSecurityTxt(&m, at.Add(AskedAgain))
			return true
		},
	}).feature()
}

// LLMSTxt requests /llms.txt (formats §8.22) from origins while the spec wants that. Its
// links arrive before the answer, like those of a page.
func LLMSTxt(f *hosts.Features, l *hosts.Ledger) hosts.Feature {
	return (&originFile{features: f, ledger: l, kind: crawl.AuxLLMSTxt, path: crawl.LLMSTxtPath,
		wanted: func(s *crawl.Spec) bool { return s.LLMSTxt },
		due:    func(o *hosts.Origin) time.Time { return o.LLMSTxtDue },
		known:  func(o *hosts.Origin) bool { return o.LLMSTxt != nil },
		forget: (*hosts.Origin).ForgetLLMSTxt,
		keep: func(o *hosts.Origin, a *crawl.Answer, at time.Time) bool {
			if a.LLMSTxt == nil {
				return false
			}
			m := *a.LLMSTxt
			m.State, m.Reason, m.Title = strings.Clone(m.State), strings.Clone(crawl.ShortDetail(m.Reason)), strings.Clone(m.Title)
			again := max(AskedSoonest, min(m.Fresh, AskedAgain))
			m.Fresh = 0
			o.KeepLLMSTxt(&m, at.Add(again))
			return true
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

// url is the URL of the file on an origin; ok is false if it is forgotten.
func (f *originFile) url(o *hosts.Origin) (u canon.URL, ok bool) {
	u, err := o.Origin.URL(f.path)
	return u, err == nil && !f.ledger.Judge.Forgotten.Has(u)
}

// ask requests the file from an origin, unless that was done lately.
func (f *originFile) ask(h *hosts.Host, i int, now time.Time) error {
	o := &h.Origins[i]
	u, ok := f.url(o)
	if !ok || !f.on || now.Before(f.due(o)) || h.Queued == 0 && h.Stored == 0 {
		return nil
	}
	return f.features.AddAux(crawl.AuxRequest{Kind: f.kind, URL: u, Origin: o.Origin, ReplyShard: f.ledger.ID}, now)
}

// answer stores the result. A second call has no effect.
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
	if !f.keep(o, a, at) {
		return nil
	}
	if _, ok := f.url(o); !ok {
		f.forget(o)
	}
	return nil
}

// mirrorChanged drops the request when an origin has become a mirror.
func (f *originFile) mirrorChanged(h *hosts.Host, i int, now time.Time) error {
	if o := &h.Origins[i]; o.Mirror.Mirrored() {
		return f.drop(h, o, now)
	}
	return nil
}

// respec asks all origins once the spec wants the file. If it does not any more, requests are
// dropped. Results of forgotten origins are removed.
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

// drop drops the request for o, if there is one.
func (f *originFile) drop(h *hosts.Host, o *hosts.Origin, now time.Time) error {
	i := slices.IndexFunc(h.Aux, func(e crawl.AuxRequest) bool { return e.Kind == f.kind && e.Origin == o.Origin })
	if i < 0 {
		return nil
	}
	return f.features.DropAux(h, h.Aux[i], now)
}
