// Package draft writes a first file of site rules from pages of a site: which fields its pages
// have, where their main text is, and what is on all of them. It tries what templates of manuals
// and wikis, JSON-LD and <meta> elements usually have, and states on how many pages each was found.
package draft

import (
	"cmp"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	nethtml "golang.org/x/net/html"

	"github.com/curtsy/curtsy/internal/html"
	"github.com/curtsy/curtsy/internal/siterules"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Page is a sampled page.
type Page struct {
	URL         canon.URL
	ContentType string
	Charset     string
	Header      http.Header
	Body        []byte
}

// Field is a field that was found.
type Field struct {
	Name    string
	Source  string // in YAML, without braces
	Pages   int    // that have it
	Values  int    // different ones
	Example string
}

// Draft is a first file, and what is in it.
type Draft struct {
	Entry     string // the site or the prefix of its URLs
	Generator string // the program that made the pages, as they name it
	Fields    []Field
	Main      string // the selector of the main part; may be empty
	Drop      []string
	Title     bool // the main heading is a better title than that of the page
	Pages     int
}

// Of makes a draft from pages of one site, of which the first is where the site begins.
func Of(pages []Page) (*Draft, error) {
	if len(pages) == 0 {
		return nil, fmt.Errorf("there is no page")
	}
	d := &Draft{Entry: entryOf(pages[0].URL), Pages: len(pages)}
	t := &trier{pages: pages, entry: d.Entry}
	found, err := t.try(slices.Concat(candidates, metas(pages)))
	if err != nil {
		return nil, err
	}
	best := map[string]int{}
	for _, f := range found {
		i, ok := best[f.Name]
		switch {
		case f.Pages < max(min(2, len(pages)), len(pages)/5):
		case !ok:
			best[f.Name] = len(d.Fields)
			d.Fields = append(d.Fields, f.Field)
		case f.Pages > d.Fields[i].Pages && (f.Values > 1 || d.Fields[i].Values == 1):
			d.Fields[i] = f.Field
		}
	}
	if err := d.content(t); err != nil {
		return nil, err
	}
	if _, err := siterules.Parse("draft", d.Text()); err != nil {
		return nil, err
	}
	return d, nil
}

// entryOf is the host of a URL, or the folder that it is in.
func entryOf(u canon.URL) string {
	site := strings.TrimPrefix(strings.TrimSuffix(string(u.Root()), "/"), u.Scheme()+"://")
	if path := u.Path(); strings.Count(path, "/") > 1 {
		site += path[:strings.LastIndexByte(path, '/')+1]
	}
	return site
}

// trier tries fields on pages.
type trier struct {
	pages []Page
	entry string
}

type tried struct {
	Field
	bytes int // of the values
}

// atOnce is how many fields are tried with one file.
const atOnce = 50

// try returns the fields that at least one page has.
func (t *trier) try(list []candidate) (found []tried, err error) {
	for part := range slices.Chunk(list, atOnce) {
		var b strings.Builder
		fmt.Fprintf(&b, "sites:\n  %s:\n    fields:\n", strconv.Quote(t.entry))
		for i, c := range part {
			fmt.Fprintf(&b, "      c%d: {%s}\n", i, c.source)
		}
		rules, err := siterules.Parse("candidates", b.String())
		if err != nil {
			return nil, err
		}
		got := make([]tried, len(part))
		values := make([]map[string]bool, len(part))
		for _, p := range t.pages {
			out := rules.For(p.URL).Read(siterules.Input{URL: p.URL, ContentType: p.ContentType, Charset: p.Charset, Header: p.Header, Body: p.Body})
			for _, f := range out.Ruled.Fields {
				i, _ := strconv.Atoi(f.Name[1:])
				text := strings.Join(f.Values, " | ")
				if values[i] == nil {
					values[i] = map[string]bool{}
					got[i].Example = text
				}
				values[i][text] = true
				got[i].Pages++
				got[i].bytes += len(text)
			}
		}
		for i, c := range part {
			got[i].Name, got[i].Source, got[i].Values = c.name, c.source, len(values[i])
			if c.alike && got[i].Values > max(1, got[i].Pages/4) {
				continue
			}
			if got[i].Pages > 0 && (c.site || got[i].Values > 1 || len(t.pages) < 3) {
				found = append(found, got[i])
			}
		}
	}
	return found, nil
}

var (
	notInName = regexp.MustCompile(`[^a-z0-9]+`)
	// common are <meta> elements that say nothing of the page, or that candidates read.
	common = regexp.MustCompile(`(?i)^(viewport|generator|robots|googlebot.*|description|author|keywords|date|theme-color|referrer|charset|content-type|refresh|` +
		`format-detection|color-scheme|csrf.*|apple-.*|msapplication-.*|twitter:.*|og:.*|fb:.*|article:.*|google.*|.*verification|x-ua-compatible|readthedocs-.*|docsearch:version|docusaurus_version|docusaurus_locale|` +
		`docusaurus_tag|docbuild:.*|mobile-web-app-.*|handheldfriendly|mobileoptimized|copyright|rights|distribution|language|resource-type)$`)
)

// metas are fields for the other <meta> elements of the pages.
func metas(pages []Page) (list []candidate) {
	seen := map[string]bool{}
	for _, p := range pages {
		each(p, func(name string, attr map[string]string) {
			meta := cmp.Or(attr["name"], attr["property"])
			if name != "meta" || meta == "" || attr["content"] == "" || seen[meta] || common.MatchString(meta) || len(meta) > 40 || len(seen) > 40 {
				return
			}
			seen[meta] = true
			field := strings.Trim(notInName.ReplaceAllString(strings.ToLower(meta), "_"), "_")
			if field == "" || field[0] < 'a' || siterules.Reserved(field) {
				field = "meta_" + field
			}
			if !slices.ContainsFunc(candidates, func(c candidate) bool { return c.name == field }) {
				list = append(list, candidate{field, "meta: " + strconv.Quote(meta), false, false})
			}
		})
	}
	return list
}

// each calls do for the start tags of a page.
func each(p Page, do func(name string, attr map[string]string)) {
	z := nethtml.NewTokenizer(strings.NewReader(string(html.Decode(p.Body, p.Charset))))
	for {
		switch z.Next() {
		case nethtml.ErrorToken:
			return
		case nethtml.StartTagToken, nethtml.SelfClosingTagToken:
			t := z.Token()
			attr := map[string]string{}
			for _, a := range t.Attr {
				if _, ok := attr[a.Key]; !ok {
					attr[a.Key] = a.Val
				}
			}
			do(t.Data, attr)
		}
	}
}

// content finds the main part, what to drop, and whether the heading is a better title.
func (d *Draft) content(t *trier) error {
	selectors := func(list []string) (all []candidate) {
		for _, s := range list {
			all = append(all, candidate{s, "css: " + strconv.Quote(s) + ", type: text", true, false})
		}
		return all
	}
	found, err := t.try(slices.Concat(selectors([]string{"body", "h1"}), []candidate{{"title", `css: title, type: text`, true, false}}, selectors(mains)))
	if err != nil {
		return err
	}
	var body, h1, title tried
	best := tried{}
	for _, f := range found {
		switch f.Name {
		case "body":
			body = f
		case "h1":
			h1 = f
		case "title":
			title = f
		default:
			// It is on nearly all pages, and has most of their text.
			if f.Pages >= (9*d.Pages+9)/10 && 3*f.bytes >= body.bytes && (best.Pages == 0 || 10*f.bytes < 9*best.bytes) {
				best = f
			}
		}
	}
	d.Main = best.Name
	d.Title = h1.Pages >= (9*d.Pages+9)/10 && h1.Values >= title.Values && h1.Values > d.Pages/2
	if found, err = t.try(selectors(drops)); err != nil {
		return err
	}
	for _, f := range found {
		if f.Pages >= max(min(2, d.Pages), d.Pages/5) && 3*f.bytes < body.bytes {
			d.Drop = append(d.Drop, f.Name)
		}
	}
	each(t.pages[0], func(name string, attr map[string]string) {
		if name == "meta" && strings.EqualFold(attr["name"], "generator") && d.Generator == "" {
			d.Generator = attr["content"]
		}
	})
	return nil
}

// Links are the links of a page to other pages in the folder of the first one, without those that
// the page asks not to follow.
func Links(p Page, first canon.URL) (links []canon.URL) {
	base := canon.NewBase(p.URL)
	folder := string(first)[:strings.LastIndexByte(string(first), '/')+1]
	seen, none := map[canon.URL]bool{p.URL: true}, false
	each(p, func(name string, attr map[string]string) {
		if robots := strings.ToLower(attr["content"]); name == "meta" && strings.EqualFold(attr["name"], "robots") {
			none = none || strings.Contains(robots, "nofollow") || strings.Contains(robots, "none")
		}
		if name != "a" || attr["href"] == "" || strings.Contains(attr["rel"], "nofollow") {
			return
		}
		u, err := base.Join(attr["href"])
		if err != nil || seen[u] || !strings.HasPrefix(string(u), folder) || u.Query() != "" || !isPage(u.Path()) {
			return
		}
		seen[u] = true
		links = append(links, u)
	})
	if none {
		return nil
	}
	return links
}

// isPage reports whether a path looks like that of a page.
func isPage(path string) bool {
	name := path[strings.LastIndexByte(path, '/')+1:]
	_, ext, ok := strings.Cut(name, ".")
	ext = ext[strings.LastIndexByte(ext, '.')+1:]
	return !ok || slices.Contains([]string{"html", "htm", "xhtml", "php", "asp", "aspx", "jsp"}, strings.ToLower(ext)) || regexp.MustCompile(`^\d+$`).MatchString(ext)
}

// Spread takes n URLs of a list at equal distances.
func Spread(list []canon.URL, n int) (some []canon.URL) {
	if len(list) <= n {
		return list
	}
	for i := range n {
		some = append(some, list[i*len(list)/n])
	}
	return some
}
