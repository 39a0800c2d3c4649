package pages

// Content makes of an unpacked page what people and search read of it. It returns the body itself,
// with the type and charset of the page, if the page is read as it is.
type Content func(p *Page, body []byte) (contentType, charset string, content []byte)

// Readable is a page as people and search read it.
type Readable struct {
	ContentType, Charset string
	Body                 []byte
}

// Readable unpacks a page for people and search; everything that shows or indexes a page uses it.
// Unpack is for what keeps or copies the page as its site sent it. A nil content changes nothing.
// dst and the error are as with Unpack, and Body may be the next dst unless the page is not packed.
func (p *Page) Readable(dst []byte, content Content) (Readable, error) {
	body, err := p.Unpack(dst)
	if err != nil || content == nil {
		return Readable{p.ContentType, p.Charset, body}, err
	}
	var r Readable
	r.ContentType, r.Charset, r.Body = content(p, body)
	return r, nil
}
