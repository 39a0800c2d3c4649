package pages

import (
	"bytes"
	"strings"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/strikethrough"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// How a page becomes Markdown: it is written anew with the few elements and attributes that
// Markdown has a word for (rewriter), so that no page can make the tree builder work harder than
// its size allows; what stands around the main text is cut off the tree (pruner); a library writes
// the rest down.

// The most that Markdown is made of. A larger page, or one nested deeper than the parser goes,
// comes as its text alone.
const (
	maxMarkdownTags  = 50_000
	maxMarkdownBytes = 4 << 20 // of the page as it is written anew, addresses of links included
)

// toMarkdown is safe for concurrent use; it keeps nothing between pages.
// What its text would mean in Markdown is escaped before it comes to it (appendEscaped).
var toMarkdown = converter.NewConverter(converter.WithEscapeMode(converter.EscapeModeDisabled), converter.WithPlugins(
	base.NewBasePlugin(),
	commonmark.NewCommonmarkPlugin(commonmark.WithListEndComment(false), commonmark.WithHorizontalRule("---"),
		commonmark.WithLinkEmptyContentBehavior(commonmark.LinkBehaviorSkip)),
	strikethrough.NewStrikethroughPlugin(),
	table.NewTablePlugin(table.WithHeaderPromotion(true), table.WithCellPaddingBehavior(table.CellPaddingBehaviorMinimal),
		table.WithNewlineBehavior(table.NewlineBehaviorPreserve), table.WithSkipEmptyRows(true)),
))

// Markdown returns the main text of a page as CommonMark with tables, with addresses made absolute;
// body is its body, decoded but in its own charset. What says data-nosnippet is left out, with an
// ellipsis in its place. none reports that there is text, and none of it may be shown. A page
// without a heading of level 1 begins with its title as one. Anything may be passed. The result
// lives until the Extractor's next use.
func (x *Extractor) Markdown(p *Page, body []byte) (md []byte, none bool) {
	src := DecodeCharset(body, p.Charset)
	kind, src := readable(p.ContentType, src)
	if kind == "text/plain" {
		return bytes.TrimSpace(src), false
	}
	r := newRewriter(x, p)
	page, ok := r.page(src)
	if r.quiet.lost {
		return nil, true
	}
	if ok {
		if doc, err := html.Parse(bytes.NewReader(page)); err == nil {
			if r.hushed && !says(doc) {
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

// says reports whether anything is in a tree but ellipses in the place of what is not to be shown.
func says(doc *html.Node) bool {
	for n := range doc.Descendants() {
		if n.Type == html.TextNode && strings.Trim(n.Data, "… \t\r\n\f") != "" || n.DataAtom == atom.Img {
			return true
		}
	}
	return false
}
