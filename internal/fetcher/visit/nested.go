package visit

import (
	"net/url"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/datatxt"
)

// maxNested is how many files nested in one data.txt are gone after; the frontier bounds what
// an origin has in all.
const maxNested = 100

// asked is the data.txt of a directory that an errand is for; empty when it is for an origin's own.
func asked(e *crawl.AuxRequest) canon.URL {
	if e.Kind == crawl.AuxNested {
		return e.URL
	}
	return ""
}

// findNested notes the files that a data.txt just read suggests (docs/formats.md §5.4). They are
// looked for on the origin whose file it is and nowhere else: a file that a redirect keeps on
// another origin leads to nothing there, since that origin may have one of its own.
func (v *dataRequest) findNested(u canon.URL, body []byte) {
	base, err := url.Parse(string(u))
	if err != nil || u.Origin() != v.e.Origin {
		return
	}
	depth := 0
	if v.e.Kind == crawl.AuxNested {
		depth = v.e.Hop
	}
	for _, c := range v.deps.nestedIn(body, base, v.cfg.spec.Agent, depth) {
		if len(v.nested) == maxNested {
			v.log.Info("too many nested data.txt files", "url", string(u), "limit", maxNested)
			return
		}
		if n, err := canon.Parse(c.URL); err == nil && n != v.e.URL && n.Host() == v.job.Host {
			v.nested = append(v.nested, crawl.AuxRequest{
				Kind: crawl.AuxNested, URL: n, Origin: v.e.Origin, Hop: depth + 1, ReplyShard: v.job.Shard,
			})
		}
	}
}

// nestedIn are the files that a data.txt suggests; none when it is refused, as
// the indexer will say.
func (k *Deps) nestedIn(body []byte, base *url.URL, token string, depth int) []datatxt.Candidate {
	if depth >= datatxt.MaxNesting {
		return nil
	}
	k.parsing.Lock()
	defer k.parsing.Unlock()
	file, err := datatxt.Parse(body, base, token)
	if err != nil {
		return nil
	}
	return file.Nested(depth)
}

// offerNested tells the host's shard of them; which of them are due it knows. It reports
// whether that is safe.
func (v *Visit) offerNested() bool {
	return len(v.nested) == 0 || v.publish(v.job.Shard, &crawl.Event{Visit: v.job.ID, Fetcher: v.deps.opt.Fetcher, Aux: v.nested})
}
