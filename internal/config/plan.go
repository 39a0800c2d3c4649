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
	Contact         string        `key:"contact" usage:"‹MAIL-OR-URL› by which a webmaster reaches you; it goes into the User-Agent" example:"me@example.org"`
	Agent           string        `key:"agent" usage:"product ‹TOKEN› that robots.txt knows us by" example:"curtsy"`
	Delay           time.Duration `key:"delay" usage:"least ‹TIME› between a response of a host and the next request to it" example:"1s"`
	Hurry           []string      `key:"hurry" usage:"‹HOST› of your own, for which a delay under 1s holds as well; *.NAME is NAME and all names below it (repeatable)" example:"docs.example.org"`
	Scope           string        `key:"scope" usage:"‹WORD› for how far from the seeds to go: {}; or *.NAME for NAME and all names below it" choices:"page prefix host subdomains domain any" example:"domain"`
	Include         []string      `key:"include" usage:"crawl only URLs that match one of these ‹RE› (repeatable)" example:"/docs/"`
	Exclude         []string      `key:"exclude" usage:"crawl no URL that matches one of these ‹RE› (repeatable)" example:"[?&]print="`
	Links           bool          `key:"links" usage:"follow the links of pages; without, only what seeds, sitemaps and the like name is crawled"`
	MaxPages        int64         `key:"max-pages" usage:"stop when ‹N› pages are stored (0: no limit)" example:"500"`
	MaxBytes        Size          `key:"max-bytes" usage:"stop when this ‹SIZE› of page bodies was read (0: no limit)" example:"1GiB"`
	MaxDepth        int           `key:"max-depth" usage:"follow at most ‹N› links from a seed (-1: no limit)" example:"3"`
	MaxPagesPerHost int64         `key:"max-pages-per-host" usage:"store at most ‹N› pages of a host (0: no limit)" example:"1000"`
	MaxHosts        int64         `key:"max-hosts-per-domain" usage:"take in ‹N› names of a registered domain, and one more for each page stored of it" example:"1000"`
	HoldMax         time.Duration `key:"hold-max" usage:"do not wait for hosts that want to be left alone for longer than this ‹TIME›" example:"10m"`
	AllowPrivate    bool          `key:"allow-private" usage:"dial private and loopback addresses as well"`
	Resolve         []string      `key:"resolve" usage:"dial ADDR for HOST: ‹HOST=ADDR›, *.suffix allowed (repeatable)" example:"docs.test=127.0.0.1:8080"`
	Sitemaps        bool          `key:"sitemaps" usage:"read the sitemaps that sites offer; with --max-depth only when asked to, or with --links=false"`
	Recrawl         bool          `key:"recrawl" usage:"keep what is stored fresh: the crawl goes on until it is stopped"`
	Every           time.Duration `key:"every" usage:"go over the crawl again in rounds, each this ‹TIME› after the one before, until it is stopped (0s: once)" example:"24h"`
	RecrawlMin      time.Duration `key:"recrawl-min" usage:"with --recrawl: ask for a page again after this ‹TIME› at the earliest" example:"1h"`
	RecrawlMax      time.Duration `key:"recrawl-max" usage:"with --recrawl: ask for a page again after this ‹TIME› at the latest" example:"720h"`
	Updates         bool          `key:"updates" usage:"with --recrawl: let sites tell what changed (/rupinfo.txt)"`
	UpdatesMail     string        `key:"updates-mail" usage:"have sites mail what changed to addresses made of this ‹ADDRESS› (empty: ask them)" example:"curtsy@crawler.example"`
	UpdatesLatency  string        `key:"updates-latency" usage:"how often sites are to tell, if they offer that ‹UNIT›: {} (empty: as often as they offer)" choices:"day week month" example:"week"`
	Feeds           bool          `key:"feeds" usage:"with --recrawl: read the feeds that pages announce, for what is new and what changed"`
	UpdatesWebSub   string        `key:"updates-websub-url" usage:"subscribe to feeds at their WebSub hubs, which reach --updates-websub by this public ‹URL›" example:"https://crawler.example/hooks"`
	Purposes        []string      `key:"purpose" usage:"‹WORD› for what pages are fetched for: search, ai-input, ai-train or tdm (repeatable)" words:"search ai-input ai-train tdm" example:"search"`
	Types           []string      `key:"types" usage:"‹LIST› of what is kept: html, text, markdown, data, feed, pdf, office" words:"html text markdown data feed pdf office" example:"html,text,pdf,office"`
	DataJSON        bool          `key:"data-json" usage:"ask each site that is asked for /data.txt for a catalogue of datasets in /data.json, too"`
	AcceptMarkdown  bool          `key:"accept-markdown" usage:"ask for pages as Markdown, which is kept where a site has it"`
	LLMSTxt         bool          `key:"llms-txt" usage:"read the /llms.txt of each site, and follow its links"`
	SecurityTxt     bool          `key:"security-txt" usage:"ask sites whom to tell of security problems (/.well-known/security.txt)"`
	WARC            string        `key:"warc" usage:"archive what is fetched in WARC files in this ‹DIR› (empty: nowhere)" example:"./warc"`
	Search          bool          `key:"search" usage:"index the text of pages for curtsy search"`
	Shards          int           `key:"shards" usage:"create the crawl with ‹N› shards, for good (0: 4 embedded, 16 with --nats)" example:"16"`
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
		return src.Refuse("agent", "is no product token; use letters, '-' and '_' only, for example curtsy")
	case p.MaxPages < 0:
		return src.Refuse("max-pages", "is negative; use for example 500, or 0 for no limit")
	case p.MaxPagesPerHost < 0:
		return src.Refuse("max-pages-per-host", "is negative; use for example 1000, or 0 for no limit")
	case p.MaxHosts < 1:
		return src.Refuse("max-hosts-per-domain", "is less than 1; use for example 1000")
	case p.MaxDepth < -1:
		return src.Refuse("max-depth", "is below -1; use for example 3, or -1 for no limit")
	case p.Every < 0 || p.Every > 0 && p.Every < leastEvery:
		return src.Refuse("every", "is under 1m; use 1m or more, for example 24h, or 0s for one time only")
	case p.Every > 0 && p.Recrawl:
		return src.Refuse("every", "goes over all pages at once, while recrawl looks at each when it may have changed; use one of them, for example --every 24h")
	case p.RecrawlMin <= 0:
		return src.Refuse("recrawl-min", "must be over 0; use for example 1h")
	case p.RecrawlMax < p.RecrawlMin:
		return src.Refuse("recrawl-max", "is less than recrawl-min; use for example 720h")
	case p.Shards < 0 || p.Shards > crawl.MaxShards:
		return src.Refuse("shards", "must be 1 to 256, or 0 for the default; use for example 16")
	}
	if p, err := canon.ParseHostPattern(p.Scope); err != nil || !p.IsBelow() {
		if err := src.refuseOther("scope", "is no scope"); err != nil {
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
				return src.Refuse(key, "is no regular expression: "+err.Error()+`; use for example /docs/ or [.]html$`)
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
			return src.Refuse("hurry", "holds "+strconv.Quote(h)+", which is no host name; use for example docs.example.org, or *.example.org for that name and all names below it")
		case p.IsOpen():
			return src.Refuse("hurry", "holds "+strconv.Quote(h)+", but anybody may have a name below "+p.Name().String()+"; name a domain of your own, for example *.example.org")
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
			return src.Refuse("resolve", "holds "+strconv.Quote(r)+"; use HOST=ADDR, for example docs.test=127.0.0.1:8080 or *.test=127.0.0.1")
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
