// Package htmlscan finds in a page what a crawler needs: where its links lead, what its robots tags
// request, and which marks in its head are about the use of the page. It reads the page once and
// builds no tree.
//
//	var s htmlscan.Scanner // one per goroutine, reused page after page
//	r := s.Scan(htmlscan.Page{
//		URL: u, Body: body, ContentType: header, HTML: true, Token: "examplebot",
//	})
//	for _, link := range r.Links { … }
//
// Links are those of a, area, link, frame, iframe and meta refresh. Of link elements only relations
// count that lead to another page (next, canonical, alternate, …), and descriptions of this page as
// linked data. Links are resolved against the first <base> and canonicalised. Each occurs once, and
// the page itself never does. Links with rel=nofollow are left out; so are all links if the page or
// its headers request nofollow. The content of <template> is no markup, as in a browser. The
// content of <noscript> is markup, because Curtsy runs no scripts.
//
// Scan uses no network and no clock, and it never fails: what cannot be read is skipped. Package
// html reads the tags.
package htmlscan
