package robots

import (
	"net/url"
	"strings"
)

func (p *parser) sitemap(value string) {
	if value == "" {
		p.odd("Sitemap has no URL: skipped")
		return
	}
	if scheme := lower(schemeOf(value)); scheme != "" && defaultPort(scheme) == 0 {
		p.odd("Sitemap is neither http nor https: skipped")
		return
	}
	if _, seen := p.sitemaps[value]; seen {
		return
	}
	if p.sitemaps == nil {
		p.sitemaps = make(map[string]struct{})
	}
	p.sitemaps[value] = struct{}{}
	p.file.Sitemaps = append(p.file.Sitemaps, value)
}

// schemeOf returns the scheme of an absolute URL, "" for a relative one.
func schemeOf(ref string) string {
	for i := range len(ref) {
		switch c := ref[i]; {
		case isLetter(c):
		case i > 0 && (isDigit(c) || c == '+' || c == '-' || c == '.'):
		case i > 0 && c == ':':
			return ref[:i]
		default:
			return ""
		}
	}
	return ""
}

// SitemapURLs returns the sitemaps as absolute http or https URLs, in file order, each once
// (formats §1.5). Absolute ones stay as written. Relative ones are resolved against robotsURL, the
// address from which the file was requested; those that cannot be resolved are left out. A sitemap
// may be on another host: the robots.txt that names it vouches for it.
func (f *File) SitemapURLs(robotsURL string) []string {
	base, err := url.Parse(robotsURL)
	if err != nil {
		base = new(url.URL)
	}
	var urls []string
	seen := make(map[string]struct{}, len(f.Sitemaps))
	for _, s := range f.Sitemaps {
		if scheme := schemeOf(s); scheme == "" {
			ref, err := url.Parse(s)
			if err != nil {
				continue
			}
			u := base.ResolveReference(ref)
			if defaultPort(u.Scheme) == 0 || u.Host == "" {
				continue
			}
			s = u.String()
		} else if rest := s[len(scheme):]; !strings.HasPrefix(rest, "://") || len(rest) == len("://") {
			continue
		}
		if _, dup := seen[s]; !dup {
			seen[s] = struct{}{}
			urls = append(urls, s)
		}
	}
	return urls
}
