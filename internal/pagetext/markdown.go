package pagetext

import (
	"bytes"
	"strings"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/strikethrough"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	nethtml "golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/curtsy/curtsy/internal/html"
	"github.com/curtsy/curtsy/pkg/canon"
)

// A page becomes Markdown in three steps. The rewriter writes the page again with only the elements
// and attributes that Markdown can express, so no page can make the tree builder work harder than
// its size allows. The pruner removes boilerplate from the tree. A library writes the tree as
// Markdown.

// The limits of a page that becomes Markdown. Of a larger page, or of one with deeper nesting than
// the parser accepts, Markdown returns the text alone.
const (
	maxMarkdownTags  = 50_000
	maxMarkdownBytes = 4 << 20 // of the rewritten page, addresses of links included
)

// toMarkdown is safe for concurrent use, because it keeps nothing between pages. It escapes
// nothing: the rewriter has already escaped text that would have a meaning in Markdown
// (appendEscaped).
var toMarkdown = converter.NewConverter(converter.WithEscapeMode(converter.EscapeModeDisabled), converter.WithPlugins(
	base.NewBasePlugin(),
	commonmark.NewCommonmarkPlugin(commonmark.WithListEndComment(false), commonmark.WithHorizontalRule("---"),
		commonmark.WithLinkEmptyContentBehavior(commonmark.LinkBehaviorSkip)),
	strikethrough.NewStrikethroughPlugin(),
	table.NewTablePlugin(table.WithHeaderPromotion(true), table.WithCellPaddingBehavior(table.CellPaddingBehaviorMinimal),
		table.WithNewlineBehavior(table.NewlineBehaviorPreserve), table.WithSkipEmptyRows(true)),
))

// Page is what Markdown needs to know about a page in addition to its body.
type Page struct {
	URL         canon.URL // the base of relative addresses
	ContentType string    // the media type alone, in lower case
	Charset     string    // of the body
	Title       string    // UTF-8; may be empty
}

// Markdown returns the main text of a page as CommonMark with tables and absolute addresses. body
// is decoded from its content coding, but in its own charset. Each element with data-nosnippet is
// replaced by an ellipsis. none means that the page has text, but none of it may be shown. A page
// without a heading of level 1 begins with its title as a heading. body may be any bytes. The
// result is valid until the next use of the Extractor.
func (x *Extractor) Markdown(p *Page, body []byte) (md []byte, none bool) {
	src := html.Decode(body, p.Charset)
	kind, src := html.Convert(p.ContentType, src)
	if kind == "text/plain" {
		return bytes.TrimSpace(src), false
	}
	r := newRewriter(x, p)
	page, ok := r.page(src)
	if r.quiet.lost {
		return nil, true
	}
	if ok {
		if doc, err := nethtml.Parse(bytes.NewReader(page)); err == nil {
			if r.hushed && !visibleIn(doc) {
				return nil, true
			}
			prune(doc, p.Title)
			if md, err := toMarkdown.ConvertNode(doc); err == nil {
				return angled(md), false
			}
		}
	}
	return x.Quotable(p.URL, kind, "utf-8", src)
}

// visibleIn reports whether a tree contains anything but ellipses in the place of hidden parts.
func visibleIn(doc *nethtml.Node) bool {
	for n := range doc.Descendants() {
		if n.Type == nethtml.TextNode && strings.Trim(n.Data, "… \t\r\n\f") != "" || n.DataAtom == atom.Img {
			return true
		}
	}
	return false
}
