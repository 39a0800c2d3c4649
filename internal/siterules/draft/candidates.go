package draft

// candidate is a field that pages may have, and where it may be.
type candidate struct {
	name   string
	source string // the field in YAML, without braces
	site   bool   // also worth having if all pages have the same value
}

// candidates are tried on the sampled pages. Of those with one name the one that most pages have is
// taken, and of equal ones the first.
var candidates = []candidate{
	{"version", `meta: "docsearch:version"`, true},
	{"version", `meta: docusaurus_version`, true},
	{"version", `css: "link[rel=home], link[rel=start]", attr: title, matches: '\d+(?:\.\d+)+'`, true},
	{"version", `path: '/v?(\d+(?:\.\d+)*)/'`, true},
	// Doxygen
	{"version", `css: "#projectnumber"`, true},
	// DocBook
	{"version", `css: "div.navheader th, .navheader .home", matches: '(\d+(?:\.\d+)+)'`, true},
	// Sphinx
	{"version", `css: "div.related li.nav-item, .wy-side-nav-search .version", matches: '\d+(?:\.\d+)+'`, true},
	{"version", `css: "#page-header .version, .version-number, .doc-version", matches: '\d+(?:\.\d+)+'`, true},
	{"version", `css: title, matches: '\b[vV]?(\d+\.\d+(?:\.\d+)*)\b'`, true},
	{"version", `css: "#footer-text, footer, .footer, .manual-text", matches: '[vV]ersion (\d+(?:\.\d+)*)'`, true},
	{"version", `css: "h1, .subtitle, #page-header", matches: '[vV]ersion (\d+(?:\.\d+)*)'`, true},

	{"breadcrumb", `jsonld: "BreadcrumbList:itemListElement.name", many: true`, false},
	{"breadcrumb", `jsonld: "BreadcrumbList:itemListElement.item.name", many: true`, false},
	{"breadcrumb", `css: "[aria-label^='readcrumb' i] li, [aria-label='breadcrumbs' i] li, .breadcrumbs li, .breadcrumb li, ol.breadcrumb li", many: true`, false},
	{"breadcrumb", `css: "[aria-label*='readcrumb'] a", many: true`, false},
	// Sphinx
	{"breadcrumb", `css: "div.related li.nav-item a", many: true`, false},
	// Doxygen
	{"breadcrumb", `css: "#nav-path li.navelem", many: true`, false},
	// Apache
	{"breadcrumb", `css: "#path a", many: true`, false},
	{"breadcrumb", `css: ".breadcrumbs a, .breadcrumb a, #breadcrumbs a", many: true`, false},
	{"breadcrumb", `css: "span.breadcrumbs a, div.breadcrumb-trail a", many: true`, false},

	// DocBook
	{"chapter", `css: ".navheader tr:nth-child(2) th"`, false},
	// Sphinx
	{"chapter", `css: "div.related li.nav-item-1"`, false},
	// DocBook, texinfo
	{"chapter", `css: "link[rel=up]", attr: title`, false},
	// texinfo
	{"chapter", `css: "a[rel=up]"`, false},
	// MkDocs
	{"chapter", `css: ".md-tabs__item--active, .md-nav__item--active.md-nav__item--nested > label"`, false},
	{"chapter", `css: "a[accesskey=u]", attr: title`, false},

	// DocBook
	{"kind", `xpath: "//body/div[contains(' article book part preface chapter appendix reference refentry sect1 sect2 sect3 glossary index ', concat(' ', @class, ' '))]/@class"`, false},
	{"kind", `meta: "og:type"`, false},
	// AsciiDoc
	{"kind", `css: body, attr: class, matches: '^(\S+)$'`, false},
	{"kind", `css: ".refsect1, .refentry, .chapter, .appendix, .section-level-extent, .chapter-level-extent, .subsection-level-extent, .appendix-level-extent", attr: class`, false},

	{"author", `meta: author`, true},
	{"author", `jsonld: author.name, many: true`, true},
	{"author", `css: "[rel=author], .author .name, span.author, .byline"`, true},
	{"section", `meta: "article:section"`, false},
	{"section", `jsonld: articleSection`, false},
	{"tags", `meta: "article:tag", many: true`, false},
	{"tags", `meta: keywords, matches: '\s*([^,]+)', many: true`, false},
	{"tags", `css: "a[rel=tag], .tags a", many: true`, false},
	{"published", `meta: "article:published_time", type: date`, false},
	{"published", `jsonld: datePublished, type: date`, false},
	{"published", `meta: date, type: date`, false},
	{"published", `css: "time[datetime]", attr: datetime, type: date`, false},
	{"updated", `meta: "article:modified_time", type: date`, false},
	{"updated", `jsonld: dateModified, type: date`, false},
	// Sphinx
	{"updated", `css: ".footer, footer", matches: '[uU]pdated on:? ([A-Z][a-z]+ \d+, \d{4})', type: date`, false},
	// MediaWiki
	{"updated", `css: "#footer-info-lastmod, .footer-info-lastmod", matches: 'on (\d+ [A-Z][a-z]+ \d{4})', type: date`, false},
	// AsciiDoc
	{"updated", `css: "#footer-text, #footer, footer, .footer", matches: '[uU]pdated\s+(?:on\s+)?(\d{4}-\d\d-\d\d)', type: date`, false},
	{"manual", `css: "link[rel=home], link[rel=start]", attr: title`, true},
	{"module", `css: "dl.py.module dt, code.descclassname"`, false},
	// MediaWiki
	{"category", `css: "#mw-normal-catlinks li", many: true`, false},
	{"status_note", `css: ".deprecated, .versionmodified.deprecated"`, false},
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
