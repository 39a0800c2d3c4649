package look

import (
	"fmt"
	"strings"
	"time"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/term"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/dustin/go-humanize"
)

// robotText is what is known of the mobile robots that are sent to one server for one path.
func robotText(d crawl.DispatchInfo) string {
	parts := []string{d.Origin + d.Path + " at " + d.Server, strings.TrimSuffix(d.State+": "+d.Reason, ": ")}
	if d.Line == 0 {
		parts = append(parts, "robots.txt no longer names the server")
	}
	if d.At != nil {
		parts = append(parts, "last "+d.At.Local().Format(time.DateTime)+" with "+broughtText(d))
	}
	if d.Sampled > 0 {
		parts = append(parts, comparedText(d))
	}
	if d.DroppedUntil != nil {
		parts = append(parts, droppedText(*d.DroppedUntil, d.DropReason))
	}
	if d.Next != nil {
		parts = append(parts, "next "+d.Next.Local().Format(time.DateTime))
	}
	return strings.Join(parts, "; ")
}

// broughtText is what the last robot brought, and what it cost.
func broughtText(d crawl.DispatchInfo) string {
	text := term.Count(d.Pages, "page")
	if d.Unchanged > 0 {
		text += " and " + humanize.Comma(d.Unchanged) + " unchanged"
	}
	if d.Ignored > 0 {
		text += ", " + humanize.Comma(d.Ignored) + " ignored"
	}
	return text + " for " + term.Count(int64(d.Requests), "request") + " and " + term.SizeText(d.BytesReceived)
}

// comparedText is how many pages proved to be what the site serves.
func comparedText(d crawl.DispatchInfo) string {
	text := fmt.Sprintf("%d of %d compared pages are the same", d.Confirmed, d.Sampled)
	if d.Unclear > 0 {
		text += fmt.Sprintf(", %d unclear", d.Unclear)
	}
	return text
}

func droppedText(until time.Time, reason string) string {
	return strings.TrimSuffix("not used until "+until.Local().Format(time.DateTime)+" because "+reason, " because ")
}

// cameText is by which mobile robot a page came.
func cameText(r crawl.ExplainRobot) string {
	text := "brought the page from " + r.Server + ", sent " + r.At.Local().Format(time.DateTime)
	switch {
	case r.DroppedUntil != nil:
		return text + "; the server is " + droppedText(*r.DroppedUntil, r.DropReason) + ", and the page is fetched again"
	case r.Verified:
		return text + "; enough of its pages are the same as those of the site"
	}
	return text + "; its pages are not compared with those of the site yet"
}

// robotsNote is what the list of hosts shows of mobile robots; "" means nothing.
func robotsNote(list []crawl.DispatchInfo) string {
	var notes []string
	for _, d := range list {
		switch {
		case d.DroppedUntil != nil:
			notes = append(notes, "server "+d.Server+" for mobile robots "+droppedText(*d.DroppedUntil, d.DropReason))
		case d.At != nil:
			notes = append(notes, "mobile robot for "+d.Path+" "+d.State+": "+broughtText(d))
		default:
			notes = append(notes, "mobile robot for "+d.Path+" "+strings.TrimSuffix(d.State+": "+d.Reason, ": "))
		}
	}
	return strings.Join(notes, "; ")
}

// robotsText is what the mobile robots of a crawl have done.
func robotsText(m crawl.MobileRobots) string {
	text := "mobile robots: " + humanize.Comma(m.Sent) + " sent"
	if n := int64(m.Outstanding); n > 0 {
		text += " and " + humanize.Comma(n) + " in flight"
	}
	text += ", " + term.Count(m.Pages, "page") + " brought, " + humanize.Comma(m.Unchanged) + " unchanged, " + term.SizeText(m.Received) + " received, " +
		humanize.Comma(m.Confirmed) + " compared and the same"
	if m.Dropped > 0 {
		text += ", " + term.Count(m.Dropped, "server") + " dropped: curtsy hosts --has agents"
	}
	return text
}
