package visit

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/internal/updates"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/datatxt"
	"github.com/curtsy/curtsy/pkg/rup"
)

// maxRefusal is how much is read of an answer that is no success: what is told of it is short.
const maxRefusal = 4 << 10

func doRUP(v *Visit, e *crawl.AuxRequest, a *crawl.Answer) (done bool) {
	a.RUP, done = crawl.RUP{Reason: ourMistake}, true
	v.safely(e.URL, func() { a.RUP, done = (&rupRequest{v, e}).do() })
	return done
}

// rupRequest is a request to a site by the Remote Update Protocol.
type rupRequest struct {
	*Visit
	e *crawl.AuxRequest
}

// do asks a site for its /rupinfo.txt, or posts a request to its RUP-CGI (formats §6). Both
// are ordinary URLs of this host. done is false when nothing was sent, so that it may be
// asked by a later visit.
func (v *rupRequest) do() (m crawl.RUP, done bool) {
	t := Trail{At: v.e.URL, Most: maxRedirects}
	if v.e.Form != "" {
		t.Most = 0 // what is in the form is for this URL alone
	}
	t.May = func(u canon.URL) bool {
		why, ok := v.mayAsk(u)
		if ok && why != "" {
			s := v.site(u.Origin())
			m.Reason, m.Retry, done = why, s != nil && s.closed && !s.bar.Barred, true
		}
		return ok && why == ""
	}
	t.Ask = func(u canon.URL, _ bool) (wire.Answer, error) { return v.ask(u, v.e.Form) }
	a, end, err := t.Follow(v.job.Host)
	switch {
	case end == TrailBarred:
		return m, done
	case err != nil:
		fail := v.failureOf(err)
		m = crawl.RUP{Status: a.Status, Reason: fail.String(), Retry: !fail.Barred}
		// What was posted, and may have arrived, is not posted again unless whoever asked says so.
		return m, !fail.Unsent || v.e.Form != "" && v.session.MayHaveSent()
	case end != TrailArrived && v.e.Form == "":
		m.Status, m.Reason = a.Status, "it redirects to an unusable URL"
		return m, true
	}
	return v.read(&a), !v.lost.Load()
}

// ask sends a GET, or a POST if there is a form.
func (v *rupRequest) ask(u canon.URL, form string) (wire.Answer, error) {
	limit := int64(rup.MaxAnswer)
	if form == "" {
		limit = rup.MaxInfo + 1 // the parser wants to see that there is more
	}
	want := func(status int, _ http.Header) wire.Wanted {
		if status == http.StatusOK {
			return wire.Wanted{Limit: limit}
		}
		return wire.Wanted{Limit: maxRefusal}
	}
	if form == "" {
		return v.Visit.ask(u, nil, want)
	}
	return v.account(u, func() (wire.Answer, error) { return v.session.Post(u, form, want) })
}

// read makes of an answer what the frontier is to know.
func (v *rupRequest) read(a *wire.Answer) (m crawl.RUP) {
	m.Status = a.Status
	got := rup.Answer{Status: a.Status, ContentType: a.Header.Get("Content-Type"), Body: a.Body, Cut: a.Truncated}
	err := got.Err()
	switch {
	case overloaded(a.Status):
		m.Retry, m.RetryAfter = true, v.overload(*a)
	case err != nil:
		m.Retry, m.RetryAfter = rup.Retryable(err), retryAfter(a.Header, a.At)
	case v.e.Form == "":
		m.Body = slices.Clone(a.Body)
		if a.Header.Get("Cache-Control") != "" || a.Header.Get("Expires") != "" {
			// The same rules; the frontier has bounds of its own.
			m.Fresh = datatxt.Lifetime(a.Header, a.At)
		}
	default:
		err = v.readAction(&got, a.At, &m)
	}
	if err != nil {
		m.Reason = hideForm(err.Error(), v.e.Form)
		if why := Wants(a); why != "" {
			m.Reason += ": " + why
		}
	}
	return m
}

// readAction takes from an answer of status 200 what its action asked for.
func (v *rupRequest) readAction(got *rup.Answer, at time.Time, m *crawl.RUP) error {
	form, err := url.ParseQuery(v.e.Form)
	if err != nil {
		return err
	}
	switch rup.Action(form.Get("Action")) {
	case rup.Register:
		key, err := got.Key()
		m.Key = string(key)
		return err
	case rup.GetSequenceNumber:
		n, err := got.Sequence()
		m.Sequence = uint64(max(n, 0))
		return err
	case rup.GetIndex:
		return v.readIndex(got, at, m)
	}
	return nil
}

// readIndex tells the site's shard what changed, in as many messages as that needs, before the
// answer says that it is all there.
func (v *rupRequest) readIndex(got *rup.Answer, at time.Time, m *crawl.RUP) error {
	read, err := got.Report()
	if err != nil {
		return err
	}
	site, parts, err := updates.Parts(read, at)
	if err != nil {
		return err
	}
	if site != v.e.Origin {
		return fmt.Errorf("%w: URLBase is %s", rup.ErrSite, read.Base)
	}
	for i := range parts {
		for _, l := range parts[i].Links {
			m.Entries += len(l.URLs)
		}
		parts[i].Index = true
		m.Refused = parts[i].Refused
		if !v.publish(v.e.ReplyShard, &crawl.Event{Visit: v.job.ID, Fetcher: v.deps.opt.Fetcher, Reports: parts[i : i+1]}) {
			return nil
		}
	}
	if read.Truncated {
		return fmt.Errorf("%w: the report is too long", rup.ErrMalformed)
	}
	return nil
}

// hideForm takes out of a text what only the site may know: it may quote what it refuses,
// and texts are logged.
func hideForm(text, form string) string {
	values, _ := url.ParseQuery(form)
	for _, name := range []string{"RegistrationKey", "RegisteredRobotEmail", "RobotEmail", "token"} {
		if secret := values.Get(name); secret != "" {
			text = strings.NewReplacer(secret, "("+name+")", url.QueryEscape(secret), "("+name+")").Replace(text)
		}
	}
	return text
}
