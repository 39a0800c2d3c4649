package simweb

// no and yes return Uses in which all purposes are forbidden, or allowed.
func no(purposes ...string) Uses  { return uses(false, purposes) }
func yes(purposes ...string) Uses { return uses(true, purposes) }

func uses(v bool, purposes []string) Uses {
	u := Uses{}
	for _, p := range purposes {
		u[p] = v
	}
	return u
}

func (u Uses) and(o Uses) Uses {
	out := Uses{}
	for p, v := range u {
		out[p] = v
	}
	for p, v := range o {
		out[p] = v
	}
	return out
}

// RSL documents of the sites below.
const (
	rslOpen  = `<rsl xmlns="https://rslstandard.org/rsl">`
	rslTrain = rslOpen + `<content url="/"><license><prohibits type="usage">ai-train</prohibits></license></content></rsl>`
	rslOnly  = rslOpen + `<content url="/"><license><permits type="usage">search</permits></license></content></rsl>`
)

// Wishing is a web of sites that state what their pages may be used for, one for each way of
// stating it, and one without a statement. Each has its home page and a few pages.
func Wishing() Config {
	sites := wishingSites()
	return Config{Hosts: len(sites), LinksPerPage: 2, Mix: func(i int) Behavior {
		b := sites[i]
		b.Name += ".sim.test"
		b.Pages = -1
		if b.RobotsText != "" {
			b.Robots = RobotsCustom
		}
		return b
	}}
}

func wishingSites() []Behavior {
	ai := []string{"ai-input", "ai-train"}
	all := append([]string{"search"}, ai...)
	reserved := append([]string{"tdm"}, ai...)
	return []Behavior{
		{Name: "says-nothing", UsagePolicies: []UsagePolicy{{Path: "/"}, {Path: "/page.html"}}},
		{Name: "content-usage-robots", RobotsText: "User-agent: *\nContent-Usage: train-ai=n\nContent-Usage: /closed search=n, ai-use=n, train-ai=n\n" +
			"Content-Usage: /no-search search=n\nContent-Usage: /no-input ai-use=n\nContent-Usage: /open search=y, ai-use=y, train-ai=y\nContent-Usage: /broken N=?\n",
			UsagePolicies: []UsagePolicy{
				{Path: "/", Robots: no("ai-train")}, {Path: "/closed.html", Robots: no(all...)}, {Path: "/no-search.html", Robots: no("search")},
				{Path: "/no-input.html", Robots: no("ai-input")}, {Path: "/open.html", Robots: yes(all...)}, {Path: "/broken.html"},
				{Path: "/open-closed.html", Robots: yes(all...), Header: []string{"Content-Usage: ai-use=n"}, Answer: no("ai-input")},
			}},
		{Name: "content-usage-header", UsagePolicies: []UsagePolicy{
			{Path: "/"},
			{Path: "/no-search.html", Header: []string{"Content-Usage: search=n"}, Answer: no("search")},
			{Path: "/no-train.html", Header: []string{"Content-Usage: train-ai=n;why=\"x\", tdm=n"}, Answer: no("ai-train")},
			{Path: "/closed.html", Header: []string{"Content-Usage: search=n, ai-use=n", "Content-Usage: train-ai=n"}, Answer: no(all...)},
			{Path: "/open.html", Header: []string{"Content-Usage: search=y, ai-use=y, train-ai=y"}, Answer: yes(all...)},
			{Path: "/last.html", Header: []string{"Content-Usage: train-ai=n", "Content-Usage: train-ai=y"}, Answer: yes("ai-train")},
		}},
		{Name: "content-signal-robots", RobotsText: "User-Agent: *\nContent-Signal: search=yes, ai-input=no, ai-train=no\nAllow: /\n", UsagePolicies: []UsagePolicy{
			{Path: "/", Robots: yes("search").and(no(ai...))}, {Path: "/page.html", Robots: yes("search").and(no(ai...))},
		}},
		{Name: "content-signal-none", RobotsText: "User-Agent: *\nContent-Signal: search=no; ai-input=no; ai-train=no\n", UsagePolicies: []UsagePolicy{{Path: "/", Robots: no(all...)}}},
		{Name: "content-signal-header", UsagePolicies: []UsagePolicy{
			{Path: "/"},
			{Path: "/open.html", Header: []string{"Content-Signal: ai-train=disallow, search=allow, ai-input=allow"}, Answer: yes("search", "ai-input").and(no("ai-train"))},
			{Path: "/reference.html", Header: []string{"Content-Signal: use=reference"}, Answer: no("ai-train")},
		}},
		{Name: "another-robot", RobotsText: "User-agent: otherbot\nContent-Signal: search=no, ai-train=no\nContent-Usage: search=n\n\nUser-agent: *\nDisallow: /private\n",
			UsagePolicies: []UsagePolicy{{Path: "/"}, {Path: "/page.html", Header: []string{"Robots-Tag: otherbot;noindex", "X-Robots-Tag: otherbot: noai"}}}},
		{Name: "tdm-file", Files: []File{{"/.well-known/tdmrep.json", "application/json",
			`[{"location":"/open*","tdm-reservation":0},{"location":"/closed*","tdm-reservation":1,"tdm-policy":"/policy.json"}]`}}, UsagePolicies: []UsagePolicy{
			{Path: "/"}, {Path: "/closed.html", Rights: no(reserved...)}, {Path: "/open.html", Rights: yes("tdm")},
			{Path: "/closed-lifted.html", Rights: no(reserved...)},
		}},
		{Name: "tdm-header", UsagePolicies: []UsagePolicy{
			{Path: "/"}, {Path: "/closed.html", Header: []string{"tdm-reservation: 1", "tdm-policy: /policy.json"}, Answer: no(reserved...)},
			{Path: "/lifted.html", Header: []string{"tdm-reservation: 1"}, Head: `<meta name="tdm-reservation" content="0">`, Answer: yes("tdm")},
			{Path: "/closed-meta.html", Header: []string{"tdm-reservation: 0"}, Head: `<meta name="tdm-reservation" content="1">`, Answer: no(reserved...)},
		}},
		{Name: "licence-robots", RobotsText: "License: http://licence-robots.sim.test/licence.xml\nUser-agent: *\nAllow: /\n", Files: []File{{"/licence.xml", "application/rsl+xml", rslTrain}},
			UsagePolicies: []UsagePolicy{{Path: "/", Rights: no("ai-train")}, {Path: "/page.html", Rights: no("ai-train")}}},
		{Name: "licence-markup", UsagePolicies: []UsagePolicy{
			{Path: "/"},
			{Path: "/page.html", Head: `<script type="application/rsl+xml">` + rslTrain + `</script>`, Answer: no("ai-train")},
			{Path: "/only-search.html", Head: `<script type="application/rsl+xml">` + rslOnly + `</script>`, Answer: yes("search").and(no(ai...))},
		}},
		{Name: "noai", UsagePolicies: []UsagePolicy{
			{Path: "/"}, {Path: "/meta.html", Head: `<meta name="robots" content="noai, noimageai">`, Answer: no(ai...)},
			{Path: "/header.html", Header: []string{"X-Robots-Tag: noai"}, Answer: no(ai...)},
			{Path: "/images.html", Header: []string{"X-Robots-Tag: noimageai"}},
		}},
		{Name: "training-tokens", RobotsText: "User-agent: GPTBot\nUser-agent: CCBot\nDisallow: /\n\nUser-agent: *\nDisallow:\n",
			UsagePolicies: []UsagePolicy{{Path: "/", Inferred: no("ai-train")}, {Path: "/page.html", Inferred: no("ai-train")}}},
		{Name: "wants-money", UsagePolicies: []UsagePolicy{{Path: "/"}, {Path: "/page.html", Paid: true, Header: []string{"crawler-price: USD 0.01"}},
			{Path: "/given.html", Header: []string{"crawler-price: USD 0.02"}}}},
	}
}
