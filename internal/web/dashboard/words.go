package dashboard

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/dustin/go-humanize"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/web/search"
	"github.com/curtsy/curtsy/internal/webtext"
	"github.com/curtsy/curtsy/pkg/canon"
)

// words are the functions by which all pages write numbers, times, links and text from sites.
var words = template.FuncMap{
	"capital":    capital,
	"count":      count,
	"number":     number,
	"size":       size,
	"rate":       rateOf,
	"seconds":    seconds,
	"text":       text,
	"webLink":    webLink,
	"quoted":     webtext.ShellWord,
	"wide":       func(n int) int64 { return int64(n) },
	"precise":    precise,
	"hostLink":   hostLink,
	"urlLink":    urlLink,
	"explainAt":  explainAt,
	"originLink": originLink,
	"unsaid":     unsaid,
	"empty":      emptyList,
	"percent":    percent,
	"means":      reasonWord,

	"called":       called,
	"className":    className,
	"featureName":  featureName,
	"fits":         func(url string) bool { return len(url) <= canon.MaxLen },
	"hostFeatures": hostFeatures,
	"language":     search.LanguageName,
	"shownFields":  search.ShownFields,
	"stateName":    stateName,
	"typeName":     typeName,
}

// capital begins a text with a capital letter, if it begins with a letter: --max-pages stays.
func capital(s string) string {
	first, size := utf8.DecodeRuneInString(s)
	if !unicode.IsLetter(first) {
		return s
	}
	return string(unicode.ToUpper(first)) + s[size:]
}

// count writes a number of things: 1 page, 1,204 pages.
func count(n int64, what string) string {
	if n != 1 {
		what += "s"
	}
	return humanize.Comma(n) + " " + what
}

// number writes a whole number of any type: 1,204.
func number(n any) (string, error) {
	switch n := n.(type) {
	case int:
		return humanize.Comma(int64(n)), nil
	case int64:
		return humanize.Comma(n), nil
	case uint64:
		return humanize.Comma(int64(min(n, math.MaxInt64))), nil
	case *int64:
		if n != nil {
			return humanize.Comma(*n), nil
		}
	}
	return "", fmt.Errorf("%T is no whole number", n)
}

// size writes bytes with a unit: 5 MiB, 3.4 MiB.
func size(n int64) string { return plain(humanize.IBytes(uint64(max(n, 0)))) }

// plain is a number and its unit without a fraction that is 0.
func plain(s string) string { return strings.Replace(s, ".0", "", 1) }

// rateOf writes how many a second.
func rateOf(perSecond float64) string {
	switch {
	case perSecond >= 9.95:
		return humanize.Comma(int64(math.Round(perSecond))) + "/s"
	case perSecond > 0 && perSecond < 0.05:
		return plain(fmt.Sprintf("%.1f", perSecond*60)) + "/min"
	}
	return plain(fmt.Sprintf("%.1f", perSecond)) + "/s"
}

// seconds writes a duration given in seconds: < 1 ms, 250 ms, 1.5 s, 4 min 10 s, 2 h 5 min, 3.5
// days.
func seconds(s float64) string {
	switch d := time.Duration(s * float64(time.Second)); {
	case s > 0 && d < time.Millisecond/2:
		return "< 1 ms"
	case s > 0 && d < time.Second:
		return fmt.Sprintf("%d ms", d.Round(time.Millisecond).Milliseconds())
	case d < 10*time.Second:
		return plain(fmt.Sprintf("%.1f s", s))
	case d < time.Minute:
		return fmt.Sprintf("%.0f s", s)
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
	}
	return plain(fmt.Sprintf("%.1f", s/86400)) + " days"
}

// called is the name of a page: its title, or else its address.
func called(url, title string, most int) string { return cmp.Or(text(title, most), text(url, most)) }

// stateNames are the states of hosts whose names for people differ from those for programs.
var stateNames = map[string]string{"held": "postponed", "robots-pending": "waiting for robots.txt", "waiting": "waiting for its delay"}

func stateName(state string) string { return cmp.Or(stateNames[state], text(state, 40)) }

// featureNames are the names for people of the words in crawl.HostHas.
var featureNames = map[string]string{
	"robots": "robots.txt", "data": "data.txt", "agents": "mobile robots", "usage": "rules of use", "mirror": "a main host elsewhere",
}

func featureName(has string) string { return cmp.Or(featureNames[has], text(has, 40)) }

// hostFeatures are what a host has, in words.
func hostFeatures(h crawl.HostRow) string {
	var all []string
	for has, is := range map[string]bool{"robots": h.Robots, "data": h.DataTxt, "agents": h.Agents, "updates": h.Updates, "usage": h.Usage} {
		if is {
			all = append(all, featureName(has))
		}
	}
	slices.Sort(all)
	if h.Sitemaps > 0 {
		all = append(all, count(int64(h.Sitemaps), "sitemap"))
	}
	return strings.Join(all, ", ")
}

// className is a class of lines in the log.
func className(class string) string {
	if class == "audit" {
		return "operator action"
	}
	return text(class, 40)
}

// typeName is the usual name of a media type: one of the words of --types, or else the type itself.
func typeName(media string) string {
	if names := crawl.TypeOf(media).Names(); len(names) > 0 {
		return names[0]
	}
	return text(media, 60)
}

// maxText is how many characters of a text from a site are shown, unless a page sets another limit.
const maxText = 200

// text is text from a site made fit to be shown, with at most most characters.
func text(s string, most ...int) string {
	n := maxText
	if len(most) > 0 {
		n = most[0]
	}
	return webtext.Short(strings.TrimSpace(webtext.Clean(s)), n)
}

// hostLink leads to the page of a host.
func hostLink(host string) template.HTML {
	return link("/host/"+url.PathEscape(host), text(host, 80), "")
}

// originLink leads to the page of an origin's host.
func originLink(origin string) template.HTML {
	host := hostOf(origin)
	if host == "" {
		return plainURL(origin)
	}
	return hostLink(host)
}

// unsaid is a reason, unless it repeats the status next to it.
func unsaid(status int, reason string) string {
	if reason == fmt.Sprintf("HTTP %d", status) {
		return ""
	}
	return reason
}

// urlLink leads to what is known about a URL, and from there to the web.
func urlLink(raw string) template.HTML {
	if len(raw) > canon.MaxLen {
		return plainURL(raw)
	}
	return link(explainAt(raw), text(raw, 120), ` class="url"`)
}

// explainAt is the address of what is known of a URL.
func explainAt(raw string) string { return "/explain?url=" + url.QueryEscape(raw) }

// webLink leads to the web if the URL is http or https, and does not send a referrer there.
// Anything else is text.
func webLink(raw string) template.HTML {
	u, ok := webtext.URL(raw)
	if !ok || len(raw) > 2*canon.MaxLen {
		return plainURL(raw)
	}
	return link(u.String(), text(raw, 120), ` class="url" rel="noreferrer noopener nofollow"`)
}

// plainURL is a URL that leads nowhere.
func plainURL(raw string) template.HTML {
	return `<bdi class="url">` + template.HTML(template.HTMLEscapeString(text(raw, 120))) + `</bdi>`
}

// link writes a link. The address must be escaped already, and attrs are our own.
func link(to, shown, attrs string) template.HTML {
	return template.HTML(`<a href="` + template.HTMLEscapeString(to) + `"` + attrs + `><bdi>` + template.HTMLEscapeString(shown) + `</bdi></a>`)
}

// emptyList replaces a list that is empty: it names what is missing, and what to type.
func emptyList(what, typed string) template.HTML {
	s := `<p class="empty">` + template.HTMLEscapeString(what)
	if typed != "" {
		s += ` <code>` + template.HTMLEscapeString(typed) + `</code>`
	}
	return template.HTML(s + `</p>`)
}

// percent is a part of a whole.
func percent(part, whole int64) string {
	switch {
	case whole <= 0 || part <= 0:
		return "0%"
	case part*1000 < whole:
		return "< 0.1%"
	case part < whole && part*1000 >= whole*995:
		return "> 99%"
	case part*10 >= whole:
		return fmt.Sprintf("%.0f%%", 100*float64(part)/float64(whole))
	}
	return plain(fmt.Sprintf("%.1f", 100*float64(part)/float64(whole))) + "%"
}

// allReasons are the reasons in alphabetical order.
var allReasons = func() (all []string) {
	for _, r := range crawl.Reasons() {
		all = append(all, string(r))
	}
	return all
}()

// reasonWord is the meaning of a reason; "" for an unknown one.
func reasonWord(reason string) string { return crawl.Reason(reason).Words() }
