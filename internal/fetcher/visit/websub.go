package visit

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/pkg/canon"
)

// hubOf is the hub that tells of a feed's changes and what the feed is called there (WebSub §4): as
// its Link headers say, else as it says itself. A feed speaks for its own origin alone.
func (r *feedReader) hubOf(at canon.URL, h http.Header) (hub, self canon.URL) {
	hubs, selves := r.sum.Hubs, []string{r.sum.Self}
	for _, line := range h["Link"] {
		for n := 0; len(line) > 0 && n < maxSignposts; n++ {
			var l link
			l, line = nextLink(line)
			rels := l.relations()
			if slices.Contains(rels, "hub") {
				hubs = append([]string{l.target}, hubs...)
			}
			if slices.Contains(rels, "self") {
				selves = append([]string{l.target}, selves...)
			}
		}
	}
	first := func(list []string, ok func(canon.URL) bool) canon.URL {
		for _, text := range list {
			if u, err := r.base.Join(text); err == nil && text != "" && ok(u) {
				return u
			}
		}
		return ""
	}
	hub = first(hubs, func(u canon.URL) bool { return true })
	if self = first(selves, func(u canon.URL) bool { return u.Origin() == at.Origin() }); self == "" {
		self = at
	}
	if hub == "" {
		self = ""
	}
	return hub, self
}

func doWebSub(v *Visit, e *crawl.AuxRequest, a *crawl.Answer) (done bool) {
	if e.URL.Origin() != e.Origin && v.deps.client.Shows(e.URL.Origin()) {
		// A stranger's feed could name any address there, and have a form posted with credentials.
		a.RUP = crawl.RUP{Reason: "the hub requires credentials: with credentials, forms are posted only for feeds of the hub's own origin"}
		return true
	}
	a.RUP, done = crawl.RUP{Reason: ourMistake}, true
	v.safely(e.URL, func() { a.RUP, done = v.hub(e) })
	return done
}

// hub asks a hub what the form says. That is a request to its host like any other. A redirect is
// not followed: what is in the form is for this URL alone. done is false when nothing was sent.
func (v *Visit) hub(e *crawl.AuxRequest) (m crawl.RUP, done bool) {
	why, sound := v.mayAsk(e.URL)
	if !sound || why != "" {
		m.Reason = why
		m.Retry = slices.ContainsFunc(v.sites, func(s *site) bool { return s.origin == e.URL.Origin() && s.closed })
		return m, sound
	}
	a, err := v.account(e.URL, func() (wire.Answer, error) {
		return v.session.Post(e.URL, e.Form, func(int, http.Header) wire.Wanted { return wire.Wanted{Limit: maxRefusal} })
	})
	m.Status = a.Status
	switch {
	case err != nil:
		fail := v.failureOf(err)
		m.Reason, m.Retry = fail.String(), !fail.Barred
		// What may have arrived is not posted again unless whoever asked says so.
		return m, !fail.Unsent || v.session.MayHaveSent()
	case a.Status >= 200 && a.Status <= 299:
	default:
		if m.Retry = overloaded(a.Status) || a.Status >= 500; overloaded(a.Status) {
			m.RetryAfter = v.overload(a)
		}
		m.Reason = statusText(&a)
		if text := strings.TrimSpace(strings.ToValidUTF8(string(a.Body), "?")); text != "" && len(text) <= 200 && !strings.ContainsAny(text, "<>") {
			m.Reason += ": " + hideHub(text, e.Form)
		}
	}
	return m, true
}

// hideHub takes out of a hub's words what only it may know: they are logged.
func hideHub(text, form string) string {
	values, _ := url.ParseQuery(form)
	for _, name := range []string{"hub.callback", "hub.secret"} {
		if secret := values.Get(name); secret != "" {
			text = strings.NewReplacer(secret, "("+name+")", url.QueryEscape(secret), "("+name+")").Replace(text)
		}
	}
	// It may quote a part of the address alone; short parts are no secrets.
	parts := strings.Split(values.Get("hub.callback"), "/")
	for _, part := range parts[min(3, len(parts)):] {
		if len(part) >= 12 {
			text = strings.ReplaceAll(text, part, "(hub.callback)")
		}
	}
	return text
}
