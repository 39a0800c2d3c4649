package crawl

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"sync"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/usage"
)

// Spec has the settings of a crawl. It is stored in the crawl's KV bucket. Every service reads it,
// and `curtsy crawl` and `curtsy seed` write it. Shards never changes after the crawl is created;
// everything else may change between runs.
type Spec struct {
	Name    string    `json:"name"`
	Shards  int       `json:"shards"`
	Created time.Time `json:"created"`

	Seeds   []string `json:"seeds"` // canonical
	Scope   string   `json:"scope"` // page, prefix, host, subdomains, domain, any, or *.NAME
	Include []string `json:"include,omitempty"`
	Exclude []string `json:"exclude,omitempty"`
	// NoLinks: the links of pages are not followed. Only seeds, entries of sitemaps and of other
	// lists of a site, and the targets of their redirects are crawled.
	NoLinks bool `json:"no_links,omitempty"`

	// PlanOnly: no pages are fetched, but only the files that list pages and the rules for them
	// (`curtsy plan`). URLs that would be fetched are refused with ReasonPlanned.
	PlanOnly bool `json:"plan_only,omitempty"`

	// MaxPages limits the stored pages; 0 = no limit.
	MaxPages int64 `json:"max_pages,omitempty"`
	// MaxBytes limits the bytes of all bodies that are read; 0 = no limit.
	MaxBytes int64 `json:"max_bytes,omitempty"`
	// MaxDepth limits the number of links from a seed; -1 = no limit.
	MaxDepth        int   `json:"max_depth"`
	MaxPagesPerHost int64 `json:"max_pages_per_host,omitempty"` // 0 = no limit
	// MaxHosts limits the host names of a registered domain, in addition to one for each stored
	// page of the domain; 0 means DefaultMaxHosts.
	MaxHosts int64 `json:"max_hosts,omitempty"`
	// HoldMax: URLs that are not due within this time do not prevent the end of the crawl.
	HoldMax time.Duration `json:"hold_max"`

	Agent string `json:"agent"` // product token
	// Contact is a mail address or URL. Without it only private addresses are visited.
	Contact string `json:"contact,omitempty"`
	// Delay is the configured delay; 0 = none, for hosts that may be hurried.
	Delay time.Duration `json:"delay"`
	// Hurry are the operator's own hosts, for which a delay under 1 s is allowed.
	Hurry        []string `json:"hurry,omitempty"`
	AllowPrivate bool     `json:"allow_private,omitempty"`
	Resolve      []string `json:"resolve,omitempty"` // HOST=ADDR, *.suffix=ADDR
	Paused       bool     `json:"paused,omitempty"`
	// Hours are when requests are sent (package hours); empty: at any time. Timezone is that of
	// Hours and of the hours in Sites; empty: UTC.
	Hours    string `json:"hours,omitempty"`
	Timezone string `json:"timezone,omitempty"`
	// Sites is the text of a file of site rules (package siterules). It is stored as it was
	// written, so that explanations can name its lines.
	Sites string `json:"sites,omitempty"`
	// Hosts are the operator's settings for single hosts; see WithHost.
	Hosts  map[canon.Host]HostRule `json:"hosts,omitempty"`
	Search bool                    `json:"search"`

	Sitemaps bool `json:"sitemaps,omitempty"` // read the sitemaps that sites offer

	Freshness

	// Purposes are the purposes of the crawl (usage.Purpose); none: search. Pages for which all of
	// them are forbidden are not fetched, or not stored.
	Purposes []string `json:"purposes,omitempty"`
	// Types are the words for the stored types (TypeSet); none: html and text.
	Types []string `json:"types,omitempty"`

	SiteFiles

	// AcceptMarkdown: pages are requested as Markdown where a site offers it.
	AcceptMarkdown bool `json:"accept_markdown,omitempty"`
	// Render says for which pages in HTML scripts are run: [RenderNever], [RenderAuto] or
	// [RenderAlways]. Empty: never. Site rules may say otherwise for their pages.
	Render string `json:"render,omitempty"`
	// RenderLoad are the kinds of requests (image, font, media) that rendered pages may make beside
	// those for scripts, styles and data.
	RenderLoad []string `json:"render_load,omitempty"`
	// SendRobots: mobile robots are sent to the servers that sites name for them; see SendsRobots.
	// The key with which they are signed belongs to the processes that fetch.
	SendRobots bool `json:"send_robots,omitempty"`
	// RobotServers are servers (host or host:port) that may be used for sites of other registered
	// domains than their own.
	RobotServers []string `json:"robot_servers,omitempty"`
	// WARC is the directory of the archive on the machine of each indexer. Empty: nothing is
	// archived.
	WARC string `json:"warc,omitempty"`
	// Forgotten are hosts ("d.example") and URL prefixes that `curtsy forget` has removed. They are
	// never fetched, stored or shown.
	Forgotten []string `json:"forgotten,omitempty"`

	SearchSettings
}

// SearchSettings are the settings of a Spec about its search.
type SearchSettings struct {
	// Reindex is when `curtsy reindex` was last used during the crawl, in RFC 3339. A shard
	// rebuilds its search index if the index has another mark.
	Reindex string `json:"reindex,omitempty"`
	// SearchRules is the text of a file of search rules (package searchrules). It decides about
	// ranks only, and never about a URL.
	SearchRules string `json:"search_rules,omitempty"`
}

// SiteFiles are the settings of a Spec about files that a site may have at a fixed address.
type SiteFiles struct {
	// DataJSON: where /data.txt is requested, /data.json is requested as well.
	DataJSON bool `json:"data_json,omitempty"`
	// SecurityTxt: the security.txt of each origin is requested.
	SecurityTxt bool `json:"security_txt,omitempty"`
	// LLMSTxt: the llms.txt of each origin is requested, and its links are followed.
	LLMSTxt bool `json:"llms_txt,omitempty"`
}

// DefaultMaxHosts is the default of Spec.MaxHosts.
const DefaultMaxHosts = 1000

// PurposeSet are the purposes of the crawl. Words that this version does not know are ignored.
func (s *Spec) PurposeSet() (set usage.Purposes) {
	for _, name := range s.Purposes {
		if p, err := usage.ParsePurpose(name); err == nil {
			set |= usage.PurposesOf(p)
		}
	}
	if set == 0 {
		return usage.PurposesOf(usage.Search)
	}
	return set
}

// ScopeText identifies the settings that decide whether a link is in scope. It changes with each
// change of the site rules that may change a decision about a URL (SitesText), also with one that
// has no effect on the scope: the passes that follow then find nothing to do.
func (s *Spec) ScopeText() string {
	text := fmt.Sprintf("%s|%q|%q|%q", s.Scope, slices.Sorted(slices.Values(s.Seeds)), s.Include, s.Exclude)
	if sites := s.SitesURLHash(); sites != 0 {
		text += fmt.Sprintf("|%x", sites)
	}
	return text
}

// ScopeHash is a hash of ScopeText for messages. It is never 0.
func (s *Spec) ScopeHash() uint64 { return hashOf(s.ScopeText()) }

// LinkText identifies the settings that decide whether a link on a page is followed: the scope, and
// NoLinks.
func (s *Spec) LinkText() string {
	if s.NoLinks {
		return s.ScopeText() + "|none"
	}
	return s.ScopeText()
}

// LinkHash is a hash of LinkText for messages. It is never 0.
func (s *Spec) LinkHash() uint64 { return LinkHashOf(s.LinkText()) }

// LinkHashOf is the LinkHash of a spec with this LinkText.
func LinkHashOf(text string) uint64 { return hashOf(text) }

// SitesHash identifies the site rules in messages and records. It is 0 if there are none.
func (s *Spec) SitesHash() uint64 {
	if s.Sites == "" {
		return 0
	}
	return hashOf(s.Sites)
}

func hashOf(text string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(text)) // never fails
	return max(h.Sum64(), 1)
}

// PageRules are the keys of an entry of site rules that decide only about pages that were fetched.
// All others may change a decision about a URL. Fields do so as well if a page is skipped because
// of a field. A test in package siterules compares the list with the table of keys.
var PageRules = []string{"fields", "content"}

// SitesText identifies what the site rules say that may change a decision about a URL. It is empty
// if they say nothing of that kind.
func (s *Spec) SitesText() string {
	if s.Sites == "" {
		return ""
	}
	reduced.mu.Lock()
	defer reduced.mu.Unlock()
	if reduced.sites != s.Sites {
		reduced.sites, reduced.text = s.Sites, sitesText(s.Sites)
	}
	return reduced.text
}

// reduced is the last SitesText. All specs of a process mostly have the same rules, and are asked
// for it with each sitemap.
var reduced struct {
	mu          sync.Mutex
	sites, text string
}

// SitesURLHash is a hash of SitesText; 0 if that is empty.
func (s *Spec) SitesURLHash() uint64 {
	if text := s.SitesText(); text != "" {
		return hashOf(text)
	}
	return 0
}

// sitesText is SitesText without the memory. Of a file that cannot be read as one of rules,
// everything counts.
func sitesText(text string) string {
	var file yaml.Node
	if err := yaml.Unmarshal([]byte(text), &file); err != nil || file.Kind != yaml.DocumentNode {
		return text
	}
	sites := valueOf(file.Content[0], "sites")
	if sites == nil || !plain(&file) {
		return text
	}
	var b strings.Builder
	withFields := skipsByField(sites)
	for i := 0; i+1 < len(sites.Content); i += 2 {
		entry := sites.Content[i+1]
		var own strings.Builder
		for j := 0; j+1 < len(entry.Content); j += 2 {
			key := entry.Content[j].Value
			if slices.Contains(PageRules, key) && (key != "fields" || !withFields) {
				continue
			}
			fmt.Fprintf(&own, "%q", key)
			write(&own, entry.Content[j+1])
		}
		if own.Len() > 0 { // an entry that says nothing changes nothing
			fmt.Fprintf(&b, "%q{%s}", sites.Content[i].Value, &own)
		}
	}
	return b.String()
}

// skipsByField reports whether an entry skips pages because of a field.
func skipsByField(sites *yaml.Node) bool {
	for i := 1; i < len(sites.Content); i += 2 {
		if skip := valueOf(sites.Content[i], "skip"); skip != nil {
			for _, condition := range skip.Content {
				if valueOf(condition, "field") != nil {
					return true
				}
			}
		}
	}
	return false
}

// valueOf is the value of a key, or nil.
func valueOf(n *yaml.Node, key string) *yaml.Node {
	if n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// plain reports whether no part refers to another one. Rules that do are not accepted.
func plain(n *yaml.Node) bool {
	return n.Kind != yaml.AliasNode && n.Anchor == "" && !slices.ContainsFunc(n.Content, func(c *yaml.Node) bool { return !plain(c) })
}

// write writes a value without its form: comments, quotes and indentation do not count.
func write(b *strings.Builder, n *yaml.Node) {
	if n.Kind == yaml.ScalarNode {
		fmt.Fprintf(b, "=%s%q", n.Tag, n.Value)
		return
	}
	fmt.Fprintf(b, "%d(", n.Kind)
	for _, c := range n.Content {
		write(b, c)
	}
	b.WriteByte(')')
}
