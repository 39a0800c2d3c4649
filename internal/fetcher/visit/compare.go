package visit

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"slices"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/internal/html"
	"github.com/curtsy/curtsy/internal/likeness"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/robots"
)

// What the mirror database wants to know of this host (formats §2.4): whom an origin names as its
// main mirror, and what pages of it are like.

// wantsText reports whether an errand is answered from the text of an origin's robots.txt.
func (v *Visit) wantsText(o canon.Origin) bool {
	return slices.ContainsFunc(v.job.Aux, func(e crawl.AuxRequest) bool {
		return e.URL.Origin() == o && AuxKinds[e.Kind].robots
	})
}

func doClaim(v *Visit, e *crawl.AuxRequest, a *crawl.Answer) (done bool) {
	if v.deps.client.HasCredentials(e.URL.Origin()) {
		a.Claim.Reason = requiresCredentials
		return true
	}
	a.Claim, done = v.claim(e.URL.Origin())
	return done
}

func doSample(v *Visit, e *crawl.AuxRequest, a *crawl.Answer) (done bool) {
	switch {
	case v.cfg.spec.PlanOnly:
		a.Sample.Reason = "no page is requested: the crawl is only planned"
		return true
	case v.deps.client.HasCredentials(e.URL.Origin()):
		a.Sample.Reason = requiresCredentials
		return true
	}
	a.Sample, done = v.sample(e.URL)
	return done
}

// claim is what an origin's robots.txt says, had the normal way. ok is false when
// that is to come yet.
func (v *Visit) claim(o canon.Origin) (c crawl.Claim, ok bool) {
	s := v.site(o)
	switch {
	case s == nil || s.fact != nil && s.fact.State == crawl.RobotsPending:
		// Another host is asked for it.
		return c, false
	case s.bar.Barred:
		return crawl.Claim{Reason: s.bar.String()}, true
	case s.closed:
		return crawl.Claim{Reason: s.whyClosed()}, true
	case s.fact.State != crawl.RobotsParsed:
		return crawl.Claim{Kind: crawl.ClaimNone}, true
	}
	text, err := v.text(s.fact)
	if err != nil {
		return crawl.Claim{Reason: "its robots.txt is not available: " + err.Error()}, true
	}
	sum := robots.Digest(text)
	c = crawl.Claim{Kind: crawl.ClaimNone, Digest: sum[:]}
	switch stated := robots.Parse(text).Claim(RobotsOrigin(o)); stated.Kind {
	case robots.ClaimSelf:
		c.Kind = crawl.ClaimSelf
	case robots.ClaimTarget:
		if u, err := canon.FromParts(stated.Target.Scheme, canon.Host(stated.Target.Host), stated.Target.Port, "/"); err == nil {
			c.Kind, c.Target = crawl.ClaimTarget, u.Origin()
		}
	}
	return c, true
}

// sample fetches a page to be compared with another, if the rules of its origin let us. ok is false
// when nothing was found out.
func (v *Visit) sample(u canon.URL) (s crawl.Sample, ok bool) {
	if why, ok := v.mayAsk(u); !ok || why != "" {
		return crawl.Sample{Reason: why}, ok
	}
	kind := ""
	a, err := v.ask(u, nil, func(status int, header http.Header) wire.Wanted {
		if status < 200 || status > 299 || status == http.StatusPartialContent {
			return wire.Wanted{}
		}
		declared := contentType(header)
		if kind = mediaType(declared); declared != "" && !storable(kind) {
			return wire.Wanted{}
		}
		return wire.Wanted{Limit: v.deps.opt.MaxBody, Decide: func(first []byte) bool {
			if declared == "" {
				kind = sniff(first)
			}
			return storable(kind)
		}}
	})
	s.Status = a.Status
	if err != nil {
		fail := v.failureOf(err)
		s.Status, s.Reason = 0, fail.String()
		return s, !fail.Unsent
	}
	switch status := a.Status; {
	case overloaded(status):
		v.overload(a)
		s.Reason = fmt.Sprintf("%s: HTTP %d", crawl.ReasonOverload, status)
	case redirects(status):
		to, _ := location(u, &a)
		s.Location = string(to)
		s.Reason = string(crawl.ReasonRedirect)
	case status < 200 || status > 299 || status == http.StatusPartialContent:
		s.Reason = statusText(&a)
	case !storable(kind):
		s.Reason = fmt.Sprintf("%s: %s", crawl.ReasonType, kind)
	default:
		s.Digest = digestOf(sha256.Sum256(a.Body))
		s.Likeness = likenessOf(kind, a.Body)
	}
	return s, true
}

// likenessOf is what the text of a page of that type is like.
func likenessOf(kind string, body []byte) uint64 {
	if kind == typeText || kind == typeMarkdown {
		return likeness.OfText(body)
	}
	if kind == typeXHTML {
		body = html.FromXHTML(body)
	}
	return likeness.OfHTML(body)
}

// textOf tells the text of a page of that type, as a reader sees it, from any other; 0 when it has
// none.
func textOf(kind string, body []byte) uint64 {
	switch kind {
	case typeText, typeMarkdown:
		return likeness.SameText(body)
	case typeXHTML:
		body = html.FromXHTML(body)
	}
	return likeness.SameHTML(body)
}

// mayAsk says why u may not be asked for, or nothing; it begins with the code of the reason.
// Without ok the visit is over.
func (v *Visit) mayAsk(u canon.URL) (why string, ok bool) {
	if v.sink.Forgotten(u) {
		return string(crawl.ReasonForgotten), true
	}
	s := v.site(u.Origin())
	switch {
	case s != nil && s.bar.Barred:
		return s.bar.String(), true
	case s != nil && s.closed:
		return s.whyClosed(), true
	case s == nil || v.over():
		return "", false
	}
	switch verdict, why := v.match(s, u); why {
	case "":
	case crawl.ReasonUsage: // its rule says where it stands
		return fmt.Sprintf("%s: %s", why, crawl.ShortDetail(verdict.Rule)), true
	default:
		return fmt.Sprintf("%s: line %d: %s", why, verdict.Line, crawl.ShortDetail(verdict.Rule)), true
	}
	return "", true
}

// whyClosed says in words why nothing may be asked of an origin now.
func (s *site) whyClosed() string {
	why := "unreachable: robots.txt of " + s.origin.String() + " cannot be fetched now"
	if s.fact != nil && s.fact.Reason != "" {
		why += ": " + s.fact.Reason
	}
	return why
}
