package draft

// candidate is a field that pages may have, and where it may be.
type candidate struct {
	name   string
	source string // the field in YAML, without braces
	site   bool   // also worth having if all pages have the same value
	alike  bool   // only worth having if at most a quarter of the pages have values of their own
}

// candidates are tried on the sampled pages. Of those with one name the one that most pages have is
// taken, and of equal ones the first.
var candidates = []candidate{
	{"version", `meta: "docsearch:version"`, true, false},
	{"version", `meta: docusaurus_version`, true, false},
	{"version", `css: "link[rel=home], link[rel=start]", attr: title, matches: '\d+(?:\.\d+)+'`, true, false},
	{"version", `path: '/v?(\d+(?:\.\d+)*)/'`, true, false},
	// Doxygen
	{"version", `css: "#projectnumber"`, true, false},
	// DocBook
	{"version", `css: "div.navheader th, .navheader .home", matches: '(\d+(?:\.\d+)+)'`, true, false},
	// Sphinx
	{"version", `css: "div.related li.nav-item, .wy-side-nav-search .version", matches: '\d+(?:\.\d+)+'`, true, false},
	{"version", `css: "#page-header .version, .version-number, .doc-version", matches: '\d+(?:\.\d+)+'`, true, false},
	// A title may begin with the number of a section; then each page has another one.
	{"version", `css: title, matches: '\b[vV]?(\d+\.\d+(?:\.\d+)*)\b'`, true, true},
	{"version", `css: "#footer-text, footer, .footer, .manual-text", matches: '[vV]ersion (\d+(?:\.\d+)*)'`, true, false},
	{"version", `css: "h1, .subtitle, #page-header", matches: '[vV]ersion (\d+(?:\.\d+)*)'`, true, true},

	{"breadcrumb", `jsonld: "BreadcrumbList:itemListElement.name", many: true`, false, false},
	{"breadcrumb", `jsonld: "BreadcrumbList:itemListElement.item.name", many: true`, false, false},
	{"breadcrumb", `css: "[aria-label^='readcrumb' i] li, [aria-label='breadcrumbs' i] li, .breadcrumbs li, .breadcrumb li, ol.breadcrumb li", many: true`, false, false},
	{"breadcrumb", `css: "[aria-label*='readcrumb'] a", many: true`, false, false},
	// Sphinx
	{"breadcrumb", `css: "div.related li.nav-item a", many: true`, false, false},
	// Doxygen
	{"breadcrumb", `css: "#nav-path li.navelem", many: true`, false, false},
	// Apache
	{"breadcrumb", `css: "#path a", many: true`, false, false},
	{"breadcrumb", `css: ".breadcrumbs a, .breadcrumb a, #breadcrumbs a", many: true`, false, false},
	{"breadcrumb", `css: "span.breadcrumbs a, div.breadcrumb-trail a", many: true`, false, false},

	// DocBook
	{"chapter", `css: ".navheader tr:nth-child(2) th"`, false, false},
	// Sphinx
	{"chapter", `css: "div.related li.nav-item-1"`, false, false},
	// DocBook, texinfo
	{"chapter", `css: "link[rel=up]", attr: title`, false, false},
	// texinfo
	{"chapter", `css: "a[rel=up]"`, false, false},
	// MkDocs
	{"chapter", `css: ".md-tabs__item--active, .md-nav__item--active.md-nav__item--nested > label"`, false, false},
	{"chapter", `css: "a[accesskey=u]", attr: title`, false, false},

	// DocBook
	{"kind", `xpath: "//body/div[contains(' article book part preface chapter appendix reference refentry sect1 sect2 sect3 glossary index ', concat(' ', @class, ' '))]/@class"`, false, false},
	{"kind", `meta: "og:type"`, false, false},
	// AsciiDoc
	{"kind", `css: body, attr: class, matches: '^(\S+)$'`, false, false},
	{"kind", `css: ".refsect1, .refentry, .chapter, .appendix, .section-level-extent, .chapter-level-extent, .subsection-level-extent, .appendix-level-extent", attr: class`, false, false},

	{"author", `meta: author`, true, false},
	{"author", `jsonld: author.name, many: true`, true, false},
	{"author", `css: "[rel=author], .author .name, span.author, .byline"`, true, false},
	{"section", `meta: "article:section"`, false, false},
	{"section", `jsonld: articleSection`, false, false},
	{"tags", `meta: "article:tag", many: true`, false, false},
	{"tags", `meta: keywords, matches: '\s*([^,]+)', many: true`, false, false},
	{"tags", `css: "a[rel=tag], .tags a", many: true`, false, false},
	{"published", `meta: "article:published_time", type: date`, false, false},
	{"published", `jsonld: datePublished, type: date`, false, false},
	{"published", `meta: date, type: date`, false, false},
	{"published", `css: "time[datetime]", attr: datetime, type: date`, false, false},
	{"updated", `meta: "article:modified_time", type: date`, false, false},
	{"updated", `jsonld: dateModified, type: date`, false, false},
	// Sphinx
	{"updated", `css: ".footer, footer", matches: '[uU]pdated on:? ([A-Z][a-z]+ \d+, \d{4})', type: date`, false, false},
	// MediaWiki
	{"updated", `css: "#footer-info-lastmod, .footer-info-lastmod", matches: 'on (\d+ [A-Z][a-z]+ \d{4})', type: date`, false, false},
	// AsciiDoc
	{"updated", `css: "#footer-text, #footer, footer, .footer", matches: '[uU]pdated\s+(?:on\s+)?(\d{4}-\d\d-\d\d)', type: date`, false, false},
	{"manual", `css: "link[rel=home], link[rel=start]", attr: title`, true, false},
	{"module", `css: "dl.py.module dt, code.descclassname"`, false, false},
	// MediaWiki
	{"category", `css: "#mw-normal-catlinks li", many: true`, false, false},
	{"status_note", `css: ".deprecated, .versionmodified.deprecated"`, false, false},
}

// mains are selectors of main parts, the most specific first. A part must have most of the text.
var mains = []string{
	"#mw-content-text", "div.body", ".md-content article", ".theme-doc-markdown", "article .markdown", "main article", "div.contents",
	"div.document", "[role=main]", "main", "#page-content", "#content", "#main", "article", ".entry-content", ".post-content", "div.content",
}

// drops are selectors of what is on many pages and is no part of their text.
var drops = []string{
	"a.headerlink", "a.hash-link", "a.anchor-link", ".copiable-link", "a.copiable-link", ".mw-editsection", ".navheader", ".navfooter", "div.related", ".sphinxsidebar",
	".nav-panel", "table.header", "div.header", "div.footer", "#top", "#side-nav", "#nav-path", "nav", "footer", "#footer", "#page-header", "#path", ".toplang", ".bottomlang",
	"#quickview", ".breadcrumbs", ".breadcrumb", ".cookie-banner", "#cookie-notice", ".toc", "#toc", "div.nav", "#nav", "#sidebar", ".sidebar", "#searchbox", ".nosearch",
}
