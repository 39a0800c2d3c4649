package config

import (
	"os"
	"strings"

	"github.com/curtsy/curtsy/internal/credentials"
)

// SiteAccess has the credentials for sites and the proxy of a process that fetches. These settings
// belong to the process. They are not stored with a crawl, so they must be given again when it is
// resumed.
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

// textEnvs are the names of the environment variable that contains credentials as text.
var textEnvs = []string{envName("credentials-text"), dashedEnvName("credentials-text")}

// Shown returns the credentials for sites and for the proxy, or nil. It removes a variable with
// credentials from the environment, because processes that are started later do not need it.
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

// Through returns the proxy for all requests, or nil. set may contain credentials for it.
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
