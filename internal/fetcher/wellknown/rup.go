package wellknown

import (
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/answer"
	"github.com/curtsy/curtsy/internal/fetcher/requests"
	"github.com/curtsy/curtsy/internal/updates"
	"github.com/curtsy/curtsy/pkg/datatxt"
	"github.com/curtsy/curtsy/pkg/rup"
)

// maxRefusal is how much is read of an answer that is no success. Only a short text of it is
// reported.
const maxRefusal = 4 << 10

// rupAnswer reads an /rupinfo.txt, or what a site's RUP-CGI answers to a form (formats §6). done
// is false if nothing was sent, so that a later visit sends it.
func rupAnswer(r *request, a *crawl.Answer) (done bool) {
	m := &a.RUP
	switch {
	case r.end == requests.TrailBarred:
		m.Reason, m.Retry = r.permission.Text, r.permission.Closed()
		return !r.permission.Over
	case r.err != nil:
		m.Status, m.Reason, m.Retry = r.got.Status, r.fail.String(), !r.fail.Barred
		// What was posted, and may have arrived, is only posted again if the frontier decides so.
		return !r.fail.Unsent || r.aux.Form != "" && r.Requests.Session.MayHaveSent()
	case r.end != requests.TrailArrived && r.aux.Form == "":
		m.Status, m.Reason = r.got.Status, "it redirects to an unusable URL"
		return true
	}
	r.readRUP(m)
	return !r.Publisher.Lost()
}

// readRUP fills in what an answer says.
func (r *request) readRUP(m *crawl.RUP) {
	a := &r.got
	m.Status = a.Status
	got := rup.Answer{Status: a.Status, ContentType: a.Header.Get("Content-Type"), Body: a.Body, Cut: a.Truncated}
	err := got.Err()
	switch {
	case answer.Overloaded(a.Status):
		m.Retry, m.RetryAfter = true, r.wait
	case err != nil:
		m.Retry, m.RetryAfter = rup.Retryable(err), answer.RetryAfter(a.Header, a.At)
	case r.aux.Form == "":
		m.Body = slices.Clone(a.Body)
		if a.Header.Get("Cache-Control") != "" || a.Header.Get("Expires") != "" {
			// By the rules of data.txt; the frontier has bounds of its own.
			m.Fresh = datatxt.Lifetime(a.Header, a.At)
		}
	default:
		err = r.readAction(&got, a.At, m)
	}
	if err != nil {
		m.Reason = withoutSecrets(err.Error(), r.aux.Form, "RegistrationKey", "RegisteredRobotEmail", "RobotEmail", "token")
		if why := answer.Wants(a); why != "" {
			m.Reason += ": " + why
		}
	}
}

// readAction fills in what the action of a form asked for, from an answer of status 200.
func (r *request) readAction(got *rup.Answer, at time.Time, m *crawl.RUP) error {
	form, err := url.ParseQuery(r.aux.Form)
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
		return r.readIndex(got, at, m)
	}
	return nil
}

// readIndex publishes what changed to the site's shard, in as many messages as that needs, before
// the answer says that all of it is there.
func (r *request) readIndex(got *rup.Answer, at time.Time, m *crawl.RUP) error {
	read, err := got.Report()
	if err != nil {
		return err
	}
	site, parts, err := updates.Parts(read, at)
	if err != nil {
		return err
	}
	if site != r.aux.Origin {
		return fmt.Errorf("%w: URLBase is %s", rup.ErrSite, read.Base)
	}
	for i := range parts {
		for _, l := range parts[i].Links {
			m.Entries += len(l.URLs)
		}
		parts[i].Index = true
		m.Refused = parts[i].Refused
		if !r.Publisher.Event(r.aux.ReplyShard, &crawl.Event{Reports: parts[i : i+1]}) {
			return nil
		}
	}
	if read.Truncated {
		return fmt.Errorf("%w: the report is too long", rup.ErrMalformed)
	}
	return nil
}
