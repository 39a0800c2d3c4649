package wellknown

import (
	"net/http"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/answer"
	"github.com/curtsy/curtsy/internal/fetcher/requests"
	"github.com/curtsy/curtsy/internal/indexnow"
)

// keyFile reads a key file of IndexNow. Redirects are not followed, because the key has to be at
// the address that the submission names.
func keyFile(r *request, a *crawl.Answer) (done bool) {
	k := new(crawl.KeyFile)
	a.KeyFile = k
	switch k.Reason, done = r.unread(); {
	case r.end == requests.TrailBarred:
		// Rules that could not be fetched may be fetched later. Those that forbid it stay.
		k.Again = r.permission.Closed()
	case r.err != nil:
		k.Again = !r.fail.Final
	case r.got.Status != http.StatusOK:
		k.Reason, k.Again = "its key file: "+k.Reason, answer.Overloaded(r.got.Status) || r.got.Status >= 500
	default:
		var found bool
		if k.Key, found = indexnow.KeyIn(r.got.Body); !found {
			k.Key, k.Reason = "", "the content at the address of its key file is not a key"
		}
	}
	return done
}
