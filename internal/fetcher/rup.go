package fetcher

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/updates"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/datatxt"
	"github.com/curtsy/curtsy/pkg/rup"
)

// maxRefusal is how much is read of an answer that is no success: what is told of it is short.
const maxRefusal = 4 << 10

// rup asks a site for its /rupinfo.txt, or posts a request to its RUP-CGI (protocols §6). Both are ordinary URLs of this host. done is
// false when nothing was sent, so that it may be asked by a later visit.
func (v *visit) rup(e *crawl.Errand) (m crawl.RUP, done bool) {
	u, seen := e.URL, []canon.URL{e.URL}
	for {
		why, ok := v.mayAsk(u)
		if !ok {
			return m, false
		}
		if why != "" {
			s := v.site(u.Origin())
			m.Reason, m.Retry = why, s != nil && s.closed && !s.bar.barred
			return m, true
		}
		a, err := v.askRUP(u, e.Form)
		if err != nil {
			fail := v.hold.failureOf(err)
			m = crawl.RUP{Status: a.status, Reason: fail.String(), Retry: !fail.barred}
			// What was posted, and may have arrived, is not posted again unless whoever asked says so.
			return m, !fail.unsent || e.Form != "" && v.hold.started.Load()
		}
		if e.Form != "" || a.status < 300 || a.status > 399 || a.status == http.StatusNotModified {
			return v.readRUP(e, &a), !v.lost.Load()
		}
		next, err := canon.NewBase(u).Join(a.header.Get("Location"))
		if err != nil || next.Host() != v.job.Host || len(seen) > maxHops || slices.Contains(seen, next) {
			m.Status, m.Reason = a.status, "it redirects to nowhere usable"
			return m, true
		}
		u, seen = next, append(seen, next)
	}
}

// askRUP sends a GET, or a POST if there is a form.
func (v *visit) askRUP(u canon.URL, form string) (answer, error) {
	limit := int64(rup.MaxAnswer)
	if form == "" {
		limit = rup.MaxInfo + 1 // the parser wants to see that there is more
	}
	want := func(status int, _ http.Header) wanted {
		if status == http.StatusOK {
			return wanted{limit: limit}
		}
		return wanted{limit: maxRefusal}
	}
	if form == "" {
		return v.ask(u, nil, want)
	}
	return v.account(u, func() (answer, error) { return v.hold.post(u, form, want) })
}

// post sends a form and reads what is answered. A redirect is an answer like any other: what is in the form is for this URL alone.
func (h *hold) post(u canon.URL, form string, want wantFunc) (answer, error) {
	h.form = form
	defer func() { h.form = "" }()
	return h.fetch(u, http.Header{"Content-Type": {rup.FormType}}, want)
}

// postForm makes a POST of a request. Its body cannot be rewound, so that net/http sends it once; and head and body are small enough to
// go out in one piece (see conn.Write).
func (h *hold) postForm(r *http.Request) {
	r.Method, r.TransferEncoding = http.MethodPost, nil
	r.Body, r.ContentLength = io.NopCloser(strings.NewReader(h.form)), int64(len(h.form))
}

// readRUP makes of an answer what the frontier is to know.
func (v *visit) readRUP(e *crawl.Errand, a *answer) (m crawl.RUP) {
	m.Status = a.status
	got := rup.Answer{Status: a.status, ContentType: a.header.Get("Content-Type"), Body: a.body, Cut: a.truncated}
	err := got.Err()
	switch {
	case overloaded(a.status):
		m.Retry, m.RetryAfter = true, v.overload(*a)
	case err != nil:
		m.Retry, m.RetryAfter = rup.Retryable(err), retryAfter(a.header, a.at)
	case e.Form == "":
		m.Body = slices.Clone(a.body)
		if a.header.Get("Cache-Control") != "" || a.header.Get("Expires") != "" {
			m.Fresh = datatxt.Lifetime(a.header, a.at) // the same rules; the frontier has bounds of its own
		}
	default:
		err = v.readAction(e, &got, a.at, &m)
	}
	if err != nil {
		m.Reason = hideForm(err.Error(), e.Form)
	}
	return m
}

// readAction takes from an answer of status 200 what its action asked for.
func (v *visit) readAction(e *crawl.Errand, got *rup.Answer, at time.Time, m *crawl.RUP) error {
	form, err := url.ParseQuery(e.Form)
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
		return v.readIndex(e, got, at, m)
	}
	return nil
}

// readIndex tells the site's shard what changed, in as many messages as that needs, before the answer says that it is all there.
func (v *visit) readIndex(e *crawl.Errand, got *rup.Answer, at time.Time, m *crawl.RUP) error {
	read, err := got.Report()
	if err != nil {
		return err
	}
	site, parts, err := updates.Parts(read, at)
	if err != nil {
		return err
	}
	if site != e.Origin {
		return fmt.Errorf("%w: URLBase is %s", rup.ErrSite, read.Base)
	}
	for i := range parts {
		for _, l := range parts[i].Links {
			m.Entries += len(l.URLs)
		}
		parts[i].Index = true
		m.Refused = parts[i].Refused
		if !v.publish(e.ReplyShard, &crawl.Event{Visit: v.job.ID, Fetcher: v.f.opt.Name, Reports: parts[i : i+1]}) {
			return nil
		}
	}
	if read.Truncated {
		return fmt.Errorf("%w: more than is read of a report", rup.ErrMalformed)
	}
	return nil
}

// hideForm takes out of a text what only the site may know: it may quote what it refuses, and texts are logged.
func hideForm(text, form string) string {
	values, _ := url.ParseQuery(form)
	for _, name := range []string{"RegistrationKey", "RegisteredRobotEmail", "RobotEmail"} {
		if secret := values.Get(name); secret != "" {
			text = strings.NewReplacer(secret, "("+name+")", url.QueryEscape(secret), "("+name+")").Replace(text)
		}
	}
	return text
}
