package crawl

import "github.com/curtsy/curtsy/pkg/canon"

// The Append functions add the encoding of their argument to b and return the longer slice; they keep nothing of it.

// AppendTake encodes a Take.
func AppendTake(b []byte, t Take) []byte {
	e := enc{b}
	e.str(1, t.Fetcher)
	e.int(2, t.Max)
	e.bool(3, t.Downloads)
	e.str(4, origin(t.Origin))
	return e.b
}

// AppendGrants encodes Grants.
func AppendGrants(b []byte, g Grants) []byte {
	e := enc{b}
	e.uint(1, Version)
	for i := range g.Visits {
		e.msg(2, func() { e.visit(&g.Visits[i]) })
	}
	e.dur(3, g.Wait)
	return e.b
}

func (e *enc) visitID(field int, v VisitID) {
	if !v.IsZero() {
		e.msg(field, func() { e.uint(1, v.Epoch); e.uint(2, v.N) })
	}
}

func (e *enc) visit(v *Visit) {
	e.visitID(1, v.ID)
	e.int(2, v.Shard)
	e.str(3, string(v.Host))
	for i := range v.URLs {
		u := &v.URLs[i]
		e.msg(4, func() {
			e.str(1, string(u.URL))
			e.str(2, string(u.FoundOn))
			e.int(3, u.Depth)
			e.int(4, u.Hops)
			e.int(5, u.Attempts)
			e.str(6, u.ETag)
			e.str(7, u.LastModified)
			e.bool(8, u.Keep)
		})
	}
	for i := range v.Robots {
		e.msg(5, func() { e.robots(&v.Robots[i]) })
	}
	for i := range v.Errands {
		e.msg(6, func() { e.errand(&v.Errands[i]) })
	}
	e.dur(7, v.Delay)
	e.dur(8, v.NotBefore)
	e.dur(9, v.Lease)
	e.bool(10, v.Hurried)
}

// AppendRenew encodes a Renew.
func AppendRenew(b []byte, r Renew) []byte {
	e := enc{b}
	e.str(1, r.Fetcher)
	for _, v := range r.Visits {
		e.visitID(2, v)
	}
	return e.b
}

// AppendRenewed encodes a Renewed.
func AppendRenewed(b []byte, r Renewed) []byte {
	e := enc{b}
	for _, v := range r.Lost {
		e.visitID(1, v)
	}
	e.dur(2, r.Lease)
	return e.b
}

func origin(o canon.Origin) string {
	if o == (canon.Origin{}) {
		return ""
	}
	return o.String()
}

func (e *enc) robots(r *Robots) {
	e.str(1, origin(r.Origin))
	e.uint(2, uint64(r.State))
	e.int(3, r.Status)
	e.bytes(4, r.Body)
	e.bytes(5, r.Digest)
	e.dur(6, r.Age)
	e.dur(7, r.Fresh)
	e.dur(8, r.CrawlDelay)
	e.str(9, r.ETag)
	e.str(10, r.LastModified)
	e.str(11, r.Reason)
	e.str(12, r.Location)
	e.dur(13, r.RetryAfter)
	e.bool(14, r.HasCrawlDelay)
	e.bool(15, r.Answered)
	e.bool(16, r.Renewed)
	e.int(17, r.Hops)
	e.bool(18, r.ProbeData)
}

func (e *enc) probe(p *Probe) {
	e.str(1, origin(p.Origin))
	e.uint(2, uint64(p.State))
	e.int(3, p.Status)
	e.dur(4, p.Fresh)
	e.str(5, p.Reason)
	e.str(6, p.Location)
	e.int(7, p.Hops)
}

func (e *enc) errand(r *Errand) {
	e.uint(1, uint64(r.Kind))
	e.str(2, string(r.URL))
	e.str(3, origin(r.Origin))
	e.int(4, r.Hop)
	e.int(5, r.ReplyShard)
	e.str(6, r.ETag)
	e.str(7, r.LastModified)
	e.str(8, r.Form)
}

func (e *enc) claim(c *Claim) {
	e.uint(1, uint64(c.Kind))
	e.str(2, origin(c.Target))
	e.bytes(3, c.Digest)
	e.str(4, c.Reason)
	e.str(5, origin(c.Main))
	e.int(6, c.URLs)
	e.int(7, c.Led)
}

func (e *enc) sample(s *Sample) {
	e.int(1, s.Status)
	e.uint(2, s.Digest)
	e.uint(3, s.Likeness)
	e.str(4, s.Reason)
	e.str(5, s.Location)
}

func (e *enc) links(l *Links) {
	e.str(1, string(l.FoundOn))
	e.int(2, l.Depth)
	e.int(3, l.Hops)
	for _, u := range l.URLs {
		e.elem(4, string(u))
	}
	e.bool(5, l.Seed)
	e.uints(6, l.Mods)
	e.str(7, string(l.Via))
	e.uint(8, uint64(l.Source))
	e.bool(9, l.Gone)
}

func (e *enc) rup(r *RUP) {
	e.int(1, r.Status)
	e.str(2, r.Reason)
	e.bool(3, r.Retry)
	e.dur(4, r.RetryAfter)
	e.bytes(5, r.Body)
	e.dur(6, r.Fresh)
	e.str(7, r.Key)
	e.uint(8, r.Sequence)
	e.int(9, r.Entries)
	e.int(10, r.Refused)
}

func (e *enc) report(r *Report) {
	e.str(1, origin(r.Origin))
	e.str(2, r.Address)
	e.bool(3, r.Index)
	e.uint(4, r.Number)
	e.int(5, r.Part)
	e.int(6, r.Parts)
	e.stamp(7, r.Received)
	for i := range r.Links {
		e.msg(8, func() { e.links(&r.Links[i]) })
	}
	e.int(9, r.Refused)
	e.bool(10, r.Truncated)
}

func (e *enc) sitemap(s *Sitemap) {
	e.int(1, s.Status)
	e.bool(2, s.Read)
	e.bool(3, s.NotModified)
	e.str(4, s.Form)
	e.int(5, s.Entries)
	e.int(6, s.Skipped)
	e.str(7, s.ETag)
	e.str(8, s.LastModified)
	e.str(9, s.Reason)
	e.bool(10, s.Again)
	e.uint(11, s.Scope)
}

// AppendErrand encodes one Errand, for storing it.
func AppendErrand(b []byte, r Errand) []byte {
	e := enc{b}
	e.errand(&r)
	return e.b
}

// AppendRobots encodes one Robots fact, for storing it.
func AppendRobots(b []byte, r Robots) []byte {
	e := enc{b}
	e.robots(&r)
	return e.b
}

// AppendEvent encodes an Event.
func AppendEvent(b []byte, ev *Event) []byte {
	e := enc{b}
	e.uint(1, Version)
	e.visitID(2, ev.Visit)
	for i := range ev.Links {
		e.msg(3, func() { e.links(&ev.Links[i]) })
	}
	for i := range ev.Robots {
		e.msg(4, func() { e.robots(&ev.Robots[i]) })
	}
	if ev.Outcome != nil {
		e.msg(5, func() { e.outcome(ev.Outcome) })
	}
	for i := range ev.Errands {
		e.msg(6, func() { e.errand(&ev.Errands[i]) })
	}
	for i := range ev.Answers {
		e.msg(7, func() {
			e.msg(1, func() { e.errand(&ev.Answers[i].Errand) })
			e.msg(2, func() { e.robots(&ev.Answers[i].Robots) })
			e.msg(3, func() { e.probe(&ev.Answers[i].Probe) })
			e.msg(4, func() { e.claim(&ev.Answers[i].Claim) })
			e.msg(5, func() { e.sample(&ev.Answers[i].Sample) })
			e.msg(6, func() { e.sitemap(&ev.Answers[i].Sitemap) })
			e.msg(7, func() { e.rup(&ev.Answers[i].RUP) })
		})
	}
	for _, u := range ev.StoreFailed {
		e.elem(8, u)
	}
	e.str(9, ev.Fetcher)
	for i := range ev.Probes {
		e.msg(10, func() { e.probe(&ev.Probes[i]) })
	}
	e.str(11, ev.StoreLost)
	e.unheld(12, ev.Missing)
	e.unheld(13, ev.Removed)
	for i := range ev.Reports {
		e.msg(14, func() { e.report(&ev.Reports[i]) })
	}
	return e.b
}

func (e *enc) outcome(o *Outcome) {
	e.str(1, string(o.Host))
	for i := range o.Results {
		e.msg(2, func() { e.result(&o.Results[i]) })
	}
	e.dur(3, o.Delay)
	e.dur(4, o.SinceEnd)
	e.dur(5, o.RetryAfter)
	e.int(6, o.Requests)
	e.int(7, o.Overloads)
	e.int(8, o.Timeouts)
	for i := range o.Done {
		e.msg(9, func() { e.errand(&o.Done[i]) })
	}
	e.bool(10, o.Private)
	e.uint(11, uint64(max(o.Bytes, 0)))
	e.bool(12, o.Partial)
}

func (e *enc) result(r *Result) {
	e.str(1, string(r.URL))
	e.uint(2, uint64(r.Class))
	e.str(3, string(r.Reason))
	e.int(4, r.Status)
	e.int(5, r.Line)
	e.str(6, r.Rule)
	e.str(7, r.Location)
	e.uint(8, uint64(max(r.Bytes, 0)))
	e.dur(9, r.Took)
	e.bool(10, r.NoSnippet)
	e.stamp(11, r.FetchedAt)
	e.uint(12, r.Digest)
	e.str(13, r.ETag)
	e.str(14, r.LastModified)
	e.bool(15, r.NotModified)
	e.bool(16, r.Kept)
	e.uint(17, r.Likeness)
}

// AppendPages encodes a batch of pages.
func AppendPages(b []byte, pages []Page) []byte {
	b = AppendPagesHeader(b)
	for i := range pages {
		b = AppendPage(b, &pages[i])
	}
	return b
}

// AppendPagesHeader begins a batch of pages that AppendPage continues, for senders that batch as they go.
func AppendPagesHeader(b []byte) []byte {
	e := enc{b}
	e.uint(1, Version)
	return e.b
}

// AppendPage adds one page to a batch begun with AppendPagesHeader.
func AppendPage(b []byte, p *Page) []byte {
	e := enc{b}
	e.msg(2, func() {
		e.str(1, string(p.URL))
		e.visitID(2, p.Visit)
		e.int(4, p.Status)
		e.stamp(5, p.FetchedAt)
		e.str(6, p.ContentType)
		e.str(7, p.Charset)
		e.uint(8, uint64(p.Directives))
		e.stamp(9, p.UnavailableAfter)
		e.uint(10, uint64(max(p.Size, 0)))
		if p.SHA256 != [32]byte{} {
			e.bytes(11, p.SHA256[:])
		}
		e.int(12, p.Depth)
		e.str(13, string(p.FoundOn))
		e.str(14, p.ETag)
		e.str(15, p.LastModified)
		e.uint(16, uint64(p.Encoding))
		e.bytes(17, p.Body)
		e.str(18, string(p.Deleted))
		e.bool(19, p.Truncated)
		e.uint(20, uint64(p.Kind))
		e.str(21, origin(p.Origin))
		e.dur(22, p.Fresh)
		e.uint(23, p.Scope)
		e.str(24, string(p.Canonical))
		e.str(25, string(p.AliasOf))
		e.bool(26, p.Renewed)
		e.bool(27, p.Tagged)
		e.uint(28, uint64(p.MetaDirectives))
		e.stamp(29, p.MetaUnavailableAfter)
		e.str(30, string(p.Asked))
	})
	return e.b
}

func (e *enc) unheld(field int, all []Unheld) {
	for _, u := range all {
		e.msg(field, func() {
			e.str(1, string(u.URL))
			e.visitID(2, u.Visit)
		})
	}
}
