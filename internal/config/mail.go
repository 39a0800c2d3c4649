package config

import (
	"net"
)

// Mail configures how a process receives the reports that sites mail (formats §6.4), and which
// senders it trusts.
type Mail struct {
	UpdatesListen   string   `key:"updates-listen" group:"Freshness" usage:"receive update reports by SMTP on ‹ADDRESS›" example:"127.0.0.1:2525"`
	UpdatesLMTP     bool     `key:"updates-lmtp" group:"Freshness" usage:"use LMTP instead of SMTP there, behind your own mail server"`
	UpdatesMaildir  string   `key:"updates-maildir" group:"Freshness" usage:"read update reports from the Maildir ‹DIR›" example:"/var/mail/curtsy"`
	UpdatesIndexNow string   `key:"updates-indexnow" group:"Freshness" usage:"accept IndexNow submissions by HTTP on ‹ADDRESS›/indexnow" example:"127.0.0.1:8087"`
	UpdatesWebSub   string   `key:"updates-websub" group:"Freshness" usage:"accept deliveries of WebSub hubs by HTTP on ‹ADDRESS›; see --updates-websub-url" example:"127.0.0.1:8088"`
	UpdatesProxies  []string `key:"updates-trusted-proxy" group:"Freshness" usage:"trust X-Forwarded-For from ‹ADDR›, an address or a network, at the ports for IndexNow and WebSub" example:"127.0.0.1"`
	UpdatesTrust    string   `key:"updates-trust" group:"Freshness" usage:"trust the Authentication-Results of the mail server with this ‹ID›" example:"mx.crawler.example"`
}

func (m Mail) check(src *Source) error {
	if _, _, err := net.SplitHostPort(m.UpdatesListen); m.UpdatesListen != "" && err != nil {
		return src.Refuse("updates-listen", "is not an address with a port; use for example 127.0.0.1:2525")
	}
	if _, _, err := net.SplitHostPort(m.UpdatesIndexNow); m.UpdatesIndexNow != "" && err != nil {
		return src.Refuse("updates-indexnow", "is not an address with a port; use for example 127.0.0.1:8087")
	}
	if _, _, err := net.SplitHostPort(m.UpdatesWebSub); m.UpdatesWebSub != "" && err != nil {
		return src.Refuse("updates-websub", "is not an address with a port; use for example 127.0.0.1:8088")
	}
	if _, err := prefixes(m.UpdatesProxies); err != nil {
		return src.Refuse("updates-trusted-proxy", "is not a list of addresses or networks; use for example 127.0.0.1 or 10.0.0.0/8")
	}
	if m.UpdatesLMTP && m.UpdatesListen == "" {
		return src.Refuse("updates-lmtp", "needs updates-listen too, for example 127.0.0.1:2525")
	}
	return nil
}

// On reports whether the process receives reports in any way.
func (m Mail) On() bool {
	return m.UpdatesListen != "" || m.UpdatesMaildir != "" || m.UpdatesIndexNow != "" || m.UpdatesWebSub != ""
}
