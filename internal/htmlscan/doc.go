// Package htmlscan reads what a crawler needs to know of a page in one tokenizer pass: where its
// links lead, what its robots tags ask, and which marks in its head speak of its use. It builds no
// tree.
//
//	var s htmlscan.Scanner // one per goroutine, reused page after page
//	r := s.Scan(htmlscan.Page{
//		URL: u, Body: body, ContentType: header, HTML: true, Token: "examplebot",
//	})
//	for _, link := range r.Links { … }
//
// Links are those of a, area, link (only relations that name another page: next, canonical,
// alternate, …, and descriptions of this one as linked data), frame, iframe and meta refresh,
// resolved against the first <base>, canonical, each once, never the page itself. What is marked
// rel=nofollow is left out, and everything is when the page or its headers say nofollow. Content of
// <template> is not markup, as for a browser; that of <noscript> is, since we run no scripts.
//
// The tokenizer is our own, for speed, and equal to that of golang.org/x/net/html to the token:
// a fuzz test says so.
//
// Bytes in, answers out: no network, no clock, no errors. A page is what it is, and whatever cannot
// be read is skipped.
package htmlscan
