package settings

import (
	"fmt"
	"net/mail"
	"net/netip"
	"net/url"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/hours"
	"github.com/curtsy/curtsy/internal/siterules"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/usage"
)

var tokenRE = regexp.MustCompile(`^[A-Za-z_-]+$`)

func checkAgent(token string) string {
	if !tokenRE.MatchString(token) {
		return "is not a product token; use letters, '-' and '_' only, for example curtsy"
	}
	return ""
}

func checkContact(contact string) string {
	if contact != "" && !contactable(contact) {
		return "is neither a mail address nor a URL; use for example me@example.org or https://example.org/bot"
	}
	return ""
}

// contactable reports whether somebody could use this contact, or whether it is a slip of the
// fingers. The contact goes into a comment of the User-Agent, which blanks and parentheses would
// break.
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

// checkHours reads hours without their time zone, which is another setting.
func checkHours(text string) string {
	if _, err := hours.Parse(text, ""); err != nil {
		return "cannot be used: " + err.Error()
	}
	return ""
}

func checkSites(text Sites) string {
	switch {
	case text == "":
		return ""
	case len(text) > MaxSites:
		return fmt.Sprintf("has more than %d KiB; use fewer rules", MaxSites>>10)
	}
	if _, err := siterules.Parse("sites", string(text)); err != nil {
		return "has a mistake: " + err.Error()
	}
	return ""
}

func checkExpressions(list []string) string {
	for _, re := range list {
		if _, err := regexp.Compile(re); err != nil {
			return "is not a regular expression: " + err.Error() + `; use for example /docs/ or [.]html$`
		}
	}
	return ""
}

func checkHurry(hosts []string) string {
	for _, h := range hosts {
		switch p, err := canon.ParseHostPattern(h); {
		case err != nil:
			return "contains " + strconv.Quote(h) + ", which is not a host name; use for example docs.example.org, or *.example.org for that name and all names below it"
		case p.IsOpen():
			return "contains " + strconv.Quote(h) + ", but other people own names below " + p.Name().String() + "; use a domain of your own, for example *.example.org"
		}
	}
	return ""
}

func checkResolve(list []string) string {
	for _, r := range list {
		if !resolvable(r) {
			return "contains " + strconv.Quote(r) + "; use HOST=ADDR, for example docs.test=127.0.0.1:8080 or *.test=127.0.0.1"
		}
	}
	return ""
}

// resolvable reports whether r is HOST=ADDR, where ADDR may have a port.
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

func checkPurposes(list []string) string {
	if len(list) == 0 {
		return "is empty; use for example search"
	}
	if _, err := usage.ParsePurposes(list); err != nil {
		return "has " + err.Error()
	}
	return ""
}

// PurposeNames are the purposes in a list that was typed and checked. One element of the list may
// have several, separated by commas.
func PurposeNames(list []string) []string {
	all, _ := usage.ParsePurposes(list)
	return usage.Names(all)
}

func checkTypes(list []string) string {
	if _, err := crawl.ParseTypes(list); err != nil {
		return "has " + err.Error()
	}
	return ""
}

// typeNames are the types in a list that was typed and checked; nil for the default.
func typeNames(list []string) []string {
	if set, _ := crawl.ParseTypes(list); set != crawl.DefaultTypes {
		return set.Names()
	}
	return nil
}

// absolute is a directory by its whole path, because a crawl may be resumed from elsewhere.
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

// checkServers accepts names and addresses, each with or without a port.
func checkServers(list []string) string {
	for _, server := range list {
		if _, ok := crawl.AgentServerURL("atp://" + server); !ok || strings.ContainsAny(server, "/?#@") {
			return "has " + strconv.Quote(server) + ", which is not HOST or HOST:PORT; use for example robots.example.net:10434"
		}
	}
	return ""
}
