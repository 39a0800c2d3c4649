// Package html is the one reader of HTML: tags, text, attributes, character references, and the
// charset of a page. What reads pages for links (htmlscan), for text (pagetext) or to compare them
// (likeness) stands on it, so that all of them agree on what a page says.
//
//	r := html.Reader{Page: page} // in UTF-8
//	for {
//		kind, val, attrs := r.Next()
//		…
//	}
//
// It reads broken markup as browsers do. Its tags, attributes and text are equal to those of
// golang.org/x/net/html, token by token; a fuzz test compares the two. Ours exists for speed: most
// of a page is attributes that nobody asks for, and here these are stepped over.
//
// XHTML and Markdown are rewritten as HTML first (Convert), so that no reader needs to know them.
//
// Compiled for wasip1, it has no charsets and no Markdown, whose tables and parser would make a
// mobile robot (internal/mobile/pagereader) half as large again.
//
// No function here allocates more than a small multiple of its input, or takes more than linear
// time. None fails: what cannot be read is passed over. A Reader is for one goroutine; functions
// may be called concurrently.
package html
