package robots

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/klauspost/compress/s2"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/answer"
	"github.com/curtsy/curtsy/internal/fetcher/requests"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/datatxt"
	"github.com/curtsy/curtsy/pkg/robots"
	"github.com/curtsy/curtsy/pkg/usage"
)

// rightsFiles is what an origin's rights files say about the use of its pages: its tdmrep.json, and
// the licences that its robots.txt names (formats §8.17, §8.19).
type rightsFiles struct {
	tdm      *usage.TDMRep
	tdmLost  string // why tdmrep.json could not be fetched; empty: it was, or there is none
	licences []licence
	unread   []unread
}

// unread is a licence that robots.txt names and that was not read.
type unread struct {
	url canon.URL
	why string
}

type licence struct {
	url canon.URL
	doc *usage.RSL
}

// How long a rights file is valid: as its Cache-Control says, within bounds.
const (
	minRightsFresh = 24 * time.Hour
	maxRightsFresh = 30 * 24 * time.Hour
	lostFresh      = time.Hour // then a file that could not be fetched is requested again
)

// RightsFresh returns how long a rights file is valid. h is the header with which the file came,
// and at is when it came. The result also applies to other small files of an origin.
func RightsFresh(h http.Header, at time.Time) time.Duration {
	return max(minRightsFresh, min(datatxt.Lifetime(h, at), maxRightsFresh))
}

// addUsage adds what the files say about a URL. A tdmrep.json that could not be fetched may reserve
// all rights, so it counts as a reservation: a site that has a problem did not give permission.
func (a *rightsFiles) addUsage(stated *usage.Set, u canon.URL) {
	if a == nil {
		return
	}
	if a.tdmLost != "" {
		var p usage.Preferences
		p[usage.AIInput], p[usage.AITrain], p[usage.TDM] = usage.Disallow, usage.Disallow, usage.Disallow
		stated.Add(usage.Statements{{Position: usage.Position{From: "tdmrep.json", Line: 1}, Text: "it could not be fetched, so it counts as a reservation: " + a.tdmLost, Preferences: p}})
	}
	if a.tdm != nil {
		stated.TDMRep(a.tdm, u.String())
	}
	for _, l := range a.unread {
		var p usage.Preferences
		p[usage.AIInput], p[usage.AITrain] = usage.Disallow, usage.Disallow
		stated.Add(usage.Statements{{Position: usage.Position{From: "licence " + string(l.url), Line: 1}, Text: "it was not read, so it counts as a reservation: " + l.why, Preferences: p}})
	}
	for _, l := range a.licences {
		stated.RSL(l.doc, usage.Position{From: "licence " + string(l.url), Line: 1}, u.String())
	}
}

// readRights reads the rights files of a site before anything else is requested there, if the crawl
// is for more than search. What the frontier does not know is requested. It returns false if
// nothing can be sent or published any more. If an answer ends the visit, the remaining files are
// left out.
func (s *Sites) readRights(site *Site) bool {
	if !s.Requests.Config.Purposes.Beyond() || site.Closed || site.Bar.Barred || site.rules == nil {
		return true
	}
	a := new(rightsFiles)
	var learned []crawl.RightsFile
	all := rightsOf(site)
	for _, u := range all {
		f, ok := s.knownRights(site, u)
		if !ok && s.Fixed {
			return false
		}
		if !ok && s.Requests.Over() {
			break
		}
		if !ok {
			if f, ok = s.fetchRights(site, u); !ok {
				return false
			}
			learned = append(learned, f)
		}
		a.read(f)
	}
	if len(learned) > 0 && !s.Publish(crawl.Robots{Origin: site.Origin, Rights: learned}) {
		return false
	}
	a.leaveOut(site, all)
	if a.tdm != nil || a.tdmLost != "" || len(a.licences) > 0 || len(a.unread) > 0 {
		site.rights = a
	}
	return true
}

// rightsOf lists the rights files of a site: tdmrep.json, and the licences on the same origin that
// its robots.txt names for us. Those elsewhere are left out (see leaveOut), because a request for
// them would need a permission of its own.
func rightsOf(site *Site) (all []canon.URL) {
	if u, err := site.Origin.URL(crawl.TDMRepPath); err == nil {
		all = append(all, u)
	}
	for _, l := range site.rules.Usage("/") {
		if l.Kind != robots.License {
			continue
		}
		if u, err := canon.Parse(l.Statement); err == nil && u.Origin() == site.Origin && !slices.Contains(all, u) && len(all) < crawl.MaxAparts {
			all = append(all, u)
		}
	}
	return all
}

// maxUnread bounds the licences that are noted as unread. More of them change nothing.
const maxUnread = 4

// leaveOut notes the licences that robots.txt names and that are not in all, the files that are
// requested. They might forbid everything, and we cannot tell without reading them.
func (a *rightsFiles) leaveOut(site *Site, all []canon.URL) {
	for _, l := range site.rules.Usage("/") {
		if l.Kind != robots.License || len(a.unread) >= maxUnread {
			continue
		}
		u, err := canon.Parse(l.Statement)
		switch {
		case err != nil || slices.Contains(all, u) || slices.ContainsFunc(a.unread, func(k unread) bool { return k.url == u }):
		case u.Origin() != site.Origin:
			a.unread = append(a.unread, unread{u, "it is on another site"})
		default:
			a.unread = append(a.unread, unread{u, "robots.txt lists too many"})
		}
	}
}

// knownRights returns a rights file as the frontier has it, or as it was fetched earlier in this
// visit. ok is false if it has to be requested.
func (s *Sites) knownRights(site *Site, u canon.URL) (f crawl.RightsFile, ok bool) {
	known := s.rights[u]
	if known.State == crawl.RightsUnknown {
		for i := range s.Job.Robots {
			if s.Job.Robots[i].Origin == site.Origin {
				for _, k := range s.Job.Robots[i].Rights {
					if k.URL == u {
						known = k
					}
				}
			}
		}
	}
	if known.State == crawl.RightsUnknown || known.Fresh <= time.Since(s.Began) {
		return known, false
	}
	if sum := sha256.Sum256(known.Body); known.State == crawl.RightsRead && !bytes.Equal(sum[:], known.Digest) {
		body, err := s.Text(s.Requests.Session.Waiting, known.Digest)
		if err != nil {
			return known, false
		}
		known.Body = body
	}
	return known, true
}

// fetchRights requests a rights file under the rules of its site and follows one redirect within
// the origin. ok is false if nothing could be sent.
func (s *Sites) fetchRights(site *Site, u canon.URL) (f crawl.RightsFile, ok bool) {
	f = crawl.RightsFile{URL: u, State: crawl.RightsNone, Fresh: datatxt.DefaultLifetime}
	t := requests.Trail{At: u, Most: 1, Within: site.Origin}
	t.May = func(u canon.URL) bool {
		verdict := site.rules.Match(u.PathQuery())
		if !verdict.Allowed {
			f.Reason = refusal(verdict)
		}
		return verdict.Allowed
	}
	t.Ask = func(u canon.URL, _ bool) (wire.Answer, error) {
		defer s.Requests.For(crawl.RequestRights)()
		return s.Requests.Get(u, nil, func(status int, _ http.Header) wire.Wanted {
			if status != http.StatusOK {
				return wire.Wanted{}
			}
			return wire.Wanted{Limit: usage.MaxTDMRep + 1}
		})
	}
	got, end, err := t.Follow(s.Job.Host)
	switch {
	case end == requests.TrailBarred:
	case err != nil:
		fail := s.Requests.FailureOf(err)
		if fail.Unsent {
			return f, false
		}
		f.State, f.Reason, f.Fresh = crawl.RightsLost, fail.String(), lostFresh
	case end != requests.TrailArrived:
		f.Reason = "it redirects elsewhere"
	case got.Status == http.StatusTooManyRequests || got.Status >= 500:
		if answer.Overloaded(got.Status) {
			s.Requests.Overload(&got)
		}
		f.State, f.Reason, f.Fresh = crawl.RightsLost, fmt.Sprintf("HTTP %d", got.Status), lostFresh
	case got.Status != http.StatusOK:
		f.Reason = fmt.Sprintf("HTTP %d", got.Status)
	default:
		f.Fresh = RightsFresh(got.Header, got.At)
		keepRights(&f, got.Body)
	}
	if s.rights == nil {
		s.rights = map[canon.URL]crawl.RightsFile{}
	}
	known := f
	known.Fresh += time.Since(s.Began) // what is known is valid from the visit's begin
	s.rights[u] = known
	return f, true
}

// maxRightsPacked is the size of the largest packed file: several of them have to fit into one
// message.
const maxRightsPacked = 200 << 10

// keepRights adds the text of a file that was fetched, if it can be parsed. A file that is too
// large to be stored may reserve all rights, so it counts as lost.
func keepRights(f *crawl.RightsFile, body []byte) {
	packed := s2.EncodeBest(nil, body)
	if err := new(rightsFiles).parse(f.URL, body); err != nil {
		f.Reason = err.Error()
		return
	}
	if len(packed) > maxRightsPacked {
		f.State, f.Reason = crawl.RightsLost, "over 200 KiB, compressed"
		return
	}
	sum := sha256.Sum256(packed)
	f.State, f.Body, f.Digest = crawl.RightsRead, packed, sum[:]
}

// read adds what is known of a file. A file that cannot be parsed states nothing.
func (a *rightsFiles) read(f crawl.RightsFile) {
	switch {
	case f.State == crawl.RightsLost && f.URL.PathQuery() == crawl.TDMRepPath:
		a.tdmLost = f.Reason
	case f.State == crawl.RightsLost:
		a.unread = append(a.unread, unread{f.URL, f.Reason})
	case f.State == crawl.RightsRead:
		if n, err := s2.DecodedLen(f.Body); err != nil || n > usage.MaxTDMRep {
			return
		}
		if body, err := s2.Decode(nil, f.Body); err == nil {
			_ = a.parse(f.URL, body) // keepRights parsed it before it was stored
		}
	}
}

func (a *rightsFiles) parse(u canon.URL, body []byte) (err error) {
	if u.PathQuery() == crawl.TDMRepPath {
		a.tdm, err = usage.ParseTDMRep(body)
		return err
	}
	doc, err := usage.ParseRSL(body)
	if err == nil {
		a.licences = append(a.licences, licence{u, doc})
	}
	return err
}
