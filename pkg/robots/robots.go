// Package robots reads robots.txt files and answers what a crawler may do.
//
// It follows RFC 9309 and reads five further kinds of record: Crawl-delay, Sitemap, Clean-param,
// Host (A. Melkov's proposal of 2003 for naming a site's main mirror) and Mobile-agent-server
// (draft-giudici-web-robots-cntrl-00). Three more describe what pages may be used for:
// Content-Usage, Content-Signal and License; [Rules.Usage] selects those that apply to a URL. The
// package opens no connection, reads no clock, and imports only the standard library.
//
// Most callers need three names. [ForStatus] turns the answer to GET /robots.txt into a [File]
// ([Parse], if there is only a body); [File.Rules] selects what applies to one robot on one origin;
// [Rules.Match] reports whether a URL may be fetched and which line decides.
//
//	file := robots.ForStatus(resp.StatusCode, body)
//	rules := file.Rules("examplebot", origin)
//	if v := rules.Match("/shop?id=7"); !v.Allowed {
//		log.Printf("line %d keeps us out: %s", v.Line, v.Rule)
//	}
//
// How long a copy may be used, and which rules apply while a server does not answer, are pure
// functions of status, age and the given time: [StateOf], [FreshFor], [NextRetry], [History].
//
// Parsing never fails. An invalid line is skipped without effect on other lines, and reported in
// [File.Diagnostics]. Work and memory are limited: at most [MaxBytes] bytes are read, and a pattern
// with many wildcards takes time linear in the path for each of its pieces.
//
// A File and a Rules may be used concurrently, as long as nobody changes the File's fields.
//
// In comments, "formats" is docs/formats.md, the project's reading of these documents.
package robots

// MaxBytes is how many bytes of a robots.txt are read, after content decoding and before character
// decoding (formats §0, §1.1; RFC 9309 §2.5 requires at least this much). The line that crosses the
// limit is dropped completely, and what follows is ignored. To let Parse notice that a body was
// longer, pass at least two bytes more than MaxBytes.
const MaxBytes = 512000

// MaxDiagnostics is the largest number of entries in [File.Diagnostics]; [File.Odd] counts all.
const MaxDiagnostics = 1000

// File is a parsed robots.txt. The zero File has no rules and allows everything.
//
// A File made by Parse has one copy of the text, at most MaxBytes long (half as much again if it
// was UTF-16).
type File struct {
	// Sitemaps has the values of the Sitemap lines, as written, in file order, each once (formats
	// §1.5). Relative ones are not resolved: see SitemapURLs.
	Sitemaps []string

	// HostHint is the argument, as written, of the first correct Host line in the file, in any
	// group; "" if there is none (formats §2.4). It is a hint about mirrors, not about access, and
	// proves nothing: see Claim.
	HostHint string

	// CleanParams has the Clean-param lines in file order (formats §1.5), 1000 at most, 100 of them
	// with "*" in their path. It is for display; CleanURL applies them.
	CleanParams []CleanParam

	// Diagnostics reports odd lines in file order: those skipped, those without effect,
	// those read leniently.
	Diagnostics []Diagnostic

	// Odd counts all diagnostics, including those beyond the limit of the list.
	Odd int

	denyAll bool // the file was unreachable: nothing may be fetched (formats §1.1)

	text string // what was parsed; the strings below mostly point into it
	// product tokens of the user-agent lines, "*", or "" for a value that names nobody
	agents []string
	groups []group
	rules  []rule
	delays []delayRecord
	hosts  []hostRecord
	usages []usageRecord

	agentServers []AgentServer
	clean        map[string]*cleanPaths // parameter → paths on which it is removed
}

// Diagnostic is one odd line.
type Diagnostic struct {
	Line   int    // counted from 1
	Reason string // what is odd, and how the line is treated, in words
	Text   string // the line without comment, at most 200 bytes of it
}

// group is a run of user-agent lines with the rules after it: half-open ranges of
// File.agents and File.rules.
type group struct {
	agentsFrom, agentsTo int32
	rulesFrom, rulesTo   int32
}

// scope defines to whom a record applies that is neither a rule nor a user-agent line: a half-open
// range of File.agents, those of its block or, after a rule, all of its group (formats §1.2.6).
// Group -1 is the top of the file, before any user-agent line.
type scope struct {
	group                int32
	agentsFrom, agentsTo int32
}

// ForStatus returns the rules that follow from an answer to GET /robots.txt, after redirects were
// followed (formats §1.1): a 2xx body is parsed; 400–499 except 402 and 429 allows everything; 402,
// 429, 5xx and any other code, including 0 for no answer, allow nothing but /robots.txt itself. For
// answers with more properties than a code, such as a body that was cut off by a network error, use
// StateOf and ForState.
func ForStatus(code int, body []byte) *File { return ForState(StateOf(code), body) }

// ForState returns the rules for a state (formats §1.1). body is used for Parsed only. A Redirect
// that was not followed allows nothing.
func ForState(state State, body []byte) *File {
	switch state {
	case Parsed:
		return Parse(body)
	case Unavailable:
		return &File{}
	default:
		return &File{denyAll: true}
	}
}
