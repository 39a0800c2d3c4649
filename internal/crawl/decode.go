package crawl

import (
	"github.com/curtsy/curtsy/pkg/canon"
)

// The Decode functions read what the Append functions wrote. Strings are copies; byte slices (bodies, digests) point
// into the message, which must therefore not change while they are in use.

// DecodeTake decodes a Take.
func DecodeTake(b []byte) (t Take, err error) {
	d := newDec(b)
	for f := d.next(); f != 0; f = d.next() {
		switch f {
		case 1:
			t.Fetcher = d.str()
		case 2:
			t.Max = d.int()
		case 3:
			t.Downloads = d.bool()
		case 4:
			t.Origin = d.origin()
		default:
			d.skip()
		}
	}
	return t, d.err("take")
}

// DecodeGrants decodes Grants.
func DecodeGrants(b []byte) (g Grants, err error) {
	d := newDec(b)
	for f := d.next(); f != 0; f = d.next() {
		switch f {
		case 1:
			if err := checkVersion("grants", d.uint()); err != nil {
				return g, err
			}
		case 2:
			g.Visits = append(g.Visits, Visit{})
			d.msg(func() { d.visit(&g.Visits[len(g.Visits)-1]) })
		case 3:
			g.Wait = d.dur()
		default:
			d.skip()
		}
	}
	return g, d.err("grants")
}

func (d *dec) visitID() (v VisitID) {
	d.msg(func() {
		for f := d.next(); f != 0; f = d.next() {
			switch f {
			case 1:
				v.Epoch = d.uint()
			case 2:
				v.N = d.uint()
			default:
				d.skip()
			}
		}
	})
	return v
}

func (d *dec) visit(v *Visit) {
	for f := d.next(); f != 0; f = d.next() {
		switch f {
		case 1:
			v.ID = d.visitID()
		case 2:
			v.Shard = d.int()
		case 3:
			v.Host = canon.Host(d.str())
		case 4:
			v.URLs = append(v.URLs, VisitURL{})
			d.msg(func() { d.visitURL(&v.URLs[len(v.URLs)-1]) })
		case 5:
			v.Robots = append(v.Robots, Robots{})
			d.msg(func() { d.robots(&v.Robots[len(v.Robots)-1]) })
		case 6:
			v.Errands = append(v.Errands, d.errand())
		case 7:
			v.Delay = d.dur()
		case 8:
			v.NotBefore = d.dur()
		case 9:
			v.Lease = d.dur()
		case 10:
			v.Hurried = d.bool()
		default:
			d.skip()
		}
	}
}

func (d *dec) visitURL(u *VisitURL) {
	for f := d.next(); f != 0; f = d.next() {
		switch f {
		case 1:
			u.URL = d.url()
		case 2:
			u.FoundOn = d.url()
		case 3:
			u.Depth = d.int()
		case 4:
			u.Hops = d.int()
		case 5:
			u.Attempts = d.int()
		case 6:
			u.ETag = d.str()
		case 7:
			u.LastModified = d.str()
		case 8:
			u.Keep = d.bool()
		default:
			d.skip()
		}
	}
}

// DecodeRenew decodes a Renew.
func DecodeRenew(b []byte) (r Renew, err error) {
	d := newDec(b)
	for f := d.next(); f != 0; f = d.next() {
		switch f {
		case 1:
			r.Fetcher = d.str()
		case 2:
			r.Visits = append(r.Visits, d.visitID())
		default:
			d.skip()
		}
	}
	return r, d.err("renew")
}

// DecodeRenewed decodes a Renewed.
func DecodeRenewed(b []byte) (r Renewed, err error) {
	d := newDec(b)
	for f := d.next(); f != 0; f = d.next() {
		switch f {
		case 1:
			r.Lost = append(r.Lost, d.visitID())
		case 2:
			r.Lease = d.dur()
		default:
			d.skip()
		}
	}
	return r, d.err("renewed")
}

func (d *dec) origin() canon.Origin {
	s := d.str()
	if s == "" {
		return canon.Origin{}
	}
	return canon.URL(s + "/").Origin()
}

func (d *dec) robots(r *Robots) {
	for f := d.next(); f != 0; f = d.next() {
		switch f {
		case 1:
			r.Origin = d.origin()
		case 2:
			r.State = RobotsState(d.uint())
		case 3:
			r.Status = d.int()
		case 4:
			r.Body = d.bytes()
		case 5:
			r.Digest = d.bytes()
		case 6:
			r.Age = d.dur()
		case 7:
			r.Fresh = d.dur()
		case 8:
			r.CrawlDelay = d.dur()
		case 9:
			r.ETag = d.str()
		case 10:
			r.LastModified = d.str()
		case 11:
			r.Reason = d.str()
		case 12:
			r.Location = d.str()
		case 13:
			r.RetryAfter = d.dur()
		case 14:
			r.HasCrawlDelay = d.bool()
		case 15:
			r.Answered = d.bool()
		case 16:
			r.Renewed = d.bool()
		case 17:
			r.Hops = d.int()
		case 18:
			r.ProbeData = d.bool()
		default:
			d.skip()
		}
	}
}

func (d *dec) probe(p *Probe) {
	for f := d.next(); f != 0; f = d.next() {
		switch f {
		case 1:
			p.Origin = d.origin()
		case 2:
			p.State = ProbeState(d.uint())
		case 3:
			p.Status = d.int()
		case 4:
			p.Fresh = d.dur()
		case 5:
			p.Reason = d.str()
		case 6:
			p.Location = d.str()
		case 7:
			p.Hops = d.int()
		default:
			d.skip()
		}
	}
}

// DecodeRobots decodes what AppendRobots wrote.
func DecodeRobots(b []byte) (r Robots, err error) {
	d := newDec(b)
	d.robots(&r)
	return r, d.err("robots")
}

func (d *dec) errandFields(r *Errand) {
	for f := d.next(); f != 0; f = d.next() {
		switch f {
		case 1:
			r.Kind = ErrandKind(d.uint())
		case 2:
			r.URL = d.url()
		case 3:
			r.Origin = d.origin()
		case 4:
			r.Hop = d.int()
		case 5:
			r.ReplyShard = d.int()
		case 6:
			r.ETag = d.str()
		case 7:
			r.LastModified = d.str()
		case 8:
			r.Form = d.str()
		default:
			d.skip()
		}
	}
}

func (d *dec) errand() (r Errand) {
	d.msg(func() { d.errandFields(&r) })
	return r
}

// DecodeErrand decodes what AppendErrand wrote.
func DecodeErrand(b []byte) (r Errand, err error) {
	d := newDec(b)
	d.errandFields(&r)
	return r, d.err("errand")
}

// DecodeEvent decodes an Event.
func DecodeEvent(b []byte) (ev Event, err error) {
	d := newDec(b)
	for f := d.next(); f != 0; f = d.next() {
		switch f {
		case 1:
			if err := checkVersion("event", d.uint()); err != nil {
				return ev, err
			}
		case 2:
			ev.Visit = d.visitID()
		case 3:
			ev.Links = append(ev.Links, Links{})
			d.msg(func() { d.links(&ev.Links[len(ev.Links)-1]) })
		case 4:
			ev.Robots = append(ev.Robots, Robots{})
			d.msg(func() { d.robots(&ev.Robots[len(ev.Robots)-1]) })
		case 5:
			ev.Outcome = new(Outcome)
			d.msg(func() { d.outcome(ev.Outcome) })
		case 6:
			ev.Errands = append(ev.Errands, d.errand())
		case 7:
			ev.Answers = append(ev.Answers, Answer{})
			d.msg(func() { d.answer(&ev.Answers[len(ev.Answers)-1]) })
		case 8:
			ev.StoreFailed = append(ev.StoreFailed, d.str())
		case 9:
			ev.Fetcher = d.str()
		case 10:
			ev.Probes = append(ev.Probes, Probe{})
			d.msg(func() { d.probe(&ev.Probes[len(ev.Probes)-1]) })
		case 11:
			ev.StoreLost = d.str()
		case 12:
			ev.Missing = append(ev.Missing, d.unheld())
		case 13:
			ev.Removed = append(ev.Removed, d.unheld())
		case 14:
			ev.Reports = append(ev.Reports, Report{})
			d.msg(func() { d.report(&ev.Reports[len(ev.Reports)-1]) })
		default:
			d.skip()
		}
	}
	return ev, d.err("event")
}

func (d *dec) links(l *Links) {
	for f := d.next(); f != 0; f = d.next() {
		switch f {
		case 1:
			l.FoundOn = d.url()
		case 2:
			l.Depth = d.int()
		case 3:
			l.Hops = d.int()
		case 4:
			l.URLs = append(l.URLs, d.url())
		case 5:
			l.Seed = d.bool()
		case 6:
			l.Mods = d.uints(l.Mods)
		case 7:
			l.Via = canon.Host(d.str())
		case 8:
			l.Source = Source(d.uint())
		case 9:
			l.Gone = d.bool()
		default:
			d.skip()
		}
	}
}

func (d *dec) answer(a *Answer) {
	for f := d.next(); f != 0; f = d.next() {
		switch f {
		case 1:
			a.Errand = d.errand()
		case 2:
			d.msg(func() { d.robots(&a.Robots) })
		case 3:
			d.msg(func() { d.probe(&a.Probe) })
		case 4:
			d.msg(func() { d.claim(&a.Claim) })
		case 5:
			d.msg(func() { d.sample(&a.Sample) })
		case 6:
			d.msg(func() { d.sitemap(&a.Sitemap) })
		case 7:
			d.msg(func() { d.rup(&a.RUP) })
		default:
			d.skip()
		}
	}
}

func (d *dec) rup(r *RUP) {
	for f := d.next(); f != 0; f = d.next() {
		switch f {
		case 1:
			r.Status = d.int()
		case 2:
			r.Reason = d.str()
		case 3:
			r.Retry = d.bool()
		case 4:
			r.RetryAfter = d.dur()
		case 5:
			r.Body = d.bytes()
		case 6:
			r.Fresh = d.dur()
		case 7:
			r.Key = d.str()
		case 8:
			r.Sequence = d.uint()
		case 9:
			r.Entries = d.int()
		case 10:
			r.Refused = d.int()
		default:
			d.skip()
		}
	}
}

func (d *dec) report(r *Report) {
	for f := d.next(); f != 0; f = d.next() {
		switch f {
		case 1:
			r.Origin = d.origin()
		case 2:
			r.Address = d.str()
		case 3:
			r.Index = d.bool()
		case 4:
			r.Number = d.uint()
		case 5:
			r.Part = d.int()
		case 6:
			r.Parts = d.int()
		case 7:
			r.Received = d.stamp()
		case 8:
			r.Links = append(r.Links, Links{})
			d.msg(func() { d.links(&r.Links[len(r.Links)-1]) })
		case 9:
			r.Refused = d.int()
		case 10:
			r.Truncated = d.bool()
		default:
			d.skip()
		}
	}
}

func (d *dec) claim(c *Claim) {
	for f := d.next(); f != 0; f = d.next() {
		switch f {
		case 1:
			c.Kind = ClaimKind(d.uint())
		case 2:
			c.Target = d.origin()
		case 3:
			c.Digest = d.bytes()
		case 4:
			c.Reason = d.str()
		case 5:
			c.Main = d.origin()
		case 6:
			c.URLs = d.int()
		case 7:
			c.Led = d.int()
		default:
			d.skip()
		}
	}
}

func (d *dec) sample(s *Sample) {
	for f := d.next(); f != 0; f = d.next() {
		switch f {
		case 1:
			s.Status = d.int()
		case 2:
			s.Digest = d.uint()
		case 3:
			s.Likeness = d.uint()
		case 4:
			s.Reason = d.str()
		case 5:
			s.Location = d.str()
		default:
			d.skip()
		}
	}
}

func (d *dec) sitemap(s *Sitemap) {
	for f := d.next(); f != 0; f = d.next() {
		switch f {
		case 1:
			s.Status = d.int()
		case 2:
			s.Read = d.bool()
		case 3:
			s.NotModified = d.bool()
		case 4:
			s.Form = d.str()
		case 5:
			s.Entries = d.int()
		case 6:
			s.Skipped = d.int()
		case 7:
			s.ETag = d.str()
		case 8:
			s.LastModified = d.str()
		case 9:
			s.Reason = d.str()
		case 10:
			s.Again = d.bool()
		case 11:
			s.Scope = d.uint()
		default:
			d.skip()
		}
	}
}

func (d *dec) outcome(o *Outcome) {
	for f := d.next(); f != 0; f = d.next() {
		switch f {
		case 1:
			o.Host = canon.Host(d.str())
		case 2:
			o.Results = append(o.Results, Result{})
			d.msg(func() { d.result(&o.Results[len(o.Results)-1]) })
		case 3:
			o.Delay = d.dur()
		case 4:
			o.SinceEnd = d.dur()
		case 5:
			o.RetryAfter = d.dur()
		case 6:
			o.Requests = d.int()
		case 7:
			o.Overloads = d.int()
		case 8:
			o.Timeouts = d.int()
		case 9:
			o.Done = append(o.Done, d.errand())
		case 10:
			o.Private = d.bool()
		case 11:
			o.Bytes = d.int64()
		case 12:
			o.Partial = d.bool()
		default:
			d.skip()
		}
	}
}

func (d *dec) result(r *Result) {
	for f := d.next(); f != 0; f = d.next() {
		switch f {
		case 1:
			r.URL = d.url()
		case 2:
			r.Class = Class(d.uint())
		case 3:
			r.Reason = Reason(d.str())
		case 4:
			r.Status = d.int()
		case 5:
			r.Line = d.int()
		case 6:
			r.Rule = d.str()
		case 7:
			r.Location = d.str()
		case 8:
			r.Bytes = d.int64()
		case 9:
			r.Took = d.dur()
		case 10:
			r.NoSnippet = d.bool()
		case 11:
			r.FetchedAt = d.stamp()
		case 12:
			r.Digest = d.uint()
		case 13:
			r.ETag = d.str()
		case 14:
			r.LastModified = d.str()
		case 15:
			r.NotModified = d.bool()
		case 16:
			r.Kept = d.bool()
		case 17:
			r.Likeness = d.uint()
		default:
			d.skip()
		}
	}
}

// DecodePages decodes a batch of pages; the bodies are slices of b.
func DecodePages(b []byte) (pages []Page, err error) {
	d := newBodyDec(b)
	for f := d.next(); f != 0; f = d.next() {
		switch f {
		case 1:
			if err := checkVersion("pages", d.uint()); err != nil {
				return nil, err
			}
		case 2:
			pages = append(pages, Page{})
			d.msg(func() { d.page(&pages[len(pages)-1]) })
		default:
			d.skip()
		}
	}
	return pages, d.err("pages")
}

func (d *dec) page(p *Page) {
	for f := d.next(); f != 0; f = d.next() {
		switch f {
		case 1:
			p.URL = d.url()
		case 2:
			p.Visit = d.visitID()
		case 4:
			p.Status = d.int()
		case 5:
			p.FetchedAt = d.stamp()
		case 6:
			p.ContentType = d.str()
		case 7:
			p.Charset = d.str()
		case 8:
			p.Directives = DirectiveBits(d.uint())
		case 9:
			p.UnavailableAfter = d.stamp()
		case 10:
			p.Size = d.int64()
		case 11:
			copy(p.SHA256[:], d.bytes())
		case 12:
			p.Depth = d.int()
		case 13:
			p.FoundOn = d.url()
		case 14:
			p.ETag = d.str()
		case 15:
			p.LastModified = d.str()
		case 16:
			p.Encoding = Encoding(d.uint())
		case 17:
			p.Body = d.bytes()
		case 18:
			p.Deleted = Reason(d.str())
		case 19:
			p.Truncated = d.bool()
		case 20:
			p.Kind = PageKind(d.uint())
		case 21:
			p.Origin = d.origin()
		case 22:
			p.Fresh = d.dur()
		case 23:
			p.Scope = d.uint()
		case 24:
			p.Canonical = d.url()
		case 25:
			p.AliasOf = d.url()
		case 26:
			p.Renewed = d.bool()
		case 27:
			p.Tagged = d.bool()
		case 28:
			p.MetaDirectives = DirectiveBits(d.uint())
		case 29:
			p.MetaUnavailableAfter = d.stamp()
		case 30:
			p.Asked = d.url()
		default:
			d.skip()
		}
	}
}

func (d *dec) unheld() (u Unheld) {
	d.msg(func() {
		for f := d.next(); f != 0; f = d.next() {
			switch f {
			case 1:
				u.URL = d.url()
			case 2:
				u.Visit = d.visitID()
			default:
				d.skip()
			}
		}
	})
	return u
}
