package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// linksOfPage is how many links a page has; newOf100 of a hundred are new.
const (
	linksOfPage = 43
	newOf100    = 40
	cutOff      = 50 // of Zipf's law: otherwise one host would have a sixteenth of all URLs
)

// web generates the links of pages.
type web struct {
	rnd   *rand.Rand
	cross int
	known []uint32 // number of known URLs of each host
}

func newWeb(hosts, cross int) *web {
	return &web{rand.New(rand.NewPCG(1, 2)), cross, make([]uint32, hosts)}
}

// host chooses a random host: the k-th with a probability proportional to 1/(k+cutOff).
func (w *web) host() int {
	n := float64(len(w.known))
	return min(int(cutOff*math.Pow((n+cutOff)/cutOff, w.rnd.Float64())-cutOff), len(w.known)-1)
}

var sections = [...]string{"docs", "news/archive", "blog", "wiki", "products/catalogue", "forum/thread"}

// url returns the n-th URL of a host.
func (w *web) url(host int, n uint32) canon.URL {
	mixed := uint64(n+1) * 0x9E3779B97F4A7C15
	return canon.URL("https://www.host-" + strconv.Itoa(host) + ".example/" + sections[mixed>>32%uint64(len(sections))] +
		"/page-" + strconv.FormatUint(mixed>>40, 36) + "-" + strconv.Itoa(int(n)) + ".html")
}

// link makes a random link to a host.
func (w *web) link(host int) canon.URL {
	n := w.known[host]
	if n == 0 || w.rnd.IntN(100) < newOf100 {
		w.known[host]++
		return w.url(host, n)
	}
	return w.url(host, uint32(w.rnd.IntN(int(n))))
}

// messages makes events of pages with about that many links in total, and returns their exact
// number. Four pages of a host are in one message, like those of one visit.
func (w *web) messages(about int) (msgs [][]byte, links int) {
	for links < about {
		host := w.host()
		var e crawl.Event
		for p := range 4 {
			l := crawl.Links{Depth: 3, FoundOn: canon.URL(fmt.Sprintf("https://www.host-%d.example/docs/index-%d.html", host, p))}
			for i := range linksOfPage {
				to := host
				if i < w.cross {
					to = w.host()
				}
				l.URLs = append(l.URLs, w.link(to))
			}
			links += len(l.URLs)
			e.Links = append(e.Links, l)
		}
		msgs = append(msgs, crawl.AppendEvent(nil, &e))
	}
	return msgs, links
}
