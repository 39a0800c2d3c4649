package wellknown

import (
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/polite"
	"github.com/curtsy/curtsy/pkg/canon"
)

// originFile is a row of the table: how files of one kind are requested from origins, and what is
// kept of the answers.
type originFile struct {
	kind   crawl.AuxKind
	path   string
	wanted func(s *crawl.Spec) bool // by the spec

	known func(f *crawl.OriginFiles) bool // a result is stored
	// keep stores the result in an answer, and returns how long the file need not be requested
	// again. ok is false for an answer to another request. Texts in an answer are parts of its
	// message, and are copied so that the message does not stay in memory.
	keep   func(f *crawl.OriginFiles, a *crawl.Answer) (fresh time.Duration, ok bool)
	forget func(f *crawl.OriginFiles)
	due    func(d *crawl.OriginFilesDue) *time.Time // not requested before
}

// originFiles are the files of one kind in one shard.
type originFiles struct {
	*originFile
	features *hosts.Features
	ledger   *hosts.Ledger
	on       bool // the spec wants it
}

func (f *originFiles) feature() hosts.Feature {
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
func (f *originFiles) url(o *hosts.Origin) (u canon.URL, ok bool) {
	u, err := o.Origin.URL(f.path)
	return u, err == nil && !f.ledger.Judge.Forgotten.Has(u)
}

// ask requests the file from an origin, unless that was done lately.
func (f *originFiles) ask(h *hosts.Host, i int, now time.Time) error {
	o := &h.Origins[i]
	u, ok := f.url(o)
	if !ok || !f.on || now.Before(*f.due(&o.OriginFilesDue)) || h.Queued == 0 && h.Stored == 0 {
		return nil
	}
	return f.features.AddAux(crawl.AuxRequest{Kind: f.kind, URL: u, Origin: o.Origin, ReplyShard: f.ledger.ID}, now)
}

// answer stores the result. A second call has no effect.
func (f *originFiles) answer(a *crawl.Answer, at, _ time.Time) error {
	h, err := f.ledger.HostNamed(a.Aux.Origin.Host)
	if h == nil || err != nil {
		return err
	}
	i, ok := h.OriginIndex(a.Aux.Origin)
	if !ok {
		return nil
	}
	o := &h.Origins[i]
	files, due := o.OriginFiles, o.OriginFilesDue
	fresh, ok := f.keep(&files, a)
	if !ok {
		return nil
	}
	*f.due(&due) = at.Add(fresh)
	if _, ok := f.url(o); !ok {
		f.forget(&files)
	}
	o.KeepFiles(files, due)
	return nil
}

// mirrorChanged drops the request when an origin has become a mirror.
func (f *originFiles) mirrorChanged(h *hosts.Host, i int, now time.Time) error {
	if o := &h.Origins[i]; o.Mirror.Mirrored() {
		return f.drop(h, o, now)
	}
	return nil
}

// respec asks all origins once the spec wants the file. If it does not any more, requests are
// dropped. Results of forgotten origins are removed.
func (f *originFiles) respec() error {
	was := f.on
	if f.on = f.wanted(&f.ledger.Judge.Spec); f.on && !was {
		f.features.AskAll(nil)
	}
	for _, h := range f.ledger.Hosts {
		for i := range h.Origins {
			o := &h.Origins[i]
			if !f.known(&o.OriginFiles) && len(h.Aux) == 0 {
				continue
			}
			_, ok := f.url(o)
			if !ok && f.known(&o.OriginFiles) {
				files := o.OriginFiles
				f.forget(&files)
				o.KeepFiles(files, o.OriginFilesDue)
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
func (f *originFiles) drop(h *hosts.Host, o *hosts.Origin, now time.Time) error {
	i := slices.IndexFunc(h.Aux, func(e crawl.AuxRequest) bool { return e.Kind == f.kind && e.Origin == o.Origin })
	if i < 0 {
		return nil
	}
	return f.features.DropAux(h, h.Aux[i], now)
}
