package wellknown

import (
	"net/http"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/requests"
	"github.com/curtsy/curtsy/internal/indexnow"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/datatxt"
	"github.com/curtsy/curtsy/pkg/llmstxt"
	"github.com/curtsy/curtsy/pkg/robots"
	"github.com/curtsy/curtsy/pkg/rup"
)

// kind is a row of the table: how files of one kind are fetched.
type kind struct {
	redirects int  // that are followed in a row, on the same host; of a form none are
	within    bool // redirects are followed within the origin only
	counted   bool // redirects that were followed on other hosts count (AuxRequest.Hop)

	// accept returns how many bytes are read of the body of an answer; 0: none.
	accept func(status int, h http.Header) int64
	posted int64 // bytes that are read of an answer of status 200 to a form; 0: as accept says
	// list makes the reader of a list of URLs, which reads the body instead. It is called for each
	// request. A request for a list is conditional.
	list func(r *request, at canon.URL) *list

	// before is called before anything is requested; nil: nothing is checked. If proceed is false,
	// nothing is, and done is as for answer.
	before func(f *Files, aux *crawl.AuxRequest, a *crawl.Answer) (proceed, done bool)
	// answer puts into a what is published about the file. done is false if the request is left to
	// a later visit, and then nothing is published.
	answer func(r *request, a *crawl.Answer) (done bool)
	// failed puts a reason into a, for a request that ended in a mistake of ours; nil: such a
	// request is left to a later visit.
	failed func(a *crawl.Answer, reason string)
}

// kinds is the table.
var kinds = map[crawl.AuxKind]*kind{
	crawl.AuxData: {
		redirects: robots.MaxRedirects, counted: true, accept: success(datatxt.MaxSize + 1), before: roomForPages, answer: dataTxt,
	},
	crawl.AuxNested: {
		redirects: robots.MaxRedirects, within: true, accept: success(datatxt.MaxSize + 1), before: roomForPages, answer: dataTxt,
	},
	crawl.AuxSitemap: {
		redirects: requests.MaxRedirects, list: newSitemap, answer: sitemapAnswer,
		failed: func(a *crawl.Answer, reason string) { a.Sitemap = crawl.Sitemap{Reason: reason} },
	},
	crawl.AuxFeed: {
		redirects: requests.MaxRedirects, list: newFeed, answer: feedAnswer,
		failed: func(a *crawl.Answer, reason string) { a.Feed = &crawl.Feed{Reason: reason} },
	},
	crawl.AuxLLMSTxt: {
		redirects: 1, within: true, accept: ok(llmstxt.MaxBytes+1, "", "text/plain", "text/markdown", "text/x-markdown"), answer: llmsTxt,
		failed: func(a *crawl.Answer, reason string) {
			a.LLMSTxt = &crawl.LLMSTxt{State: crawl.FileUnreadable, Reason: reason}
		},
	},
	crawl.AuxSecurityTxt: {
		redirects: 1, within: true, accept: ok(maxSecurityTxt, "text/plain"), answer: securityTxt,
		failed: func(a *crawl.Answer, reason string) {
			a.SecurityTxt = &crawl.SecurityTxt{State: crawl.FileUnreadable, Reason: reason}
		},
	},
	crawl.AuxIndexNow: {
		accept: ok(indexnow.MaxKeyFile + 1), answer: keyFile,
		failed: func(a *crawl.Answer, reason string) { a.KeyFile = &crawl.KeyFile{Reason: reason} },
	},
	crawl.AuxRUP: {
		redirects: requests.MaxRedirects, accept: either(rup.MaxInfo+1, maxRefusal), posted: rup.MaxAnswer, answer: rupAnswer, failed: rupFailed,
	},
	crawl.AuxWebSub: {
		accept: either(maxRefusal, maxRefusal), before: notForStrangers, answer: hubAnswer, failed: rupFailed,
	},
}

func rupFailed(a *crawl.Answer, reason string) { a.RUP = crawl.RUP{Reason: reason} }
