package fetcher

// setCredentials reports to the operator which sites get credentials, and through which proxy
// requests go.
func (s *Shared) setCredentials(opt Options) {
	if all := opt.Credentials.All(); len(all) > 0 {
		names := make([]string, 0, len(all))
		for _, site := range all[:min(len(all), 20)] {
			names = append(names, site.Name())
		}
		opt.Log.Info("credentials are sent to these sites only", "sites", len(all), "names", names)
		s.client.OnWithheld(func(site string) {
			opt.Log.Warn("credentials are not sent over http to a public address: use https", "site", site)
		})
	}
	p := opt.Proxy
	switch {
	case p == nil:
		return
	case p.Resolves:
		opt.Log.Warn(ProxyResolvesLoss, "proxy", p.String())
	default:
		opt.Log.Info("requests go through a proxy; names are resolved here, and the proxy receives checked addresses", "proxy", p.String())
	}
	s.client.OnProxy(func(why string) {
		opt.Log.Error("nothing can be fetched through the proxy; URLs stay queued until it works", "why", why)
	})
}

// ProxyResolvesLoss says which protection is lost when a proxy looks names up.
const ProxyResolvesLoss = "the proxy resolves names: this process cannot check whether an address is private or a metadata service, or how many hosts share an address"
