package main

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/spf13/cobra"
)

func (a *app) hostsCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "hosts",
		Short: "List the hosts: their state, delay, queue and robots.txt",
		Args:  no,
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON Lines, one host a line")
	return a.reading(cmd, func(cmd *cobra.Command, from *asker.Crawl, _ []string) error {
		if asJSON {
			return from.Hosts(cmd.Context(), func(h crawl.HostInfo) error { return a.printJSON(h) })
		}
		t := newTable(a.stdout, "HOST", "STATE", "DELAY", "BY", "QUEUED", "FETCHED", "ROBOTS", "NOTE")
		err := from.Hosts(cmd.Context(), func(h crawl.HostInfo) error {
			robots := "unknown"
			if h.Robot != nil {
				robots = h.Robot.State
			}
			return t.row(h.Host, h.State, strconv.FormatFloat(h.DelayS, 'g', 4, 64)+"s", h.DelaySource,
				strconv.FormatInt(h.Queued, 10), strconv.FormatInt(h.Fetched, 10), robots, hostNote(h))
		})
		return errors.Join(err, t.flush())
	})
}

// hostNote is what else there is to say of a host.
func hostNote(h crawl.HostInfo) string {
	var notes []string
	if h.Reason != "" {
		notes = append(notes, h.Reason)
	}
	if h.NextDue != nil && time.Until(*h.NextDue) > time.Minute {
		notes = append(notes, "next "+h.NextDue.Local().Format(time.DateTime))
	}
	if h.MirrorOf != nil {
		notes = append(notes, "mirror of "+*h.MirrorOf)
	}
	if h.Robot != nil && h.Robot.HostHint != "" {
		notes = append(notes, "says its main mirror is "+h.Robot.HostHint)
	}
	for _, s := range h.AgentServers {
		notes = append(notes, "agents for "+s.Path+": "+s.Target)
	}
	if n := sitemapsNote(h.Sitemaps); n != "" {
		notes = append(notes, n)
	}
	if n := securityNote(h.Robots); n != "" {
		notes = append(notes, n)
	}
	return strings.Join(notes, "; ")
}

// sitemapsNote is what the sitemaps on a host name, as far as they are told of; empty
// when none was read.
func sitemapsNote(list []crawl.SitemapInfo) string {
	read, pages := 0, 0
	for _, s := range list {
		if s.ReadAt == nil || s.Form == "" {
			continue
		}
		if read++; s.Form != "index" {
			pages += s.Entries
		}
	}
	if read == 0 {
		return ""
	}
	return "sitemaps read: " + strconv.Itoa(read) + ", naming " + strconv.Itoa(pages) + " pages"
}

// securityNote is what the first security.txt of a host says that was found, or else what came of
// asking; empty when it was not asked for.
func securityNote(origins []crawl.RobotsInfo) (note string) {
	for _, o := range origins {
		switch s := o.SecurityTxt; {
		case s == nil:
		case s.State == crawl.SecurityFound:
			note = "security.txt: " + strings.Join(s.Contacts, " ")
			if !s.Expires.IsZero() {
				note += ", expires " + s.Expires.Local().Format(time.DateOnly)
			}
			return note
		case note == "":
			note = strings.TrimSuffix("security.txt: "+s.State+" ("+s.Reason, " (")
			if s.Reason != "" {
				note += ")"
			}
		}
	}
	return note
}
