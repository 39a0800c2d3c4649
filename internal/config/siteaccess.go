package config

import (
	"os"
	"strings"

	"github.com/curtsy/curtsy/internal/credentials"
)

// SiteAccess says how a process that fetches gets to sites: what it shows to those behind a door,
// and through which proxy. These settings are this process's own: they are not kept with a crawl
// and travel nowhere, so whoever resumes a crawl gives them again.
type SiteAccess struct {
	Credentials     string `key:"credentials" group:"Access,common" usage:"‹FILE› (YAML) with passwords, tokens, cookies and certificates for sites; its mode must be 0600 or 0640" example:"/etc/curtsy/credentials.yaml"`
	CredentialsText Secret `key:"credentials-text" flag:"-"`
	Proxy           string `key:"proxy" group:"Access,common" usage:"send requests through the HTTP or SOCKS5 proxy at ‹URL›" example:"http://127.0.0.1:3128"`
	ProxyResolves   bool   `key:"proxy-resolves" group:"Access" usage:"let the proxy resolve host names; the addresses it connects to are then not checked"`
}

func (d *SiteAccess) check(src *Source) error {
	if d.Credentials != "" && d.CredentialsText != "" {
		return src.Refuse("credentials", "and CURTSY_CREDENTIALS_TEXT cannot be used together; use one of them")
	}
	if d.CredentialsText != "" && !strings.HasPrefix(src.Origin("credentials-text"), "from "+envPrefix) {
		return src.Refuse("credentials-text", "is in a file that other people may read; write it into a separate file for --credentials")
	}
	set, err := d.Shown()
	if err != nil {
		return err
	}
	if d.Proxy == "" {
		switch {
		case d.ProxyResolves:
			return src.Refuse("proxy-resolves", "needs proxy too, for example http://127.0.0.1:3128")
		case set.Login() != nil:
			return src.Refuse("proxy", "is not given, but there are credentials for one; use for example http://127.0.0.1:3128")
		}
		return nil
	}
	if _, err := credentials.ParseProxy(d.Proxy); err != nil {
		return src.refuseSecretly("proxy", err.Error())
	}
	return nil
}

// textEnvs are the names of the variable that holds credentials themselves.
var textEnvs = []string{envName("credentials-text"), dashedEnvName("credentials-text")}

// Shown is what sites and proxy are shown, or nil. What came from the environment is taken out of
// it: processes that are started later have no use for it.
func (d *SiteAccess) Shown() (*credentials.Set, error) {
	switch {
	case d.CredentialsText != "":
		for _, name := range textEnvs {
			os.Unsetenv(name)
		}
		set, err := credentials.Parse([]byte(d.CredentialsText), ".")
		if err != nil {
			return nil, refuse("credentials-text: %v", err)
		}
		return set, nil
	case d.Credentials != "":
		set, err := credentials.ReadFile(d.Credentials)
		if err != nil {
			return nil, refuse("credentials: %s: %v", d.Credentials, err)
		}
		return set, nil
	}
	return nil, nil
}

// Through is the proxy that requests go through, or nil. set is what it may be shown.
func (d *SiteAccess) Through(set *credentials.Set) (*credentials.Proxy, error) {
	if d.Proxy == "" {
		return nil, nil
	}
	p, err := credentials.ParseProxy(d.Proxy)
	if err != nil {
		return nil, refuse("proxy: it %v", err)
	}
	p.Resolves, p.Login = d.ProxyResolves, set.Login()
	return p, nil
}
