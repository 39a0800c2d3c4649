package visit

import (
	"slices"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/robots"
	"github.com/curtsy/curtsy/internal/fetcher/wellknown"
	"github.com/curtsy/curtsy/pkg/canon"
)

// auxRequests carries out the auxiliary requests of the visit. Each answer is in the log of the
// shard that asked before the outcome says that the request is done. A request that is not done
// comes again with a later visit.
func (v *Visit) auxRequests() {
	for i := range v.job.Aux {
		aux := &v.job.Aux[i]
		if v.requests.Over() {
			return
		}
		// This would be a mistake of a frontier. That host has visits of its own, perhaps right
		// now.
		if aux.URL.Host() != v.job.Host {
			v.log.Error("an auxiliary request to another host is ignored", "url", string(aux.URL))
			continue
		}
		a := crawl.Answer{Aux: *aux}
		a.Aux.Form = "" // it may contain a key
		if !v.auxRequest(aux, &a) {
			continue
		}
		if !v.publisher.Event(aux.ReplyShard, &crawl.Event{Answers: []crawl.Answer{a}}) {
			return
		}
		v.publisher.Done(a.Aux)
		v.deps.metrics.Aux.Inc()
		if i < len(v.job.Aux)-1 {
			v.reportProgress()
		}
	}
}

// auxKinds are the kinds of auxiliary requests that are carried out here. Those of well-known files
// are in the table of package wellknown.
var auxKinds = map[crawl.AuxKind]struct {
	// do carries a request out and puts into a what is to be published. done is false if it is left
	// to a later visit.
	do func(v *Visit, aux *crawl.AuxRequest, a *crawl.Answer) (done bool)
	// text: the answer is made of the text of the robots.txt of URL's origin, which is requested if
	// the frontier did not send it.
	text bool
}{
	crawl.AuxRobots: {do: doRobots, text: true},
	crawl.AuxClaim:  {do: doClaim, text: true},
	crawl.AuxSample: {do: doSample},
	crawl.AuxVerify: {do: doVerify},

	crawl.AuxDispatch: {do: doDispatch},
}

// Knows reports whether visits carry out auxiliary requests of a kind.
func Knows(k crawl.AuxKind) bool {
	_, ok := auxKinds[k]
	return ok || wellknown.Reads(k)
}

// needsText reports whether an auxiliary request is answered from the text of an origin's
// robots.txt.
func (v *Visit) needsText(o canon.Origin) bool {
	return slices.ContainsFunc(v.job.Aux, func(aux crawl.AuxRequest) bool {
		return aux.URL.Origin() == o && auxKinds[aux.Kind].text
	})
}

// ourMistake answers a request that ended in a mistake of ours, so that it is not sent again and
// again.
const ourMistake = "an internal error; see the fetcher's log"

// auxRequest carries one request out and reports whether a is to be published.
func (v *Visit) auxRequest(aux *crawl.AuxRequest, a *crawl.Answer) (done bool) {
	defer v.requests.For(crawl.RequestKind(aux.Kind))()
	if kind, ok := auxKinds[aux.Kind]; ok {
		return kind.do(v, aux, a)
	}
	if !wellknown.Reads(aux.Kind) {
		// A newer frontier asks for something that this fetcher does not know. Another one may.
		v.log.Warn("an auxiliary request of an unknown kind is ignored", "kind", int(aux.Kind), "url", string(aux.URL))
		return false
	}
	read := *a
	done = wellknown.Fail(aux.Kind, a, ourMistake) // what is published after a panic
	v.safely(aux.URL, func() { done, *a = v.files.Read(aux, &read), read })
	return done
}

func doRobots(v *Visit, aux *crawl.AuxRequest, a *crawl.Answer) (done bool) {
	a.Robots, done = v.sites.Redirected(aux)
	return done
}

func doClaim(v *Visit, aux *crawl.AuxRequest, a *crawl.Answer) (done bool) {
	if v.deps.client.HasCredentials(aux.URL.Origin()) {
		a.Claim.Reason = robots.RequiresCredentials
		return true
	}
	a.Claim, done = v.sites.Claim(aux.URL.Origin())
	return done
}

func doVerify(v *Visit, aux *crawl.AuxRequest, a *crawl.Answer) (done bool) {
	if v.deps.client.HasCredentials(aux.URL.Origin()) {
		a.Sample.Reason = robots.RequiresCredentials
		return true
	}
	a.Sample, done = v.pages.Verify(aux.URL)
	return done
}

func doSample(v *Visit, aux *crawl.AuxRequest, a *crawl.Answer) (done bool) {
	switch {
	case v.requests.Config.Spec().PlanOnly:
		a.Sample.Reason = "no page is requested: the crawl is only planned"
		return true
	case v.deps.client.HasCredentials(aux.URL.Origin()):
		a.Sample.Reason = robots.RequiresCredentials
		return true
	}
	a.Sample, done = v.pages.Sample(aux.URL)
	return done
}
