package wellknown

import (
	"net/url"
	"strings"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/answer"
	"github.com/curtsy/curtsy/internal/fetcher/requests"
)

// notForStrangers refuses to post a form with credentials because of a feed on another origin,
// which could name any address as its hub.
func notForStrangers(f *Files, aux *crawl.AuxRequest, a *crawl.Answer) (proceed, done bool) {
	if aux.URL.Origin() != aux.Origin && f.Shows(aux.URL.Origin()) {
		a.RUP = crawl.RUP{Reason: "the hub requires credentials: with credentials, forms are posted only for feeds of the hub's own origin"}
		return false, true
	}
	return true, true
}

// hubAnswer reads what a WebSub hub answers to a form. done is false if the form was not sent.
func hubAnswer(r *request, a *crawl.Answer) (done bool) {
	m := &a.RUP
	m.Status = r.got.Status
	switch {
	case r.end == requests.TrailBarred:
		m.Reason, m.Retry = r.permission.Text, r.permission.Closed()
		return !r.permission.Over
	case r.err != nil:
		m.Reason, m.Retry = r.fail.String(), !r.fail.Barred
		// What may have arrived is only posted again if the frontier decides so.
		return !r.fail.Unsent || r.Requests.Session.MayHaveSent()
	case r.got.Status >= 200 && r.got.Status <= 299:
		return true
	}
	m.Retry, m.RetryAfter = answer.Overloaded(r.got.Status) || r.got.Status >= 500, r.wait
	m.Reason = answer.StatusText(&r.got)
	if text := strings.TrimSpace(strings.ToValidUTF8(string(r.got.Body), "?")); text != "" && len(text) <= 200 && !strings.ContainsAny(text, "<>") {
		m.Reason += ": " + withoutCallback(text, r.aux.Form)
	}
	return true
}

// withoutCallback removes from a hub's text what only the hub may know, because texts are logged.
func withoutCallback(text, form string) string {
	text = withoutSecrets(text, form, "hub.callback", "hub.secret")
	// It may quote a part of the address alone. Short parts are no secrets.
	values, _ := url.ParseQuery(form)
	parts := strings.Split(values.Get("hub.callback"), "/")
	for _, part := range parts[min(3, len(parts)):] {
		if len(part) >= 12 {
			text = strings.ReplaceAll(text, part, "(hub.callback)")
		}
	}
	return text
}

// withoutSecrets replaces the values of some fields of a form in a text by the names of the fields.
func withoutSecrets(text, form string, names ...string) string {
	values, _ := url.ParseQuery(form)
	for _, name := range names {
		if secret := values.Get(name); secret != "" {
			text = strings.NewReplacer(secret, "("+name+")", url.QueryEscape(secret), "("+name+")").Replace(text)
		}
	}
	return text
}
