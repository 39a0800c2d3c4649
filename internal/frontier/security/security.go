// Package security says when an origin is asked for its /.well-known/security.txt (RFC 9116), and
// keeps what came of it with the origin's record.
package security

import (
	"slices"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/features"
	"github.com/curtsy/curtsy/internal/frontier/ledger"
	"github.com/curtsy/curtsy/internal/frontier/polite"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Again is after how long an origin is asked once more at the earliest, whatever it answered.
const Again = 30 * 24 * time.Hour

// securityTxt is the feature. What it keeps is in the records of origins.
type securityTxt struct {
	features *features.Features
	ledger   *ledger.Ledger
	on       bool // the spec wants it
}

// Feature asks origins for their security.txt while the spec wants that.
func Feature(f *features.Features, l *ledger.Ledger) features.Feature {
	s := &securityTxt{features: f, ledger: l}
	return features.Feature{
		Errands: map[crawl.ErrandKind]features.ErrandKind{
			crawl.ErrandSecurityTxt: {From: polite.PageFrom, Answer: s.answer},
		},
		Ask:    s.ask,
		Turned: s.turned,
		Respec: s.respec,
	}
}

// url is where an origin has its security.txt; ok is false for one that is forgotten.
func (s *securityTxt) url(o *ledger.Origin) (u canon.URL, ok bool) {
	u, err := o.Origin.URL("/.well-known/security.txt")
	return u, err == nil && !s.ledger.Judge.Forgotten.Has(u)
}

// ask asks an origin, unless it was asked lately.
func (s *securityTxt) ask(h *ledger.Host, i int, now time.Time) error {
	o := &h.Origins[i]
	u, ok := s.url(o)
	if !ok || !s.on || now.Before(o.SecurityTxtDue) || h.Queued == 0 && h.Stored == 0 {
		return nil
	}
	return s.features.AddErrand(crawl.Errand{Kind: crawl.ErrandSecurityTxt, URL: u, Origin: o.Origin, ReplyShard: s.ledger.ID}, now)
}

// answer keeps what came of asking. Applied again it changes nothing.
func (s *securityTxt) answer(a *crawl.Answer, at, _ time.Time) error {
	h, err := s.ledger.HostNamed(a.Errand.Origin.Host)
	if h == nil || err != nil {
		return err
	}
	i, ok := h.OriginIndex(a.Errand.Origin)
	if !ok || a.SecurityTxt == nil {
		return nil
	}
	o := &h.Origins[i]
	o.SecurityTxt, o.SecurityTxtDue = nil, at.Add(Again)
	if _, ok := s.url(o); ok {
		m := *a.SecurityTxt
		// They are pieces of the message.
		m.State, m.Reason = strings.Clone(m.State), strings.Clone(crawl.ShortDetail(m.Reason))
		m.Contacts = slices.Clone(m.Contacts)
		for j, c := range m.Contacts {
			m.Contacts[j] = strings.Clone(c)
		}
		m.Expires = m.Expires.UTC()
		o.SecurityTxt = &m
	}
	s.ledger.Touch(h)
	return nil
}

// turned takes the question back when an origin has become a mirror.
func (s *securityTxt) turned(h *ledger.Host, i int, now time.Time) error {
	if o := &h.Origins[i]; o.Mirror.Mirrored() {
		return s.drop(h, o, now)
	}
	return nil
}

// respec has all origins asked once that is wanted. What is not wanted any more is not asked, and
// what was read of a forgotten origin is not kept.
func (s *securityTxt) respec() error {
	was := s.on
	if s.on = s.ledger.Judge.Spec.SecurityTxt; s.on && !was {
		s.features.AskAll(nil)
	}
	for _, h := range s.ledger.Hosts {
		for i := range h.Origins {
			o := &h.Origins[i]
			if o.SecurityTxt == nil && len(h.Errands) == 0 {
				continue
			}
			_, ok := s.url(o)
			if !ok && o.SecurityTxt != nil {
				o.SecurityTxt = nil
				s.ledger.Touch(h)
			}
			if !ok || !s.on {
				if err := s.drop(h, o, time.Now()); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// drop takes back the errand that asks o, if there is one.
func (s *securityTxt) drop(h *ledger.Host, o *ledger.Origin, now time.Time) error {
	i := slices.IndexFunc(h.Errands, func(e crawl.Errand) bool { return e.Kind == crawl.ErrandSecurityTxt && e.Origin == o.Origin })
	if i < 0 {
		return nil
	}
	return s.features.DropErrand(h, h.Errands[i], now)
}
