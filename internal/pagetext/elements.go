package pagetext

// element is what Read needs to know about the name of a tag. It is inline for the many names that
// change nothing, such as span, em and code.
type element uint8

const (
	inline element = iota
	elementA
	elementBase
	elementBlock // ends the line, and does nothing else
	elementBody
	elementHTML
	elementImg
	elementMeta
	elementPara // a block that cannot be in a heading: its start ends a heading that was not closed
	elementPre
	elementRaw // contains no markup: see html.Reader.Raw
	elementSpace
	elementSVG
	elementTemplate
	elementTime
	elementTitle
	elementH1
	elementH2
	elementH3
	elementH4
	elementH5
	elementH6

	// The following elements make the layout of a page. Their nesting is tracked.
	elementArticle
	elementAside
	elementDetails
	elementDiv
	elementDL
	elementFooter
	elementForm
	elementHeader
	elementMain
	elementMenu
	elementNav
	elementOL
	elementSection
	elementTable
	elementUL
	elements
)

// follows reports whether open elements of this kind are on the stack.
func (e element) follows() bool { return e >= elementArticle }

// heading returns the level of h1 to h6, and 0 for other elements.
func (e element) heading() int {
	if elementH1 <= e && e <= elementH6 {
		return int(e-elementH1) + 1
	}
	return 0
}

// breaks reports whether a tag of the element ends the line. Extractor.separate must agree.
func (e element) breaks() bool {
	switch e {
	case elementBlock, elementBody, elementPara, elementPre:
		return true
	}
	return e.heading() > 0 || e.follows()
}

// elementOf returns the element with a name, which is in lower case.
func elementOf(name []byte) element {
	switch string(name) {
	case "a":
		return elementA
	case "base":
		return elementBase
	case "body":
		return elementBody
	case "html":
		return elementHTML
	case "img":
		return elementImg
	case "meta":
		return elementMeta
	case "pre":
		return elementPre
	case "svg":
		return elementSVG
	case "template":
		return elementTemplate
	case "time":
		return elementTime
	case "title":
		return elementTitle
	case "h1":
		return elementH1
	case "h2":
		return elementH2
	case "h3":
		return elementH3
	case "h4":
		return elementH4
	case "h5":
		return elementH5
	case "h6":
		return elementH6
	case "article":
		return elementArticle
	case "aside":
		return elementAside
	case "div":
		return elementDiv
	case "details":
		return elementDetails
	case "dl":
		return elementDL
	case "footer":
		return elementFooter
	case "form":
		return elementForm
	case "header":
		return elementHeader
	case "main":
		return elementMain
	case "menu":
		return elementMenu
	case "nav":
		return elementNav
	case "ol":
		return elementOL
	case "section":
		return elementSection
	case "table":
		return elementTable
	case "ul":
		return elementUL
	case "p", "blockquote":
		return elementPara
	case "li", "br", "tr", "dt", "dd", "figure", "figcaption", "fieldset", "legend", "hr", "address", "summary",
		"caption", "thead", "tbody", "tfoot", "head", "center", "dir", "video", "audio", "object", "canvas":
		return elementBlock
	case "td", "th", "option", "input", "button", "label", "select":
		return elementSpace
	case "script", "style", "noscript", "iframe", "textarea", "noembed", "noframes", "xmp", "plaintext":
		return elementRaw
	}
	return inline
}
