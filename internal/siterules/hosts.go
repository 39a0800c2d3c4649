package siterules

import (
	"slices"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// OfHost returns the rules of a host that do not depend on the path of a URL: those of its https
// origin, and of its http origin if they differ.
func (r *Rules) OfHost(host canon.Host) (all []*Site) {
	if r == nil || len(r.entries) == 0 {
		return nil
	}
	for _, scheme := range [...]string{"https://", "http://"} {
		s := r.For(canon.URL(scheme + string(host) + "/"))
		if s != nil && (len(all) == 0 || all[0] != s) {
			all = append(all, s)
		}
	}
	return all
}

// Delay is the least delay of a host; 0: none is stated.
func (r *Rules) Delay(host canon.Host) (d time.Duration) {
	if !r.any("delay") {
		return 0
	}
	for _, s := range r.OfHost(host) {
		d = max(d, s.Delay)
	}
	return d
}

// Hours are the hours of a host, in the form of --hours; empty: it has none of its own.
func (r *Rules) Hours(host canon.Host) string {
	for _, s := range r.OfHost(host) {
		if s.Hours != "" {
			return s.Hours
		}
	}
	return ""
}

// MaxPages is how many pages of a host may be stored; 0: as the crawl says.
func (r *Rules) MaxPages(host canon.Host) (n int64) {
	if !r.any("max-pages") {
		return 0
	}
	for _, s := range r.OfHost(host) {
		if s.MaxPages > 0 && (n == 0 || s.MaxPages < n) {
			n = s.MaxPages
		}
	}
	return n
}

// HoursByHost returns Hours as hours.NewByHost takes it: nil if no entry has hours.
func (r *Rules) HoursByHost() func(host string) string {
	if !r.any("hours") {
		return nil
	}
	return func(host string) string { return r.Hours(canon.Host(host)) }
}

// HasMaxPages reports whether an entry has a limit of pages.
func (r *Rules) HasMaxPages() bool { return r.any("max-pages") }

func (r *Rules) any(key string) bool { return r != nil && r.used[key] }

// Widened returns the entry that takes a host into the scope because it takes all names below its
// own ("subdomains"), as it is written and with its line; "" if there is none.
func (r *Rules) Widened(host canon.Host) string {
	if !r.any("subdomains") {
		return ""
	}
	for name := string(host); name != ""; _, name, _ = strings.Cut(name, ".") {
		for _, s := range r.OfHost(canon.Host(name)) {
			if s.Subdomains {
				return s.Entry() + ": subdomains"
			}
		}
	}
	return ""
}

// Renders reports whether the scripts of pages of some site are to be run.
func (r *Rules) Renders() bool {
	return r.any("render") && slices.ContainsFunc(r.entries, func(e *entry) bool { return e.site.Render != "" && e.site.Render != crawl.RenderNever })
}
