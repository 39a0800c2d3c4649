package document

import (
	"encoding/xml"
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
)

// EPUB (version 2 and 3): a zip file with a package document, which lists the chapters in their
// order, and the chapters in XHTML.

// book is what the package document of a book has.
type book struct {
	title, lang string
	files       map[string]string // by id; the name of the part
	spine       []string          // ids, in the order of reading
}

// maxChapters is how many files of a book are remembered.
const maxChapters = 10_000

func readEPUB(w *writer, f File) error {
	p, err := openParts(f.Body)
	if err != nil {
		return err
	}
	main := ""
	if err := p.walk("META-INF/container.xml", handlers{start: func(e xml.StartElement) error {
		if e.Name.Local == "rootfile" && main == "" {
			main = attribute(e, "full-path")
		}
		return nil
	}}); err != nil {
		return err
	}
	b, err := p.book(main)
	if err != nil {
		return err
	}
	w.setTitle(b.title)
	w.lang = strings.TrimSpace(b.lang)
	locked, err := p.locked()
	if err != nil {
		return err
	}
	lost := false // parts of the book; the other chapters count
	for i, id := range b.spine {
		part := b.files[id]
		switch {
		case i >= w.lim.Pages:
			return errFull
		case part == "":
			continue
		case slices.Contains(locked, part):
			return ErrEncrypted
		}
		c := chapter{w: w}
		err := p.walk(part, handlers{start: c.start, end: c.end, text: c.text})
		w.end()
		switch {
		case errors.As(err, new(*xml.SyntaxError)), errors.Is(err, errMissing), errors.Is(err, errDeep):
			lost = true
		case err != nil:
			return err
		}
	}
	w.cut = w.cut || lost
	return nil
}

// book reads the package document.
func (p *parts) book(main string) (b book, err error) {
	b.files = map[string]string{}
	in := ""
	err = p.walk(main, handlers{
		start: func(e xml.StartElement) error {
			in = e.Name.Local
			switch {
			case in == "item" && len(b.files) < maxChapters:
				b.files[attribute(e, "id")] = inside(main, attribute(e, "href"))
			case in == "itemref" && len(b.spine) < maxChapters:
				b.spine = append(b.spine, attribute(e, "idref"))
			}
			return nil
		},
		end: func(name string) error {
			if in = ""; name == "title" && b.title != "" {
				b.title += "\n" // further titles are subtitles
			}
			return nil
		},
		text: func(s string) error {
			switch {
			case in == "title" && !strings.Contains(b.title, "\n") && len(b.title) < maxTitle:
				b.title += s
			case in == "language" && b.lang == "" && len(s) < maxTitle:
				b.lang = s
			}
			return nil
		},
	})
	if err == nil && len(b.spine) == 0 {
		err = fmt.Errorf("%w: %s lists no chapters", errMissing, main)
	}
	return b, err
}

// inside is the name of the part to which a reference in another part leads.
func inside(from, href string) string {
	href, _, _ = strings.Cut(href, "#")
	if name, err := url.PathUnescape(href); err == nil {
		href = name
	}
	return path.Join(path.Dir(from), href)
}

// locked are the names of the parts that are encrypted. Often these are only fonts.
func (p *parts) locked() (names []string, err error) {
	err = p.walk("META-INF/encryption.xml", handlers{start: func(e xml.StartElement) error {
		if e.Name.Local == "CipherReference" && len(names) < maxChapters {
			names = append(names, inside("x", attribute(e, "URI")))
		}
		return nil
	}})
	if errors.Is(err, errMissing) || errors.As(err, new(*xml.SyntaxError)) {
		err = nil
	}
	return names, err
}

// chapter writes what the elements of XHTML mean.
type chapter struct {
	w    *writer
	body bool
	off  int // open elements whose text is not shown
}

func (c *chapter) start(e xml.StartElement) error {
	switch name := strings.ToLower(e.Name.Local); name {
	case "body":
		c.body = true
	case "script", "style", "template", "rt", "rp", "head":
		c.off++
	case "h1", "h2", "h3", "h4", "h5", "h6":
		c.w.begin(name)
	case "p", "li", "dt", "dd", "tr", "div", "section", "article", "aside", "blockquote", "pre", "figure", "figcaption", "caption", "table", "ul", "ol", "dl", "hr":
		c.w.begin("p")
	case "br", "td", "th", "img":
		c.w.gap()
	case "a":
		// Other references lead to chapters, which have no addresses of their own.
		if href := attribute(e, "href"); c.body && c.off == 0 && (hasFold(href, "http://") || hasFold(href, "https://")) {
			c.w.startLink(href)
		}
	}
	return nil
}

func (c *chapter) end(name string) error {
	switch strings.ToLower(name) {
	case "body":
		c.body = false
	case "script", "style", "template", "rt", "rp", "head":
		c.off = max(0, c.off-1)
	case "h1", "h2", "h3", "h4", "h5", "h6", "p", "li", "dt", "dd", "tr", "div", "section", "article", "aside", "blockquote", "pre", "figure", "figcaption", "caption":
		c.w.end()
	case "a":
		c.w.endLink()
	}
	return nil
}

func (c *chapter) text(s string) error {
	if !c.body || c.off > 0 {
		return nil
	}
	return c.w.say(s)
}
