package fetcher

// doors tells the operator which sites are shown credentials, and through which proxy requests go.
func (s *Shared) doors(opt Options) {
	if all := opt.Credentials.All(); len(all) > 0 {
		names := make([]string, 0, len(all))
		for _, site := range all[:min(len(all), 20)] {
			names = append(names, site.Name())
		}
		opt.Log.Info("credentials are shown to these sites, and to no other", "sites", len(all), "names", names)
		s.client.OnWithheld(func(site string) {
			opt.Log.Warn("credentials are not sent over http to a public address: give them for https", "site", site)
		})
	}
	p := opt.Proxy
	switch {
	case p == nil:
		return
	case p.Resolves:
		opt.Log.Warn(ProxyResolvesLoss, "proxy", p.String())
	default:
		opt.Log.Info("requests go through a proxy; names are looked up here, and it is told checked addresses", "proxy", p.String())
	}
	s.client.OnProxy(func(why string) {
		opt.Log.Error("nothing can be fetched through the proxy; URLs stay queued until it can", "why", why)
	})
}

// ProxyResolvesLoss says what is lost when a proxy looks names up.
const ProxyResolvesLoss = "the proxy looks names up: nobody here can tell whether an address is private or a metadata service, nor how many hosts share one"
