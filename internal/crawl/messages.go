package crawl

import "slices"

// The Append functions add the encoding of their argument to b and return the longer slice. The
// Decode functions read what the Append functions wrote. Strings are copies. Byte slices (bodies,
// digests) point into the message, so it must not change while they are in use.

// AppendVisitRequest encodes a VisitRequest.
func AppendVisitRequest(b []byte, m VisitRequest) []byte {
	c := writer(b)
	m.fields(&c)
	return c.out
}

// DecodeVisitRequest decodes a VisitRequest.
func DecodeVisitRequest(b []byte) (m VisitRequest, err error) {
	c := reader(b)
	for c.more() {
		m.fields(&c)
	}
	return m, c.err("take")
}

// AppendGrants encodes Grants.
func AppendGrants(b []byte, m Grants) []byte {
	c := writer(b)
	m.fields(&c)
	return c.out
}

// DecodeGrants decodes Grants.
func DecodeGrants(b []byte) (m Grants, err error) {
	c := reader(b)
	for c.more() {
		m.fields(&c)
	}
	return m, c.err("grants")
}

// AppendRenew encodes a Renew.
func AppendRenew(b []byte, m Renew) []byte {
	c := writer(b)
	m.fields(&c)
	return c.out
}

// DecodeRenew decodes a Renew.
func DecodeRenew(b []byte) (m Renew, err error) {
	c := reader(b)
	for c.more() {
		m.fields(&c)
	}
	return m, c.err("renew")
}

// AppendRenewed encodes a Renewed.
func AppendRenewed(b []byte, m Renewed) []byte {
	c := writer(b)
	m.fields(&c)
	return c.out
}

// DecodeRenewed decodes a Renewed.
func DecodeRenewed(b []byte) (m Renewed, err error) {
	c := reader(b)
	for c.more() {
		m.fields(&c)
	}
	return m, c.err("renewed")
}

// AppendAuxRequest encodes an AuxRequest for storing it.
func AppendAuxRequest(b []byte, m AuxRequest) []byte {
	c := writer(b)
	m.fields(&c)
	return c.out
}

// DecodeAuxRequest decodes an AuxRequest.
func DecodeAuxRequest(b []byte) (m AuxRequest, err error) {
	c := reader(b)
	for c.more() {
		m.fields(&c)
	}
	return m, c.err("errand")
}

// AppendEvent encodes an Event.
func AppendEvent(b []byte, m *Event) []byte {
	c := writer(b)
	m.fields(&c)
	return c.out
}

// AppendLinks adds links to an event that consists of links only. An empty b begins an event.
func AppendLinks(b []byte, l *Links) []byte {
	if len(b) == 0 {
		b = AppendEvent(b, &Event{})
	}
	c := writer(b)
	for range c.one(3) {
		l.fields(&c)
	}
	return c.out
}

// DecodeEvent decodes an Event.
func DecodeEvent(b []byte) (m Event, err error) {
	c := reader(b)
	for c.more() {
		m.fields(&c)
	}
	return m, c.err("event")
}

// AppendPages encodes a batch of pages.
func AppendPages(b []byte, pages []Page) []byte {
	b = AppendPagesHeader(b, slices.ContainsFunc(pages, func(p Page) bool { return p.Capture != nil }))
	for i := range pages {
		b = AppendPage(b, &pages[i])
	}
	return b
}

// AppendPagesHeader begins a batch of pages, to which AppendPage adds pages one by one. captures
// says that some of the pages may have a Capture, which an older reader would treat as a page.
func AppendPagesHeader(b []byte, captures bool) []byte {
	since := uint64(1)
	if captures {
		since = 4
	}
	c := writer(b)
	c.versionSince(1, since)
	return c.out
}

// AppendPart encodes a batch of one page that is a part of a document, or a document in parts. It
// has the version of the first readers that know parts, because an older one would treat the part
// as the whole document.
func AppendPart(b []byte, p *Page) []byte {
	c := writer(b)
	c.versionSince(1, 3)
	return AppendPage(c.out, p)
}

// AppendPage adds one page to a batch begun with AppendPagesHeader.
func AppendPage(b []byte, p *Page) []byte {
	c := writer(b)
	for range c.one(2) {
		p.fields(&c)
	}
	return c.out
}

// DecodePages decodes a batch of pages. Their bodies are slices of b.
func DecodePages(b []byte) (pages []Page, err error) {
	c := bodyReader(b)
	for c.more() {
		c.version(1)
		for p := range each(&c, 2, &pages) {
			p.fields(&c)
		}
	}
	for i := range pages {
		if r := pages[i].Ruled; r != nil {
			r.limit()
		}
	}
	return pages, c.err("pages")
}
