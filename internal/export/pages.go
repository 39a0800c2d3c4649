package export

import (
	"slices"
	"strings"
	"time"

	"golang.org/x/net/publicsuffix"
	"golang.org/x/text/language"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Page is a row of the table of pages. The columns from url_surtkey to content_truncated are those
// of Common Crawl's index, as far as their contents are known. content_digest has another digest,
// with its name. Columns that not every page has are null if they are empty.
type Page struct {
	SURT             string  `parquet:"url_surtkey"`
	URL              string  `parquet:"url"`
	Host             string  `parquet:"url_host_name,dict"`
	TLD              *string `parquet:"url_host_tld,optional,dict"`
	RegistrySuffix   *string `parquet:"url_host_registry_suffix,optional,dict"`
	RegisteredDomain *string `parquet:"url_host_registered_domain,optional,dict"`
	PrivateSuffix    *string `parquet:"url_host_private_suffix,optional,dict"`
	PrivateDomain    *string `parquet:"url_host_private_domain,optional,dict"`
	HostReversed     *string `parquet:"url_host_name_reversed,optional,dict"`
	Protocol         string  `parquet:"url_protocol,dict"`
	Port             *int32  `parquet:"url_port,optional"` // unless it is the scheme's own
	Path             string  `parquet:"url_path"`
	Query            *string `parquet:"url_query,optional"`

	FetchTime time.Time `parquet:"fetch_time,timestamp(millisecond)"`
	Status    *int32    `parquet:"fetch_status,optional"`
	Digest    *string   `parquet:"content_digest,optional"` // "sha256:…", of the decoded body
	// Detected is the type as which the page was read: that of its server, or else that of its
	// first bytes.
	MIMEType     *string `parquet:"content_mime_type,optional,dict"`
	MIMEDetected *string `parquet:"content_mime_detected,optional,dict"`
	Charset      *string `parquet:"content_charset,optional,dict"` // in capitals
	Languages    *string `parquet:"content_languages,optional,dict"`
	Truncated    *string `parquet:"content_truncated,optional,dict"` // "length"

	Size       *int64   `parquet:"content_length,optional"` // bytes of the decoded body
	Title      *string  `parquet:"title,optional"`
	Depth      *int32   `parquet:"depth,optional"`
	FoundOn    *string  `parquet:"found_on,optional"`
	Canonical  *string  `parquet:"canonical,optional"`
	Aliases    []string `parquet:"aliases,list"`
	Snippet    *bool    `parquet:"snippet_allowed,optional"`
	MaxSnippet *int32   `parquet:"max_snippet,optional"`
	Rendering  *string  `parquet:"rendering,optional,dict"` // needed, done or failed

	UsageSearch  *string `parquet:"usage_search,optional,dict"`
	UsageAIInput *string `parquet:"usage_ai_input,optional,dict"`
	UsageAITrain *string `parquet:"usage_ai_train,optional,dict"`
	UsageTDM     *string `parquet:"usage_tdm,optional,dict"`

	// Removed is why the page is no longer a part of the export. Then only its URL and fetch_time
	// are set.
	Removed  *string `parquet:"removed,optional,dict"`
	Withheld *string `parquet:"withheld,optional,dict"` // why it has no content
	Cut      *bool   `parquet:"cut,optional"`           // its content is only the beginning
	// The content is in one of these, as the export asked.
	Text     *string `parquet:"text,optional"`
	Markdown *string `parquet:"markdown,optional"`
	HTML     *string `parquet:"html,optional"`
}

// bulky are the columns with long values, which are not repeated in the indexes of the file.
var bulky = []string{
	"text", "markdown", "html", "title", "found_on", "canonical", "description", "extra_json", "provenance_json", "conflicts_json",
}

// PageOf makes the row of a page.
func PageOf(p *crawl.PageRow) Page {
	u := canon.URL(p.URL)
	host := u.Host()
	row := Page{
		SURT: valid(u.SURT()), URL: valid(p.URL), Host: valid(string(host)), Protocol: u.Scheme(), Path: valid(u.Path()), Query: text(u.Query()),
		FetchTime: p.FetchedAt.UTC(), Removed: text(p.Removed),
	}
	if o := u.Origin(); o.Port != 0 && o.Port != defaultPorts[o.Scheme] {
		row.Port = new(int32(o.Port))
	}
	row.domains(string(host), host.IsIP())
	if p.Removed != "" {
		return row
	}
	row.Status, row.Depth, row.Size, row.Snippet = new(int32(p.Status)), new(int32(p.Depth)), new(p.Size), new(p.SnippetAllowed)
	if p.SHA256 != "" {
		row.Digest = text("sha256:" + p.SHA256)
	}
	row.MIMEType, row.MIMEDetected = text(p.ContentType), text(p.ContentType)
	row.Charset, row.Languages = text(strings.ToUpper(p.Charset)), text(iso639_3(p.Lang))
	if p.Truncated {
		row.Truncated = text("length")
	}
	row.Title, row.Canonical = text(p.Title), text(p.Canonical)
	if p.FoundOn != nil {
		row.FoundOn = text(*p.FoundOn)
	}
	for _, a := range p.Aliases {
		row.Aliases = append(row.Aliases, valid(a))
	}
	if p.MaxSnippet > 0 {
		row.MaxSnippet = new(int32(p.MaxSnippet))
	}
	row.Rendering = text(p.Rendering)
	row.UsageSearch, row.UsageAIInput, row.UsageAITrain, row.UsageTDM = text(p.Usage.Search), text(p.Usage.AIInput), text(p.Usage.AITrain), text(p.Usage.TDM)
	row.Withheld, row.Cut = text(p.Withheld), new(p.Cut)
	row.Text, row.Markdown, row.HTML = text(p.Text), text(p.Markdown), text(p.HTML)
	return row
}

var defaultPorts = map[string]int{"http": 80, "https": 443}

// domains fills in the parts of a host's name. An IP address has none. registry uses the first
// section of the public suffix list, and private uses both sections.
func (row *Page) domains(host string, ip bool) {
	if ip {
		return
	}
	host = strings.TrimSuffix(host, ".")
	row.TLD = text(host[strings.LastIndexByte(host, '.')+1:])
	suffix, icann := publicsuffix.PublicSuffix(host)
	row.PrivateSuffix, row.PrivateDomain = text(suffix), text(under(host, suffix))
	for !icann && strings.Contains(suffix, ".") {
		_, above, _ := strings.Cut(suffix, ".")
		suffix, icann = publicsuffix.PublicSuffix(above)
	}
	row.RegistrySuffix, row.RegisteredDomain = text(suffix), text(under(host, suffix))
	labels := strings.Split(host, ".")
	slices.Reverse(labels)
	row.HostReversed = text(strings.Join(labels, "."))
}

// under is the part of a host that is one label longer than a suffix. It is empty if the host is
// the suffix.
func under(host, suffix string) string {
	name, ok := strings.CutSuffix(host, "."+suffix)
	if !ok {
		return ""
	}
	return name[strings.LastIndexByte(name, '.')+1:] + "." + suffix
}

// iso639_3 is the code of a language with three letters, as in Common Crawl's index. An unknown
// language stays as it is.
func iso639_3(lang string) string {
	base, err := language.ParseBase(lang)
	if err != nil {
		return lang
	}
	return base.ISO3()
}

// Link is a row of the table of links. A row with Removed has no ToURL: the page was removed or
// stored again, and its earlier links are void.
type Link struct {
	From    string  `parquet:"from_url,dict"`
	To      *string `parquet:"to_url,optional"`
	Removed *string `parquet:"removed,optional,dict"`
}

// LinkOf makes the row of a link.
func LinkOf(l crawl.LinkRow) Link {
	return Link{From: valid(l.From), To: text(l.To), Removed: text(l.Removed)}
}

// text returns nil for an empty text.
func text(s string) *string {
	if s == "" {
		return nil
	}
	return new(valid(s))
}

// valid makes s valid UTF-8, which the columns require. JSON does the same.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
