package simweb

import "strings"

// markup adds every element that can have a link, and the different spellings of links.
func (s features) markup() {
	leaf := func(path string) anchor {
		s.add(s.page(path, doc{text: "The end of an unusual link."}))
		return s.to(path)
	}
	with := func(a anchor, markup string) anchor { a.markup = markup; return a }
	spelled := func(href, path string) anchor { a := leaf(path); a.href = href; return a }

	frames := []anchor{
		with(leaf("/frames/left.html"), `<frame src="%">`),
		with(spelled("frames/right.html", "/frames/right.html"), `<frame src='%'>`),
	}
	s.enter(&resource{path: "/frames.html", want: Expectation{Class: Stored}, links: frames, answer: func(_ *request, buf *buffer) reply {
		b := append(buf.b, "<html><head><title>frames</title></head><frameset cols=\"*,*\">\n"...)
		buf.b = append(appendAnchors(b, frames), "</frameset></html>\n"...)
		return reply{status: 200, ctype: htmlType, body: buf.b}
	}})
	s.enter(s.page("/area.html", doc{top: `<map name="m">`, anchors: []anchor{
		with(leaf("/area/circle.html"), `<area shape="circle" coords="9,9,9" href="%">`),
		with(leaf("/area/default.html"), `<AREA SHAPE=default HREF=%>`),
	}}))
	s.enter(s.page("/iframe.html", doc{anchors: []anchor{with(leaf("/iframe/inner.html"), `<iframe src="%"></iframe>`)}}))
	s.enter(s.page("/base.html", doc{head: `<base href="/based/deep/">`, anchors: []anchor{
		spelled("x.html", "/based/deep/x.html"), spelled("../up.html", "/based/up.html"), spelled("?q=1", "/based/deep/?q=1"),
	}}))
	refresh := leaf("/refreshed.html")
	r := s.page("/refresh.html", doc{head: `<meta http-equiv="Refresh" content="5; URL=/refreshed.html">`})
	r.links = []anchor{refresh}
	r.want.Also = []Class{Redirected}
	s.enter(r)

	upper := strings.ToUpper(s.name)
	s.enter(s.page("/spelling.html", doc{
		top: "<!-- <a href=\"/nowhere/comment.html\">no</a> --><script>var s = '<a href=\"/nowhere/script.html\">no</a>'</script>",
		anchors: []anchor{
			spelled("/spelled?a=1&amp;b=2", "/spelled?a=1&b=2"),
			spelled("&#x2F;spelled&#47;entity.html", "/spelled/entity.html"),
			spelled("  /spelled/space.html\n ", "/spelled/space.html"),
			spelled("/spelled/\n\tbroken-line.html", "/spelled/broken-line.html"),
			spelled("/spelled/two words.html", "/spelled/two%20words.html"),
			spelled("/spelled/gr\u00f6\u00dfe.html", "/spelled/gr%C3%B6%C3%9Fe.html"),
			spelled("/spelled/../spelled/./dots/../dots.html", "/spelled/dots.html"),
			spelled("HTTP://"+upper+"/spelled/upper.html", "/spelled/upper.html"),
			spelled("http://"+s.name+":80/spelled/port.html", "/spelled/port.html"),
			spelled("//"+s.name+"/spelled/scheme.html", "/spelled/scheme.html"),
			spelled("/spelled/fragment.html#there", "/spelled/fragment.html"),
			with(leaf("/spelled/unquoted.html"), "<p><A CLASS=x HREF=% TITLE='a > b'>unquoted</A></p>"),
			with(leaf("/spelled/unclosed.html"), "<p><a href='%'>never closed <b>bold"),
			{href: "#top"}, {href: ""}, {href: "mailto:webmaster@" + s.name}, {href: "javascript:void(0)"}, {href: "tel:+49301234"},
			{href: "data:text/html,hello"}, {href: "http://"}, {href: "http://[broken/"},
		},
	}))
	for _, p := range []string{"/nowhere/comment.html", "/nowhere/script.html"} {
		s.add(s.page(p, doc{text: "No link leads here, only text that looks like one."}))
	}
}

// nofollow adds links and pages with nofollow. A crawler that requests a hidden page has disobeyed.
func (s features) nofollow() {
	hide := func(path, rel string) anchor {
		r := s.page(path, doc{text: "Nobody was to follow a link to this page."})
		r.hidden = true
		s.add(r)
		a := s.to(path)
		a.rel = rel
		return a
	}
	s.add(s.page("/nofollow/seen.html", doc{}))
	s.enter(s.page("/nofollow/link.html", doc{anchors: []anchor{
		hide("/nofollow/hidden-1.html", "nofollow"), hide("/nofollow/hidden-2.html", "noopener NoFollow ugc"), s.to("/nofollow/seen.html"),
	}}))
	for _, p := range []struct {
		name string
		want Expectation
		doc  doc
	}{
		{"meta", Expectation{Class: Stored}, doc{head: `<meta name="robots" content="nofollow">`}},
		{"header", Expectation{Class: Stored}, doc{header: "X-Robots-Tag: nofollow\r\n"}},
		{"none", refused(ReasonNoindex), doc{head: `<META CONTENT="None" NAME="ROBOTS">`}},
	} {
		p.doc.anchors = []anchor{hide("/nofollow/hidden-by-"+p.name+".html", "")}
		r := s.page("/nofollow/"+p.name+".html", p.doc)
		r.want, r.links = p.want, nil
		s.enter(r)
	}
}

// tags adds pages with robots tags.
func (s features) tags() {
	agent := s.web.cfg.Agent
	behind := s.to("/tags/behind-noindex.html")
	s.add(s.page("/tags/behind-noindex.html", doc{text: "A page that was not kept still led here."}))
	stored, noindex := Expectation{Class: Stored}, refused(ReasonNoindex)
	nosnippet, noarchive := Expectation{Class: Stored, NoSnippet: true}, Expectation{Class: Stored, NoArchive: true}
	past := noindex
	past.Also = []Class{Stored}
	for _, p := range []struct {
		name, header, head, top string
		want                    Expectation
		agentOnly               bool // want applies to Config.Agent; other agents store the page
	}{
		{name: "header-noindex", header: "X-Robots-Tag: noindex", want: noindex},
		{name: "robots-tag", header: "Robots-Tag: *=noindex", want: noindex},
		{name: "two-headers", header: "X-Robots-Tag: noarchive\r\nX-Robots-Tag: noindex", want: noindex},
		{name: "opt-out", header: "Robots-Tag: *=noindex; " + agent + "=;", want: noindex},
		{name: "agent-header", header: "Robots-Tag: " + agent + "=noindex", want: noindex, agentOnly: true},
		{name: "agent-colon", header: "X-Robots-Tag: " + strings.ToUpper(agent) + ": noindex", want: noindex, agentOnly: true},
		{name: "agent-meta", head: `<meta name="` + agent + `" content="noindex">`, want: noindex, agentOnly: true},
		{name: "other-agent", header: "X-Robots-Tag: otherbot: noindex", head: `<meta name="otherbot" content="noindex">`, want: stored},
		{name: "meta-noindex", head: `<meta name="robots" content="noindex">`, want: noindex},
		{name: "meta-entity", head: `<meta name=robots content="noinde&#120;">`, want: noindex},
		{name: "noscript", head: `<noscript><meta name="robots" content="noindex"></noscript>`, want: noindex},
		{name: "past", header: "X-Robots-Tag: unavailable_after: 25-Aug-1997 15:00:00 EST", want: past},
		{name: "header-nosnippet", header: "Robots-Tag: nosnippet", want: nosnippet},
		{name: "meta-nosnippet", head: `<meta name="robots" content="index, nosnippet">`, want: nosnippet},
		{name: "noarchive", head: `<meta name="robots" content="noarchive">`, want: noarchive},
		{name: "body-meta", top: `<p>Text.</p><meta name="robots" content="noindex">`, want: stored},
		{name: "comment-meta", head: `<!-- <meta name="robots" content="noindex"> -->`, want: stored},
		{name: "property-meta", head: `<meta property="robots" content="noindex">`, want: stored},
	} {
		header := p.header
		if header != "" {
			header += "\r\n"
		}
		r := s.page("/tags/"+p.name+".html", doc{header: header, head: p.head, top: p.top, anchors: []anchor{behind}})
		r.want = p.want
		if p.agentOnly {
			r.agentWant = func(token string) Expectation {
				if s.isAgent(token) {
					return p.want
				}
				return stored
			}
		}
		s.enter(r)
	}
	text := plain(200, "Plain text can carry the header too.\n")
	text.header = "X-Robots-Tag: noindex\r\n"
	s.enter(&resource{path: "/tags/noindex.txt", want: noindex, answer: always(text)})
}
