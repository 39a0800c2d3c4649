package config

import (
	"net/mail"
	"net/netip"
	"net/url"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/updates"
	"github.com/curtsy/curtsy/internal/websub"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/usage"
)

// Plan are the settings that become the crawl's Spec: what to crawl, as whom, and how fast.
type Plan struct {
	Contact         string        `key:"contact" group:"Politeness,common" usage:"‹ADDRESS› at which webmasters reach you, mail or URL; it is sent in the User-Agent" example:"me@example.org"`
	Agent           string        `key:"agent" group:"Politeness" usage:"product ‹TOKEN›: the name of this crawler in the User-Agent and in robots.txt" example:"curtsy"`
	Delay           time.Duration `key:"delay" group:"Politeness,common" usage:"wait at least this ‹TIME› between a response of a host and the next request to it" example:"1s"`
	Hurry           []string      `key:"hurry" group:"Politeness" usage:"‹HOST› of your own for which a delay under 1s is allowed; *.NAME is NAME and all names below it (repeatable)" example:"docs.example.org"`
	Scope           string        `key:"scope" group:"Scope,common" usage:"how far from the seeds to go: ‹WORD› is {}, or *.NAME for NAME and all names below it" choices:"page prefix host subdomains domain any" example:"domain"`
	Include         []string      `key:"include" group:"Scope,common" usage:"crawl only URLs that match one of these ‹REGEXP›s (repeatable)" example:"/docs/"`
	Exclude         []string      `key:"exclude" group:"Scope,common" usage:"crawl no URL that matches one of these ‹REGEXP›s (repeatable)" example:"[?&]print="`
	Links           bool          `key:"links" group:"Scope,common" usage:"follow the links of pages; with =false only seeds, sitemaps and other lists of a site's URLs are crawled"`
	MaxPages        int64         `key:"max-pages" group:"Limits,common" usage:"stop when ‹N› pages are stored (0: no limit)" example:"500"`
	MaxBytes        Size          `key:"max-bytes" group:"Limits" usage:"stop when this ‹SIZE› of page bodies was read (0: no limit)" example:"1GiB"`
	MaxDepth        int           `key:"max-depth" group:"Limits,common" usage:"follow at most ‹N› links in a row from a seed (0: only the seeds; -1: no limit)" example:"3"`
	MaxPagesPerHost int64         `key:"max-pages-per-host" group:"Limits" usage:"store at most ‹N› pages of each host (0: no limit)" example:"1000"`
	MaxHosts        int64         `key:"max-hosts-per-domain" group:"Limits" usage:"accept ‹N› host names of a registered domain, and one more for each page stored of it" example:"1000"`
	HoldMax         time.Duration `key:"hold-max" group:"Politeness" usage:"do not wait for a host that must be left alone for longer than this ‹TIME›" example:"10m"`
	AllowPrivate    bool          `key:"allow-private" group:"Access,common" usage:"connect to private and loopback addresses too"`
	Resolve         []string      `key:"resolve" group:"Access" usage:"connect to ADDR for HOST, given as ‹HOST=ADDR›; *.suffix is allowed (repeatable)" example:"docs.test=127.0.0.1:8080"`
	Sitemaps        bool          `key:"sitemaps" group:"Scope,common" usage:"read the sitemaps of sites; with --max-depth only when this flag is given, or with --links=false"`
	Recrawl         bool          `key:"recrawl" group:"Freshness,common" usage:"keep stored pages up to date: the crawl goes on until it is stopped"`
	Every           time.Duration `key:"every" group:"Freshness,common" usage:"crawl all pages again in rounds, one in each ‹TIME›, until it is stopped (0s: one round)" example:"24h"`
	RecrawlMin      time.Duration `key:"recrawl-min" group:"Freshness" usage:"with --recrawl: fetch a page again after this ‹TIME› at the earliest" example:"1h"`
	RecrawlMax      time.Duration `key:"recrawl-max" group:"Freshness" usage:"with --recrawl: fetch a page again after this ‹TIME› at the latest" example:"720h"`
	Updates         bool          `key:"updates" group:"Freshness" usage:"with --recrawl: use the update servers of sites (/rupinfo.txt)"`
	UpdatesMail     string        `key:"updates-mail" group:"Freshness" usage:"ask sites to mail their changes to addresses made of this ‹ADDRESS› (empty: query the sites)" example:"curtsy@crawler.example"`
	UpdatesLatency  string        `key:"updates-latency" group:"Freshness" usage:"how often sites are asked to report changes, a ‹UNIT›: {} (empty: as often as the site offers)" choices:"day week month" example:"week"`
	Feeds           bool          `key:"feeds" group:"Freshness" usage:"with --recrawl: read the feeds that pages announce, to find new and changed pages"`
	UpdatesWebSub   string        `key:"updates-websub-url" group:"Freshness" usage:"subscribe to feeds at their WebSub hubs; this public ‹URL› must lead to --updates-websub" example:"https://crawler.example/hooks"`
	Purposes        []string      `key:"purpose" group:"What is kept" usage:"what you fetch pages for, a ‹WORD›: search, ai-input, ai-train or tdm (repeatable)" words:"search ai-input ai-train tdm" example:"search"`
	Types           []string      `key:"types" group:"What is kept,common" usage:"keep these types of documents, a ‹LIST› of html, text, markdown, data, feed, pdf, office" words:"html text markdown data feed pdf office" example:"html,text,pdf,office"`
	DataJSON        bool          `key:"data-json" group:"What is kept" usage:"where /data.txt is requested, request the dataset catalogue /data.json too"`
	AcceptMarkdown  bool          `key:"accept-markdown" group:"What is kept" usage:"request pages as Markdown, and keep the Markdown where a site has it"`
	LLMSTxt         bool          `key:"llms-txt" group:"Scope" usage:"read the /llms.txt of each site, and follow its links"`
	SecurityTxt     bool          `key:"security-txt" group:"What is kept" usage:"read the security contact of each site (/.well-known/security.txt)"`
	WARC            string        `key:"warc" group:"What is kept,common" usage:"archive responses in WARC files in ‹DIR› (empty: no archive)" example:"./warc"`
	Search          bool          `key:"search" group:"What is kept" usage:"index the text of pages for curtsy search"`
	Shards          int           `key:"shards" group:"Cluster" usage:"divide a new crawl into ‹N› shards; this cannot be changed later (0: 4 embedded, 16 with --nats)" example:"16"`
}

const crawlDefault = crawl.DefaultName

func crawlName(name string) error { return crawl.CheckName(name) }

func newPlan() Plan {
	return Plan{Agent: "curtsy", Delay: time.Second, Scope: "domain", MaxDepth: -1, MaxHosts: crawl.DefaultMaxHosts, HoldMax: 10 * time.Minute, Links: true, Search: true, Sitemaps: true, Updates: true, Feeds: true, DataJSON: true, Purposes: []string{usage.Search.String()}, Types: crawl.DefaultTypes.Names(),
		RecrawlMin: crawl.DefaultRecrawlMin, RecrawlMax: crawl.DefaultRecrawlMax}
}

// Scopes are the words --scope takes, narrowest first.
var Scopes = choicesOf(&Plan{}, "scope")

// leastEvery is the shortest time between two rounds. A round asks for each page and sitemap of the
// crawl again, whether or not it may have changed.
const leastEvery = time.Minute

var tokenRE = regexp.MustCompile(`^[A-Za-z_-]+$`)

func (p Plan) check(src *Source) error {
	if err := checkContact(src, p.Contact); err != nil {
		return err
	}
	switch {
	case p.Delay < 0:
		return src.Refuse("delay", "is negative; use for example 1s, or 0s for none")
	case p.HoldMax < 0:
		return src.Refuse("hold-max", "is negative; use for example 10m")
	case !tokenRE.MatchString(p.Agent):
		return src.Refuse("agent", "is not a product token; use letters, '-' and '_' only, for example curtsy")
	case p.MaxPages < 0:
		return src.Refuse("max-pages", "is negative; use for example 500, or 0 for no limit")
	case p.MaxPagesPerHost < 0:
		return src.Refuse("max-pages-per-host", "is negative; use for example 1000, or 0 for no limit")
	case p.MaxHosts < 1:
		return src.Refuse("max-hosts-per-domain", "is less than 1; use for example 1000")
	case p.MaxDepth < -1:
		return src.Refuse("max-depth", "is below -1; use for example 3, or -1 for no limit")
	case p.Every < 0 || p.Every > 0 && p.Every < leastEvery:
		return src.Refuse("every", "is less than 1m; use for example 24h, or 0s for one round only")
	case p.Every > 0 && p.Recrawl:
		return src.Refuse("every", "and recrawl cannot be used together: every crawls all pages in rounds, recrawl fetches each page when it may have changed; use one of them, for example --every 24h")
	case p.RecrawlMin <= 0:
		return src.Refuse("recrawl-min", "must be over 0; use for example 1h")
	case p.RecrawlMax < p.RecrawlMin:
		return src.Refuse("recrawl-max", "is less than recrawl-min; use for example 720h")
	case p.Shards < 0 || p.Shards > crawl.MaxShards:
		return src.Refuse("shards", "must be 1 to 256, or 0 for the default; use for example 16")
	}
	if p, err := canon.ParseHostPattern(p.Scope); err != nil || !p.IsBelow() {
		if err := src.refuseOther("scope", "is not a scope"); err != nil {
			return err
		}
	}
	if p.UpdatesLatency != "" {
		if err := src.refuseOther("updates-latency", "is no unit"); err != nil {
			return err
		}
	}
	if p.UpdatesMail != "" {
		if err := updates.CheckMailbox(p.UpdatesMail); err != nil {
			return src.Refuse("updates-mail", "cannot be used: "+err.Error())
		}
	}
	if p.UpdatesWebSub != "" {
		if err := websub.CheckBase(p.UpdatesWebSub); err != nil {
			return src.Refuse("updates-websub-url", "cannot be used: "+err.Error())
		}
	}
	for key, list := range map[string][]string{"include": p.Include, "exclude": p.Exclude} {
		for _, re := range list {
			if _, err := regexp.Compile(re); err != nil {
				return src.Refuse(key, "is not a regular expression: "+err.Error()+`; use for example /docs/ or [.]html$`)
			}
		}
	}
	if err := checkResolve(src, p.Resolve); err != nil {
		return err
	}
	if _, err := crawl.ParseTypes(p.Types); err != nil {
		return src.Refuse("types", "has "+err.Error())
	}
	if err := checkPurposes(src, p.Purposes); err != nil {
		return err
	}
	for _, h := range p.Hurry {
		switch p, err := canon.ParseHostPattern(h); {
		case err != nil:
			return src.Refuse("hurry", "contains "+strconv.Quote(h)+", which is not a host name; use for example docs.example.org, or *.example.org for that name and all names below it")
		case p.IsOpen():
			return src.Refuse("hurry", "contains "+strconv.Quote(h)+", but other people own names below "+p.Name().String()+"; use a domain of your own, for example *.example.org")
		}
	}
	return nil
}

func checkContact(src *Source, contact string) error {
	if contact != "" && !contactable(contact) {
		return src.Refuse("contact", "is neither a mail address nor a URL; use for example me@example.org or https://example.org/bot")
	}
	return nil
}

func checkPurposes(src *Source, list []string) error {
	if len(list) == 0 {
		return src.Refuse("purpose", "is empty; use for example search")
	}
	if _, err := usage.ParsePurposes(list); err != nil {
		return src.Refuse("purpose", "has "+err.Error())
	}
	return nil
}

// typeNames are the names in a list that was checked; none for the default.
func typeNames(list []string) []string {
	if set, _ := crawl.ParseTypes(list); set != crawl.DefaultTypes {
		return set.Names()
	}
	return nil
}

// purposeNames are the names in lists that were checked.
func purposeNames(lists []string) []string {
	all, _ := usage.ParsePurposes(lists)
	return usage.Names(all)
}

func checkResolve(src *Source, list []string) error {
	for _, r := range list {
		if !resolvable(r) {
			return src.Refuse("resolve", "contains "+strconv.Quote(r)+"; use HOST=ADDR, for example docs.test=127.0.0.1:8080 or *.test=127.0.0.1")
		}
	}
	return nil
}

// absolute is a directory by its whole path: a crawl may go on from elsewhere.
func absolute(dir string) string {
	if dir == "" {
		return ""
	}
	whole, err := filepath.Abs(dir)
	if err != nil { // there is no working directory
		return dir
	}
	return whole
}

// contactable reports whether somebody could use this contact, or whether it is a slip of
// the fingers. The contact goes into a comment of the User-Agent, which blanks and
// parentheses would break.
func contactable(s string) bool {
	if strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '(' || r == ')' }) {
		return false
	}
	if u, err := url.Parse(s); err == nil && (u.Scheme == "http" || u.Scheme == "https") {
		return u.Host != ""
	}
	a, err := mail.ParseAddress(strings.TrimPrefix(s, "mailto:"))
	return err == nil && a.Name == "" && strings.Contains(a.Address, "@")
}

// resolvable reports whether r is HOST=ADDR, ADDR with or without a port.
func resolvable(r string) bool {
	host, addr, ok := strings.Cut(r, "=")
	if !ok || host == "" || strings.ContainsAny(host, "/ :") && !strings.HasPrefix(host, "[") {
		return false
	}
	if _, err := netip.ParseAddr(strings.Trim(addr, "[]")); err == nil {
		return true
	}
	_, err := netip.ParseAddrPort(addr)
	return err == nil
}

// Spec is the crawl that the plan describes. old is the spec of a crawl that exists already:
// then only settings that given reports as set replace what old says, and name and number of
// shards always stay.
func (p Plan) Spec(old *crawl.Spec, given func(key string) bool) crawl.Spec {
	var s crawl.Spec
	if old != nil {
		s = *old
	}
	set := func(key string, assign func()) {
		if old == nil || given(key) {
			assign()
		}
	}
	set("contact", func() { s.Contact = p.Contact })
	set("agent", func() { s.Agent = p.Agent })
	set("delay", func() { s.Delay = p.Delay })
	set("hurry", func() { s.Hurry = p.Hurry })
	set("scope", func() { s.Scope = p.Scope })
	set("include", func() { s.Include = p.Include })
	set("exclude", func() { s.Exclude = p.Exclude })
	set("links", func() { s.NoLinks = !p.Links })
	set("max-pages", func() { s.MaxPages = p.MaxPages })
	set("max-bytes", func() { s.MaxBytes = int64(p.MaxBytes) })
	set("max-depth", func() { s.MaxDepth = p.MaxDepth })
	set("max-pages-per-host", func() { s.MaxPagesPerHost = p.MaxPagesPerHost })
	set("max-hosts-per-domain", func() { s.MaxHosts = p.MaxHosts })
	set("hold-max", func() { s.HoldMax = p.HoldMax })
	set("allow-private", func() { s.AllowPrivate = p.AllowPrivate })
	set("resolve", func() { s.Resolve = p.Resolve })
	// With a limit on the depth sitemaps are off unless asked for: what they name is at no known
	// distance from a seed. Where no links are followed they are on, since little but seeds would
	// be left otherwise.
	set("sitemaps", func() { s.Sitemaps = p.Sitemaps && (s.MaxDepth < 0 || s.NoLinks || given("sitemaps")) })
	if given("links") && s.NoLinks && !given("sitemaps") {
		s.Sitemaps = true
	}
	set("recrawl", func() { s.Recrawl = p.Recrawl })
	set("every", func() { s.SetEvery(p.Every, time.Now()) })
	if given("recrawl") && s.Recrawl { // the one that is asked for takes the place of the other
		s.SetEvery(0, time.Time{})
	} else if s.Every > 0 {
		s.Recrawl = false
	}
	set("recrawl-min", func() { s.RecrawlMin = p.RecrawlMin })
	set("recrawl-max", func() { s.RecrawlMax = p.RecrawlMax })
	set("updates", func() { s.Updates = p.Updates })
	set("updates-mail", func() { s.UpdatesMail = p.UpdatesMail })
	set("updates-latency", func() { s.UpdatesLatency = p.UpdatesLatency })
	set("feeds", func() { s.Feeds = p.Feeds })
	set("updates-websub-url", func() { s.UpdatesWebSub = p.UpdatesWebSub })
	set("purpose", func() { s.Purposes = purposeNames(p.Purposes) })
	set("types", func() { s.Types = typeNames(p.Types) })
	set("accept-markdown", func() { s.AcceptMarkdown = p.AcceptMarkdown })
	set("data-json", func() { s.DataJSON = p.DataJSON })
	set("llms-txt", func() { s.LLMSTxt = p.LLMSTxt })
	set("security-txt", func() { s.SecurityTxt = p.SecurityTxt })
	set("warc", func() { s.WARC = absolute(p.WARC) })
	set("search", func() { s.Search = p.Search })
	return s
}
