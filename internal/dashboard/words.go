package dashboard

import (
	"fmt"
	"html/template"
	"math"
	"net/url"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/curtsy/curtsy/internal/webtext"
	"github.com/curtsy/curtsy/pkg/canon"
)

// words are the functions by which all pages write numbers, times, links and what comes from sites.
var words = template.FuncMap{
	"static":     staticURL,
	"count":      count,
	"number":     number,
	"size":       size,
	"rate":       rateOf,
	"seconds":    seconds,
	"time":       clock,
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

// size writes bytes with a unit.
func size(n int64) string { return humanize.IBytes(uint64(max(n, 0))) }

// rateOf writes how many a second.
func rateOf(perSecond float64) string {
	switch {
	case perSecond >= 99.95:
		return humanize.Comma(int64(math.Round(perSecond))) + "/s"
	case perSecond > 0 && perSecond < 0.05:
		return fmt.Sprintf("%.1f/min", perSecond*60)
	}
	return fmt.Sprintf("%.1f/s", perSecond)
}

// seconds writes a duration given in seconds: < 1 ms, 250 ms, 1.5 s, 4 min 10 s, 2 h 5 min, 3.5
// days.
func seconds(s float64) string {
	switch d := time.Duration(s * float64(time.Second)); {
	case s > 0 && d < time.Millisecond/2:
		return "< 1 ms"
	case s > 0 && d < time.Second:
		return fmt.Sprintf("%d ms", d.Round(time.Millisecond).Milliseconds())
	case d < 10*time.Second && d%time.Second != 0:
		return fmt.Sprintf("%.1f s", s)
	case d < time.Minute:
		return fmt.Sprintf("%.0f s", s)
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%.1f days", s/86400)
}

// clock is a time as people read it, with its zone, and as programs do. It takes a time.Time or a
// *time.Time; of none it says so.
func clock(at any) template.HTML {
	var t time.Time
	switch at := at.(type) {
	case time.Time:
		t = at
	case *time.Time:
		if at != nil {
			t = *at
		}
	}
	if t.IsZero() {
		return `<span class="soft">never</span>`
	}
	t = t.Local()
	return template.HTML(`<time datetime="` + t.Format(time.RFC3339) + `">` + template.HTMLEscapeString(t.Format("2 Jan 2006 15:04:05 MST")) + `</time>`)
}

// maxText is how many characters are shown of a text from a site, unless a page says otherwise.
const maxText = 200

// text is what a site sent, fit to be shown; most bounds its characters.
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

// unsaid is a reason, unless it says no more than the status beside it.
func unsaid(status int, reason string) string {
	if reason == fmt.Sprintf("HTTP %d", status) {
		return ""
	}
	return reason
}

// urlLink leads to what is known of a URL, and from there to the web.
func urlLink(raw string) template.HTML {
	if len(raw) > canon.MaxLen {
		return plainURL(raw)
	}
	return link(explainAt(raw), text(raw, 120), ` class="url"`)
}

// explainAt is the address of what is known of a URL.
func explainAt(raw string) string { return "/explain?url=" + url.QueryEscape(raw) }

// webLink leads out to the web, where that is http or https, and tells nobody there who has looked.
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

// link writes one; to is escaped as an address already, attrs are ours.
func link(to, shown, attrs string) template.HTML {
	return template.HTML(`<a href="` + template.HTMLEscapeString(to) + `"` + attrs + `><bdi>` + template.HTMLEscapeString(shown) + `</bdi></a>`)
}

// emptyList stands where there is nothing yet: what is missing, and what to type.
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
		return "0 %"
	case part*1000 < whole:
		return "< 0.1 %"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(part)/float64(whole))
}
