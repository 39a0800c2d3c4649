package simweb

import "fmt"

// Feature is a special part of a site besides its numbered pages. Its pages are linked from the
// home page.
type Feature string

// The features.
const (
	// frames, area, iframe, base, meta refresh, odd spellings of links
	FeatureMarkup Feature = "markup"
	// links and pages with nofollow; pages to which only these lead are hidden
	FeatureNofollow Feature = "nofollow"
	// noindex, nosnippet, noarchive by header and meta, for all and for one agent
	FeatureTags         Feature = "tags"
	FeatureStatuses     Feature = "statuses"      // 404, 410, 403, 204
	FeatureServerErrors Feature = "server-errors" // 500 for ever
	FeatureFlapping     Feature = "flapping"      // 500 and 502 Fails times, then a page
	// 429 and 503 with Retry-After, in seconds and as a date, Fails times, then a page
	FeatureRetryAfter Feature = "retry-after"
	// every status, chains, loops, to other hosts, to forbidden and internal addresses
	FeatureRedirects Feature = "redirects"
	FeatureBroken    Feature = "broken"  // reset, closed, cut short, not HTTP
	FeatureSlow      Feature = "slow"    // late, never, byte by byte
	FeatureEndless   Feature = "endless" // a body that never ends
	FeatureBombs     Feature = "bombs"   // header bomb, gzip bomb, a page over 10 MiB
	// gzip, br, zstd, deflate, chunked, HTTP/1.0, and wrong declarations
	FeatureEncodings Feature = "encodings"
	// latin1 by header and meta, UTF-16, windows-1252, KOI8-R
	FeatureCharsets     Feature = "charsets"
	FeatureTypes        Feature = "types"         // pdf, png, zip, text, XHTML, none, and others
	FeatureTrapPath     Feature = "trap-path"     // ever deeper paths
	FeatureTrapCalendar Feature = "trap-calendar" // endless queries
	FeatureManyLinks    Feature = "many-links"    // a page with 50,000 links
	// long URLs, internal addresses, markup that is expensive to parse
	FeatureHostile  Feature = "hostile"
	FeatureDataYAML Feature = "data-yaml" // a /data.txt in YAML, with datasets
	// one in records, at /survey/data.txt if there is a YAML one too
	FeatureDataRecords Feature = "data-records"
	// datasets in JSON-LD, a data package, a portal's data.json, nested data.txt files
	FeatureOpenData Feature = "open-data"
	FeatureSitemap  Feature = "sitemap" // as RobotsSitemap, beside any other robots.txt
	// a /sitemap.xml that robots.txt does not name, unless it names others
	FeatureSitemapPlace Feature = "sitemap-place"
)

// Features returns all of them, in the order above.
func Features() []Feature {
	return []Feature{
		FeatureMarkup, FeatureNofollow, FeatureTags, FeatureStatuses, FeatureServerErrors, FeatureFlapping, FeatureRetryAfter,
		FeatureRedirects, FeatureBroken, FeatureSlow, FeatureEndless, FeatureBombs, FeatureEncodings, FeatureCharsets, FeatureTypes,
		FeatureTrapPath, FeatureTrapCalendar, FeatureManyLinks, FeatureHostile, FeatureDataYAML, FeatureDataRecords, FeatureSitemap,
		FeatureSitemapPlace, FeatureOpenData,
	}
}

// features builds what a site has beside its numbered pages.
type features struct{ *site }

// build adds a feature's pages. An unknown feature is an error of the caller.
func (s features) build(f Feature) {
	if s.mirror != nil {
		return
	}
	switch f {
	case FeatureMarkup:
		s.markup()
	case FeatureNofollow:
		s.nofollow()
	case FeatureTags:
		s.tags()
	case FeatureStatuses:
		s.statuses()
	case FeatureServerErrors:
		s.enter(&resource{path: "/status/500.html", want: failed(ReasonHTTP5xx), answer: always(plain(500, "always broken\n"))})
	case FeatureFlapping:
		s.flapping()
	case FeatureRetryAfter:
		s.busy()
	case FeatureRedirects:
		s.redirects()
	case FeatureBroken:
		s.broken()
	case FeatureSlow:
		s.slow()
	case FeatureEndless:
		s.endless()
	case FeatureBombs:
		s.bombs()
	case FeatureEncodings:
		s.encodings()
	case FeatureCharsets:
		s.charsets()
	case FeatureTypes:
		s.types()
	case FeatureTrapPath:
		s.enter(s.page("/trap/", doc{text: "It goes on below.", anchors: []anchor{s.to("/trap/a/")}}))
	case FeatureTrapCalendar:
		s.enter(s.page("/calendar/", doc{text: "Days without end.", anchors: []anchor{s.to("/calendar/day?date=2026-03-01&view=week")}}))
	case FeatureManyLinks:
		s.manyLinks()
	case FeatureHostile:
		s.hostile()
	case FeatureDataYAML:
		s.dataYAML()
	case FeatureDataRecords:
		s.dataRecords()
	case FeatureOpenData:
		s.openData()
	case FeatureSitemap: // robots.txt has it already
	case FeatureSitemapPlace:
		s.sitemapPlace()
	default:
		panic(fmt.Sprintf("simweb: no feature %q", f))
	}
}

func always(r reply) func(*request, *buffer) reply {
	return func(*request, *buffer) reply { return r }
}

func failed(reason string) Expectation  { return Expectation{Class: Failed, Reason: reason} }
func refused(reason string) Expectation { return Expectation{Class: Refused, Reason: reason} }
