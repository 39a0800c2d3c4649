package crawl

import "github.com/curtsy/curtsy/pkg/usage"

// The fields of each message, with their numbers in crawl.proto. The same list writes and reads;
// see codec. Those of Answer are in auxrequest.go.

func (t *VisitRequest) fields(c *codec) {
	c.text(1, &t.Fetcher)
	c.int(2, &t.Max)
	c.bool(3, &t.Downloads)
	c.origin(4, &t.Origin)
	c.int(5, &t.Slots)
	c.text(6, (*string)(&t.For))
}

func (g *Grants) fields(c *codec) {
	c.version(1)
	for v := range each(c, 2, &g.Visits) {
		v.fields(c)
	}
	c.duration(3, &g.Wait)
	c.stamp(4, &g.Now)
}

func (v *Visit) fields(c *codec) {
	v.ID.field(c, 1)
	c.int(2, &v.Shard)
	c.host(3, &v.Host)
	for u := range each(c, 4, &v.URLs) {
		u.fields(c)
	}
	for r := range each(c, 5, &v.Robots) {
		r.fields(c)
	}
	for e := range each(c, 6, &v.Aux) {
		e.fields(c)
	}
	c.duration(7, &v.Delay)
	c.duration(9, &v.Lease)
	c.bool(10, &v.Hurried)
	c.text(11, &v.DelaySource)
	c.bool(12, &v.NewAddress)
}

func (u *VisitURL) fields(c *codec) {
	c.url(1, &u.URL)
	c.url(2, &u.FoundOn)
	c.int(3, &u.Depth)
	c.int(4, &u.Redirects)
	c.int(5, &u.Attempts)
	c.text(6, &u.ETag)
	c.text(7, &u.LastModified)
	c.bool(8, &u.Keep)
	c.text(9, &u.Failed)
}

// field is the whole nested message. It is omitted for the zero VisitID.
func (v *VisitID) field(c *codec, field int) {
	if c.at == writing && v.IsZero() {
		return
	}
	if c.at == field {
		*v = VisitID{}
	}
	for range c.one(field) {
		c.uint(1, &v.Epoch)
		c.uint(2, &v.N)
	}
}

func visitIDs(c *codec, field int, all *[]VisitID) {
	for i := range *all {
		if c.at == writing {
			(*all)[i].field(c, field)
		}
	}
	for c.at == field {
		*all = append(*all, VisitID{})
		(*all)[len(*all)-1].field(c, field)
	}
}

func (r *Renew) fields(c *codec) {
	c.text(1, &r.Fetcher)
	visitIDs(c, 2, &r.Visits)
}

func (r *Renewed) fields(c *codec) {
	visitIDs(c, 1, &r.Lost)
	c.duration(2, &r.Lease)
}

func (r *Robots) fields(c *codec) {
	c.origin(1, &r.Origin)
	c.enum(2, (*uint8)(&r.State))
	c.int(3, &r.Status)
	c.bytes(4, &r.Body)
	c.bytes(5, &r.Digest)
	c.duration(6, &r.Age)
	c.duration(7, &r.Fresh)
	c.duration(8, &r.CrawlDelay)
	c.text(9, &r.ETag)
	c.text(10, &r.LastModified)
	c.text(11, &r.Reason)
	c.text(12, &r.Location)
	c.duration(13, &r.RetryAfter)
	c.bool(14, &r.HasCrawlDelay)
	c.bool(16, &r.Renewed)
	c.int(17, &r.Redirects)
	c.bool(18, &r.ProbeData)
	for a := range each(c, 19, &r.Rights) {
		a.fields(c)
	}
}

func (a *RightsFile) fields(c *codec) {
	c.url(1, &a.URL)
	c.enum(2, (*uint8)(&a.State))
	c.bytes(3, &a.Body)
	c.bytes(4, &a.Digest)
	c.duration(5, &a.Fresh)
	c.text(6, &a.Reason)
}

func (p *Probe) fields(c *codec) {
	c.origin(1, &p.Origin)
	c.enum(2, (*uint8)(&p.State))
	c.int(3, &p.Status)
	c.duration(4, &p.Fresh)
	c.text(5, &p.Reason)
	c.text(6, &p.Location)
	c.int(7, &p.Redirects)
}

func (r *AuxRequest) fields(c *codec) {
	c.enum(1, (*uint8)(&r.Kind))
	c.url(2, &r.URL)
	c.origin(3, &r.Origin)
	c.int(4, &r.Hop)
	c.int(5, &r.ReplyShard)
	c.text(6, &r.ETag)
	c.text(7, &r.LastModified)
	c.text(8, &r.Form)
	c.url(9, &r.About)
}

func (f *Feed) fields(c *codec) {
	c.int(1, &f.Status)
	c.bool(2, &f.Read)
	c.bool(3, &f.NotModified)
	c.bool(4, &f.Again)
	c.text(5, &f.Reason)
	c.int(6, &f.Entries)
	c.int(7, &f.Skipped)
	c.uint(8, &f.Digest)
	c.text(9, &f.ETag)
	c.text(10, &f.LastModified)
	c.uint(11, &f.Scope)
	c.duration(12, &f.MinInterval)
	c.url(13, &f.Hub)
	c.url(14, &f.Self)
}

func (m *Claim) fields(c *codec) {
	c.enum(1, (*uint8)(&m.Kind))
	c.origin(2, &m.Target)
	c.bytes(3, &m.Digest)
	c.text(4, &m.Reason)
	c.origin(5, &m.Main)
	c.int(6, &m.URLs)
	c.int(7, &m.Led)
}

func (s *Sample) fields(c *codec) {
	c.int(1, &s.Status)
	c.uint(2, &s.Digest)
	c.uint(3, &s.Likeness)
	c.text(4, &s.Reason)
	c.text(5, &s.Location)
	c.enum(6, &s.Directives)
	c.text(7, &s.Type)
	c.stamp(8, &s.Modified)
	c.bool(9, &s.Again)
}

func (s *Sitemap) fields(c *codec) {
	c.int(1, &s.Status)
	c.bool(2, &s.Read)
	c.bool(3, &s.NotModified)
	c.text(4, &s.Form)
	c.int(5, &s.Entries)
	c.int(6, &s.Skipped)
	c.text(7, &s.ETag)
	c.text(8, &s.LastModified)
	c.text(9, &s.Reason)
	c.bool(10, &s.Again)
	c.uint(11, &s.Scope)
}

func (r *RUP) fields(c *codec) {
	c.int(1, &r.Status)
	c.text(2, &r.Reason)
	c.bool(3, &r.Retry)
	c.duration(4, &r.RetryAfter)
	c.bytes(5, &r.Body)
	c.duration(6, &r.Fresh)
	c.text(7, &r.Key)
	c.uint(8, &r.Sequence)
	c.int(9, &r.Entries)
	c.int(10, &r.Refused)
}

func (ev *Event) fields(c *codec) {
	since := uint64(1)
	if ev.Forward {
		since = 2
	}
	c.versionSince(1, since)
	ev.Visit.field(c, 2)
	for l := range each(c, 3, &ev.Links) {
		l.fields(c)
	}
	for r := range each(c, 4, &ev.Robots) {
		r.fields(c)
	}
	if c.at == 5 {
		ev.Outcome = new(Outcome)
	}
	if o := ev.Outcome; o != nil {
		for range c.one(5) {
			o.fields(c)
		}
	}
	for e := range each(c, 6, &ev.Aux) {
		e.fields(c)
	}
	for a := range each(c, 7, &ev.Answers) {
		a.fields(c)
	}
	texts(c, 8, &ev.StoreFailed)
	c.text(9, &ev.Fetcher)
	for p := range each(c, 10, &ev.Probes) {
		p.fields(c)
	}
	c.text(11, &ev.StoreLost)
	for u := range each(c, 12, &ev.Missing) {
		u.fields(c)
	}
	for u := range each(c, 13, &ev.Removed) {
		u.fields(c)
	}
	for r := range each(c, 14, &ev.Reports) {
		r.fields(c)
	}
	texts(c, 15, &ev.Retry)
	for u := range each(c, 16, &ev.Unreadable) {
		u.fields(c)
	}
	for t := range each(c, 17, &ev.Traces) {
		t.fields(c)
	}
	texts(c, 18, &ev.Refetch)
	for a := range each(c, 19, &ev.Audits) {
		a.fields(c)
	}
	c.bool(20, &ev.Forward)
	for t := range each(c, 21, &ev.Reported) {
		t.fields(c)
	}
	for w := range each(c, 22, &ev.WebSub) {
		w.fields(c)
	}
	for u := range each(c, 23, &ev.Skipped) {
		u.fields(c)
	}
}

func (w *WebSub) fields(c *codec) {
	c.url(1, &w.Topic)
	c.int(2, &w.N)
	c.text(3, &w.Mode)
	c.duration(4, &w.Lease)
	c.text(5, &w.Reason)
	c.stamp(6, &w.Received)
	texts(c, 7, &w.URLs)
	c.numbers(8, &w.Mods)
}

func (a *Audit) fields(c *codec) {
	c.text(1, &a.ID)
	c.stamp(2, &a.At)
	c.text(3, &a.Who)
	c.text(4, &a.From)
	c.text(5, &a.Action)
	c.text(6, &a.What)
	c.text(7, &a.Detail)
	c.text(8, &a.Error)
}

func (u *Unheld) fields(c *codec) {
	c.url(1, &u.URL)
	u.Visit.field(c, 2)
	c.text(3, &u.Why)
	c.uint(4, &u.Rules)
}

func (l *Links) fields(c *codec) {
	c.url(1, &l.FoundOn)
	c.int(2, &l.Depth)
	c.int(3, &l.Redirects)
	texts(c, 4, &l.URLs)
	c.bool(5, &l.Seed)
	c.numbers(6, &l.Mods)
	c.enum(8, (*uint8)(&l.Source))
	c.bool(9, &l.Gone)
}

func (t *IndexNow) fields(c *codec) {
	c.origin(1, &t.Origin)
	c.text(2, &t.Key)
	c.url(3, &t.KeyURL)
	texts(c, 4, &t.URLs)
	c.stamp(5, &t.Received)
}

func (k *KeyFile) fields(c *codec) {
	c.text(1, &k.Key)
	c.text(2, &k.Reason)
	c.bool(3, &k.Again)
}

func (r *Report) fields(c *codec) {
	c.origin(1, &r.Origin)
	c.text(2, &r.Address)
	c.bool(3, &r.Index)
	c.uint(4, &r.Number)
	c.int(5, &r.Part)
	c.int(6, &r.Parts)
	c.stamp(7, &r.Received)
	for l := range each(c, 8, &r.Links) {
		l.fields(c)
	}
	c.int(9, &r.Refused)
	c.bool(10, &r.Truncated)
	c.url(11, &r.Confirm)
}

func (o *Outcome) fields(c *codec) {
	c.host(1, &o.Host)
	for r := range each(c, 2, &o.Results) {
		r.fields(c)
	}
	c.duration(3, &o.Delay)
	c.duration(4, &o.SinceEnd)
	c.duration(5, &o.RetryAfter)
	c.int(6, &o.Requests)
	c.int(7, &o.Overloads)
	c.int(8, &o.Timeouts)
	for e := range each(c, 9, &o.Done) {
		e.fields(c)
	}
	c.bool(10, &o.Private)
	c.long(11, &o.Bytes)
	c.bool(12, &o.Partial)
	c.duration(13, &o.NotBefore)
	c.text(14, &o.Block)
}

func (r *Result) fields(c *codec) {
	c.url(1, &r.URL)
	c.enum(2, (*uint8)(&r.Class))
	c.reason(3, &r.Reason)
	c.int(4, &r.Status)
	c.int(5, &r.Line)
	c.text(6, &r.Rule)
	c.text(7, &r.Location)
	c.long(8, &r.Bytes)
	c.duration(9, &r.Took)
	c.bool(10, &r.NoSnippet)
	c.stamp(11, &r.FetchedAt)
	c.uint(12, &r.Digest)
	c.text(13, &r.ETag)
	c.text(14, &r.LastModified)
	c.bool(15, &r.NotModified)
	c.bool(16, &r.Kept)
	c.uint(17, &r.Likeness)
	c.uint(18, &r.Rules)
	c.enum(19, (*uint8)(&r.Rendering))
}

func (p *Page) fields(c *codec) {
	c.url(1, &p.URL)
	p.Visit.field(c, 2)
	c.int(4, &p.Status)
	c.stamp(5, &p.FetchedAt)
	c.text(6, &p.ContentType)
	c.text(7, &p.Charset)
	c.enum(8, (*uint8)(&p.Directives))
	c.stamp(9, &p.UnavailableAfter)
	c.long(10, &p.Size)
	c.digest(11, &p.SHA256)
	c.int(12, &p.Depth)
	c.url(13, &p.FoundOn)
	c.text(14, &p.ETag)
	c.text(15, &p.LastModified)
	c.enum(16, (*uint8)(&p.Encoding))
	c.bytes(17, &p.Body)
	c.reason(18, &p.Deleted)
	c.bool(19, &p.Truncated)
	c.enum(20, (*uint8)(&p.Kind))
	c.origin(21, &p.Origin)
	c.duration(22, &p.Fresh)
	c.uint(23, &p.Scope)
	c.url(24, &p.Canonical)
	c.url(25, &p.AliasOf)
	c.bool(26, &p.Renewed)
	c.bool(27, &p.Tagged)
	c.enum(28, (*uint8)(&p.MetaDirectives))
	c.stamp(29, &p.MetaUnavailableAfter)
	c.url(30, &p.Asked)
	c.int(31, &p.MaxSnippet)
	c.int(32, &p.MetaMaxSnippet)
	for st := range each(c, 33, (*[]usage.Statement)(&p.Usage)) {
		statementFields(st, c)
	}
	c.enum(34, (*uint8)(&p.Purposes))
	c.text(35, &p.Vary)
	c.int(36, &p.Part)
	c.int(37, &p.Parts)
	if c.at == 38 {
		p.Capture = new(Capture)
	}
	if m := p.Capture; m != nil {
		for range c.one(38) {
			m.fields(c)
		}
	}
	if c.at == 39 {
		p.Head = new(Head)
	}
	if h := p.Head; h != nil {
		for range c.one(39) {
			h.fields(c)
		}
	}
	c.bytes(40, &p.Signposts)
	if c.at == 41 {
		p.Ruled = new(Ruled)
	}
	if r := p.Ruled; r != nil {
		for range c.one(41) {
			r.fields(c)
		}
	}
	c.enum(42, (*uint8)(&p.Rendering))
}

func (a *Ruled) fields(c *codec) {
	c.uint(1, &a.Rules)
	c.uint(2, &a.Content)
	c.text(3, &a.Title)
	c.text(4, &a.Description)
	for f := range each(c, 5, (*[]Field)(&a.Fields)) {
		f.fields(c)
	}
}

func (f *Field) fields(c *codec) {
	c.text(1, &f.Name)
	c.enum(2, (*uint8)(&f.Type))
	c.bool(3, &f.Many)
	texts(c, 4, &f.Values)
}

func (h *Head) fields(c *codec) {
	c.text(1, &h.Title)
	c.text(2, &h.Lang)
}

func (m *Capture) fields(c *codec) {
	c.int(1, &m.Number)
	c.bytes(2, &m.Request)
	c.bytes(3, &m.Response)
	c.enum(4, (*uint8)(&m.Encoding))
	c.bool(5, &m.OfPage)
	c.bool(6, &m.Cut)
	c.text(7, &m.IP)
	c.duration(8, &m.Took)
	c.bytes(9, &m.Links)
	c.word(10, &m.CRC)
	c.enum(11, (*uint8)(&m.CutBy))
	c.text(12, &m.Type)
}

func statementFields(s *usage.Statement, c *codec) {
	c.text(1, &s.From)
	c.int(2, &s.Line)
	c.text(3, &s.Text)
	says := s.Preferences.Bits()
	c.enum(4, &says)
	s.Preferences = usage.PreferencesOf(says)
	c.bool(5, &s.Inferred)
}
