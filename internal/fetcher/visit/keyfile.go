package visit

import (
	"net/http"
	"slices"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/internal/indexnow"
)

// doKeyFile asks for a key file of IndexNow as for any URL of the site: under its robots.txt and
// what it says of use. Redirects are not followed: where they lead is not where the key is said to
// be.
func doKeyFile(v *Visit, e *crawl.AuxRequest, a *crawl.Answer) (done bool) {
	k := new(crawl.KeyFile)
	a.KeyFile = k
	if k.Reason, done = v.mayAsk(e.URL); !done || k.Reason != "" {
		// Rules that could not be had may be had later; those that forbid it stand.
		k.Again = slices.ContainsFunc(v.sites, func(s *site) bool { return s.origin == e.Origin && s.closed })
		return done
	}
	got, err := v.ask(e.URL, nil, func(status int, _ http.Header) wire.Wanted {
		if status != http.StatusOK {
			return wire.Wanted{}
		}
		return wire.Wanted{Limit: indexnow.MaxKeyFile + 1}
	})
	switch {
	case err != nil:
		fail := v.failureOf(err)
		k.Reason, k.Again, done = fail.String(), !fail.Final, !fail.Unsent
	case got.Status != http.StatusOK:
		if overloaded(got.Status) {
			v.overload(got)
		}
		k.Reason, k.Again = "its key file: "+statusText(&got), overloaded(got.Status) || got.Status >= 500
	default:
		key, ok := indexnow.KeyIn(got.Body)
		if ok {
			k.Key = key
		} else {
			k.Reason = "the content at the address of its key file is not a key"
		}
	}
	return done
}
