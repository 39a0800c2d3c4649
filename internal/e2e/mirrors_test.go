package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/internal/simweb"
)

// The table of formats §2.4 and the cases around it, with real fetching, storing and search:
// which host is a mirror of which, what is stored, and that no page is requested from a host that
// is closed or merged.

const m0 = "main.sim.test"

// merged returns the pages of a main host, each with the same page of other hosts as its alias.
func (m *mirrors) merged(main string, aliases ...string) (lines []string) {
	all := make([][]string, len(aliases))
	for i, a := range aliases {
		all[i] = m.web.PageURLs(a)
	}
	for p, u := range m.web.PageURLs(main) {
		for i := range aliases {
			u += " " + all[i][p]
		}
		lines = append(lines, u)
	}
	return lines
}

func TestMirrorsThreeWay(t *testing.T) {
	for _, same := range []bool{true, false} {
		t.Run(fmt.Sprintf("same shard %v", same), func(t *testing.T) {
			simnet.Test(t, func(t *testing.T) {
				a, b := apart("a", m0, 4, same), apart("b", m0, 4, same)
				text := hostLine(m0)
				m := newMirrors(t, 4, main(m0, text), copyOf(m0, a, text), copyOf(m0, b, text))
				m.crawl(append(m.pages(a, b), home(m0)...)...)
				m.want([]string{
					"http://" + m0 + " main http://" + m0,
					"http://" + a + " mirror http://" + m0 + " robots.txt",
					"http://" + b + " mirror http://" + m0 + " robots.txt",
				}, m.merged(m0))
				m.quiet(a, b)
				m.explained("refused mirror", m.pages(a, b)...)
				m.explained("stored", m.pages(m0)...)
			})
		})
	}
}

// A chain ends at its last member; each member is compared with that, not with its neighbour.
func TestMirrorsChain(t *testing.T) { simnet.Test(t, testMirrorsChain) }

func testMirrorsChain(t *testing.T) {
	const b, c = "b.sim.test", "c.sim.test"
	a := apart("a", c, 4, false)
	m := newMirrors(t, 4, main(c, hostLine(c)), copyOf(c, b, hostLine(c)), copyOf(c, a, hostLine(b, allowPages)))
	m.crawl(append(m.pages(a, b), home(c)...)...)
	merged := m.merged(c, a)
	merged[0] = "http://" + c + "/" // the home page of a was closed
	m.want([]string{
		"http://" + a + " mirror http://" + c + " pages 5/5",
		"http://" + b + " mirror http://" + c + " robots.txt",
		"http://" + c + " main http://" + c,
	}, merged)
	m.quiet(b)
	m.once()
	m.explained("refused mirror", m.pages(a, b)...)

	m.crawl("http://"+a+"/new.html", "http://"+b+"/new.html")
	m.quiet(a, b)
	m.explained("refused mirror", "http://"+a+"/new.html", "http://"+b+"/new.html")
	m.explained("failed http-4xx", "http://"+c+"/new.html")
}

// A chain of more than five hops is not followed; one of five is.
func TestMirrorsLongChain(t *testing.T) { simnet.Test(t, testMirrorsLongChain) }

func testMirrorsLongChain(t *testing.T) {
	hosts := []simweb.Behavior{main("h6.sim.test", "")}
	for i := range 6 {
		hosts = append(hosts, copyOf("h6.sim.test", fmt.Sprintf("h%d.sim.test", i), hostLine(fmt.Sprintf("h%d.sim.test", i+1), allowPages)))
	}
	m := newMirrors(t, 4, hosts...)
	m.crawl(append(m.pages("h0.sim.test", "h1.sim.test"), home("h6.sim.test")...)...)
	merged := m.merged("h6.sim.test", "h1.sim.test")
	merged[0] = "http://h6.sim.test/"
	states := []string{"http://h0.sim.test unconfirmed http://h1.sim.test chain", "http://h1.sim.test mirror http://h6.sim.test pages 5/5"}
	for i := 2; i < 6; i++ { // their robots.txt was requested, and no page of them is known
		states = append(states, fmt.Sprintf("http://h%d.sim.test unconfirmed http://h%d.sim.test no-evidence", i, i+1))
	}
	// Host 0, at the start of a chain that is too long, is no mirror: the pages that its rules
	// allow stay its own.
	m.want(states, append(merged, m.pages("h0.sim.test")[1:]...))
}

// A cycle makes no host a mirror; its members stay closed, as each of them requires.
func TestMirrorsCycle(t *testing.T) { simnet.Test(t, testMirrorsCycle) }

func testMirrorsCycle(t *testing.T) {
	hosts := []string{"x.sim.test", "y.sim.test", "z.sim.test", "p.sim.test", "q.sim.test"}
	next := []string{"y.sim.test", "z.sim.test", "x.sim.test", "q.sim.test", "p.sim.test"}
	var web []simweb.Behavior
	var states []string
	for i, h := range hosts {
		web = append(web, main(h, hostLine(next[i])))
		states = append(states, "http://"+h+" unconfirmed http://"+next[i]+" cycle")
	}
	m := newMirrors(t, 4, append(web, main(m0, ""))...)
	m.crawl(append(m.pages(hosts...), home(m0)...)...)
	m.want(states, m.pages(m0))
	m.quiet(hosts...)
	m.explained("refused robots", m.pages(hosts...)...)
}

// A target that cannot be fetched confirms nothing, and the claim closes its own host nevertheless.
func TestMirrorsDeadTarget(t *testing.T) { simnet.Test(t, testMirrorsDeadTarget) }

func testMirrorsDeadTarget(t *testing.T) {
	broken := main("broken.sim.test", "")
	broken.Robots = simweb.RobotsServerError
	m := newMirrors(t, 4, main(m0, ""), main("a.sim.test", hostLine("nowhere.sim.test")), main("b.sim.test", hostLine("broken.sim.test")), broken)
	m.spec.Resolve = append(m.spec.Resolve, "nowhere.sim.test=127.0.0.1:1")
	m.crawl(append(m.pages("a.sim.test", "b.sim.test"), home(m0)...)...)
	m.want([]string{
		"http://a.sim.test unconfirmed http://nowhere.sim.test target-unreachable",
		"http://b.sim.test unconfirmed http://broken.sim.test target-unreachable",
	}, m.pages(m0))
	m.quiet("a.sim.test", "b.sim.test", "broken.sim.test")

	// The next day one of them answers, and still names the other.
	m.later(25 * time.Hour)
	m.setRobots("broken.sim.test", hostLine("broken.sim.test"))
	m.setRobots("b.sim.test", hostLine("broken.sim.test"))
	m.crawl("http://b.sim.test/new.html")
	m.want([]string{
		"http://a.sim.test unconfirmed http://nowhere.sim.test target-unreachable",
		"http://b.sim.test mirror http://broken.sim.test robots.txt",
		"http://broken.sim.test main http://broken.sim.test",
	}, append(m.pages(m0), m.pages("broken.sim.test")...))
	m.quiet("a.sim.test", "b.sim.test")
}

// Whatever a host claims, it can only remove its own pages (formats §2.5).
func TestMirrorsHostileClaims(t *testing.T) { simnet.Test(t, testMirrorsHostileClaims) }

func testMirrorsHostileClaims(t *testing.T) {
	const thief, liar, parrot, away, echo = "thief.sim.test", "liar.sim.test", "parrot.sim.test", "away.sim.test", "echo.sim.test"
	borrowed := main(away, "")
	borrowed.Robots, borrowed.Peer = simweb.RobotsRedirect, 0
	m := newMirrors(t, 4,
		main(m0, hostLine(m0, "Disallow: /secret")),
		main(thief, hostLine(m0, allowPages)),           // has other pages
		main(liar, hostLine(m0)),                        // has no page that anybody may see
		main(parrot, hostLine(m0, "Disallow: /secret")), // has the same robots.txt
		borrowed,                   // gets it by a redirect
		main(echo, hostLine(away)), // names the one that redirects
	)
	m.spec.MaxPagesPerHost = 20
	seeds := append(m.pages(thief, liar, away, echo), home(m0)...)
	for i := range 60 {
		seeds = append(seeds, fmt.Sprintf("http://%s/invented/%d.html", parrot, i))
	}
	m.crawl(append(seeds, "http://"+parrot+"/secret/1.html")...)
	states := []string{
		"http://" + m0 + " main http://" + m0,
		"http://" + thief + " unconfirmed http://" + m0 + " content-differs",
		"http://" + liar + " unconfirmed http://" + m0 + " no-evidence",
		"http://" + parrot + " mirror http://" + m0 + " robots.txt",
		"http://" + away + " mirror http://" + m0 + " robots.txt",
		"http://" + echo + " unconfirmed http://" + away + " no-evidence",
	}
	stored := append(m.pages(m0), m.pages(thief)[1:]...)
	m.want(states, stored)
	m.explained("stored", m.pages(m0)...)
	m.explained("refused mirror", "http://"+parrot+"/secret/1.html")
	m.quiet(liar, parrot, away, echo)
	invented := 0
	for _, path := range m.asked(m0) {
		if strings.HasPrefix(path, "/secret") {
			t.Errorf("%s of the main host was asked for, which its own rules forbid", path)
		}
		if strings.HasPrefix(path, "/invented/") {
			invented++
		}
	}
	if invented == 0 || invented > 20 {
		t.Errorf("%d invented pages were asked of the main host, want as many as the mirror may hand on, 20", invented)
	}
}

// http://h names https://h: one host, two origins, one robots.txt.
func TestMirrorsHTTPSTwin(t *testing.T) { simnet.Test(t, testMirrorsHTTPSTwin) }

func testMirrorsHTTPSTwin(t *testing.T) {
	m := newMirrors(t, 4, main(m0, hostLine("https://"+m0)))
	m.crawl(home(m0)...)
	var stored []string
	for _, u := range m.pages(m0) {
		stored = append(stored, strings.Replace(u, "http:", "https:", 1))
	}
	m.want([]string{"http://" + m0 + " mirror https://" + m0 + " robots.txt", "https://" + m0 + " main https://" + m0}, stored)
	m.quiet(m0)
	if len(m.asked(m0+":443")) == 0 {
		t.Error("no page over TLS in the log")
	}
	m.explained("refused mirror", home(m0)...)
}

// A host may name another port of its own.
func TestMirrorsOtherPort(t *testing.T) { simnet.Test(t, testMirrorsOtherPort) }

func testMirrorsOtherPort(t *testing.T) {
	m := newMirrors(t, 4, main(m0, hostLine(m0+":8080")))
	// It only closes port 80, which the web cannot express: see quiet.
	m.web.SetRobots(m0, hostLine(m0+":8080"), nil)
	m.crawl(home(m0)...)
	var stored []string
	for _, u := range m.pages(m0) {
		stored = append(stored, strings.Replace(u, m0, m0+":8080", 1))
	}
	m.want([]string{"http://" + m0 + " mirror http://" + m0 + ":8080 robots.txt", "http://" + m0 + ":8080 main http://" + m0 + ":8080"}, stored)
	m.quiet(m0)
}

// A site whose home page and three more pages have moved permanently is an alias of its new
// address; one that has moved temporarily, or keeps a page, is not.
func TestMirrorsMovedSite(t *testing.T) {
	for _, status := range []int{301, 308, 302} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			simnet.Test(t, func(t *testing.T) {
				old := main("old.sim.test", "")
				old.MovedTo, old.Moved = "http://"+m0, status
				m := newMirrors(t, 4, main(m0, ""), old)
				m.crawl(m.pages("old.sim.test")...)
				states := []string{"http://old.sim.test mirror http://" + m0 + " redirect"}
				if status == 302 {
					states = nil
				}
				m.want(states, m.pages(m0))
				m.explained("redirected redirect", m.pages("old.sim.test")...)
				m.crawl("http://old.sim.test/more.html")
				m.want(states, m.pages(m0))
				if status == 302 {
					return
				}
				m.quiet("old.sim.test")
				m.explained("refused mirror", "http://old.sim.test/more.html")
				m.explained("failed http-4xx", "http://"+m0+"/more.html")
			})
		})
	}
}

// The same site with and without www., without any claim: the host that was known later is an
// alias.
func TestMirrorsTwins(t *testing.T) { simnet.Test(t, testMirrorsTwins) }

func testMirrorsTwins(t *testing.T) {
	const bare, www = "twin.sim.test", "www.twin.sim.test"
	other := main("www.other.sim.test", "")
	m := newMirrors(t, 4, main(bare, ""), copyOf(bare, www, ""), main("other.sim.test", ""), other)
	m.crawl(home(bare, "other.sim.test", "www.other.sim.test")...)
	m.crawl(m.pages(www)...)
	states := []string{"http://" + www + " mirror http://" + bare + " www 5/5"}
	stored := append(m.merged(bare, www), m.pages("other.sim.test", "www.other.sim.test")...)
	m.want(states, stored)
	m.once()
	m.crawl("http://" + www + "/new.html")
	m.want(states, stored)
	m.quiet(www)
}
