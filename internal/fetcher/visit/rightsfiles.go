package visit

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/klauspost/compress/s2"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/datatxt"
	"github.com/curtsy/curtsy/pkg/robots"
	"github.com/curtsy/curtsy/pkg/usage"
)

// rightsFiles is what an origin's files apart from robots.txt say of the use of its pages
// (formats §8.17, §8.19).
type rightsFiles struct {
	tdm      *usage.TDMRep
	tdmLost  string // why it could not be had; "": it could, or is not there
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

// How long such a file holds: as its Cache-Control says, within bounds.
const (
	minRightsFresh = 24 * time.Hour
	maxRightsFresh = 30 * 24 * time.Hour
	lostFresh      = time.Hour // after that one which could not be had is asked for again
)

func rightsFresh(h http.Header, at time.Time) time.Duration {
	return max(minRightsFresh, min(datatxt.Lifetime(h, at), maxRightsFresh))
}

// addUsage adds what the files say of a URL. A tdmrep.json that could not be had may reserve all
// rights, so it counts as if it did: a site in trouble is not one that allows.
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

// readAparts reads, for a crawl that is for more than search, what the site says apart, before
// anything else is asked of it: from what the frontier knows, else from the site. false means that
// nothing can be sent or told any more. Where an answer has ended the visit nothing is asked for,
// and what is not known then is not missed.
func (v *Visit) readAparts(s *site) bool {
	if !v.cfg.purposes.Beyond() || s.closed || s.bar.Barred || s.rules == nil {
		return true
	}
	a := new(rightsFiles)
	var learned []crawl.RightsFile
	for _, u := range v.apartsOf(s) {
		f, ok := v.knownRights(s, u)
		if !ok && v.over() {
			break
		}
		if !ok {
			if f, ok = v.fetchRights(s, u); !ok {
				return false
			}
			learned = append(learned, f)
		}
		a.read(f)
	}
	if len(learned) > 0 && !v.publishFact(crawl.Robots{Origin: s.origin, Rights: learned}) {
		return false
	}
	v.leaveOut(s, a)
	if a.tdm != nil || a.tdmLost != "" || len(a.licences) > 0 || len(a.unread) > 0 {
		s.rights = a
	}
	return true
}

// apartsOf lists the files: tdmrep.json, and the licences on the same origin that robots.txt names
// for us. One elsewhere would need leave of its own: see leaveOut.
func (v *Visit) apartsOf(s *site) (all []canon.URL) {
	if u, err := s.origin.URL(crawl.TDMRepPath); err == nil {
		all = append(all, u)
	}
	for _, l := range s.rules.Usage("/") {
		if l.Kind != robots.License {
			continue
		}
		if u, err := canon.Parse(l.Statement); err == nil && u.Origin() == s.origin && !slices.Contains(all, u) && len(all) < crawl.MaxAparts {
			all = append(all, u)
		}
	}
	return all
}

// leaveOut notes the licences that robots.txt names and that are not asked for. What they say may
// be that nothing is allowed, and who has not read them cannot tell.
func (v *Visit) leaveOut(s *site, a *rightsFiles) {
	read := v.apartsOf(s)
	for _, l := range s.rules.Usage("/") {
		if l.Kind != robots.License || len(a.unread) >= maxUnread {
			continue
		}
		u, err := canon.Parse(l.Statement)
		switch {
		case err != nil || slices.Contains(read, u) || slices.ContainsFunc(a.unread, func(k unread) bool { return k.url == u }):
		case u.Origin() != s.origin:
			a.unread = append(a.unread, unread{u, "it is on another site"})
		default:
			a.unread = append(a.unread, unread{u, "robots.txt lists too many"})
		}
	}
}

// maxUnread bounds what is kept of licences that are not read; more of them say no more.
const maxUnread = 4

// knownRights is such a file as the frontier, or an earlier look of this visit, has it; ok is false
// when it is to be asked for.
func (v *Visit) knownRights(s *site, u canon.URL) (f crawl.RightsFile, ok bool) {
	known := v.aparts[u]
	if known.State == crawl.RightsUnknown {
		for i := range v.job.Robots {
			if v.job.Robots[i].Origin == s.origin {
				for _, k := range v.job.Robots[i].Rights {
					if k.URL == u {
						known = k
					}
				}
			}
		}
	}
	if known.State == crawl.RightsUnknown || known.Fresh <= time.Since(v.began) {
		return known, false
	}
	if sum := sha256.Sum256(known.Body); known.State == crawl.RightsRead && !bytes.Equal(sum[:], known.Digest) {
		body, err := v.sink.RobotsText(v.session.Waiting, v.job.Shard, known.Digest)
		if err != nil {
			return known, false
		}
		known.Body = body
	}
	return known, true
}

// fetchRights asks the site for such a file, under its rules, following one redirect that stays on
// it. ok is false when nothing could be sent.
func (v *Visit) fetchRights(s *site, u canon.URL) (f crawl.RightsFile, ok bool) {
	f = crawl.RightsFile{URL: u, State: crawl.RightsNone, Fresh: datatxt.DefaultLifetime}
	t := Trail{At: u, Most: 1, within: s.origin}
	t.May = func(u canon.URL) bool {
		verdict := s.rules.Match(u.PathQuery())
		if !verdict.Allowed {
			f.Reason = whyNotAsked(verdict, crawl.ReasonRobots)
		}
		return verdict.Allowed
	}
	t.Ask = func(u canon.URL, _ bool) (wire.Answer, error) {
		defer v.asking(crawl.RequestRights)()
		return v.ask(u, nil, func(status int, _ http.Header) wire.Wanted {
			if status != http.StatusOK {
				return wire.Wanted{}
			}
			return wire.Wanted{Limit: usage.MaxTDMRep + 1}
		})
	}
	got, end, err := t.Follow(v.job.Host)
	switch {
	case end == TrailBarred:
	case err != nil:
		fail := v.failureOf(err)
		if fail.Unsent {
			return f, false
		}
		f.State, f.Reason, f.Fresh = crawl.RightsLost, fail.String(), lostFresh
	case end != TrailArrived:
		f.Reason = "it redirects elsewhere"
	case got.Status == http.StatusTooManyRequests || got.Status >= 500:
		if overloaded(got.Status) {
			v.overload(got)
		}
		f.State, f.Reason, f.Fresh = crawl.RightsLost, fmt.Sprintf("HTTP %d", got.Status), lostFresh
	case got.Status != http.StatusOK:
		f.Reason = fmt.Sprintf("HTTP %d", got.Status)
	default:
		f.Fresh = rightsFresh(got.Header, got.At)
		keepRights(&f, got.Body)
	}
	if v.aparts == nil {
		v.aparts = map[canon.URL]crawl.RightsFile{}
	}
	known := f
	known.Fresh += time.Since(v.began) // what is known counts from then
	v.aparts[u] = known
	return f, true
}

// maxRightsPacked is the largest packed file: with others it must fit into one message.
const maxRightsPacked = 200 << 10

// keepRights takes in a file that was answered, if it is one. What is too large to be kept may
// reserve all rights.
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

// read takes in what is known of a file. One that is no such file, or is broken, says nothing.
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
			_ = a.parse(f.URL, body) // it was parsed before it was kept
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
