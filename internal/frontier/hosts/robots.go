package hosts

import (
	"slices"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/pkg/robots"
)

// RobotsTxt is what is known of an origin's robots.txt. It is part of the origin's record.
type RobotsTxt struct {
	// History records when robots.txt was fetched and when that failed. Copy is the last success;
	// for RobotsParsed, Digest identifies the stored body.
	History    robots.History    `json:"history,omitzero"`
	Copy       crawl.RobotsState `json:"copy,omitempty"`
	Digest     []byte            `json:"digest,omitempty"`
	Status     int               `json:"status,omitempty"` // of the last response
	Reason     string            `json:"reason,omitempty"` // of the last failure, for people
	CrawlDelay time.Duration     `json:"crawl_delay,omitempty"`
	HasDelay   bool              `json:"has_delay,omitempty"`
	ETag       string            `json:"etag,omitempty"`
	LastMod    string            `json:"last_modified,omitempty"`

	// RobotsPending: the URL requested on another host.
	PendingOn string    `json:"pending_on,omitempty"`
	PendingAt time.Time `json:"pending_at,omitzero"`
	Redirects int       `json:"hops,omitempty"`

	Visit crawl.VisitID `json:"visit,omitzero"` // the newest visit that reported this robots.txt
}

// RobotsContents are facts about the stored robots.txt that are needed without reading it. They are
// part of the origin's record.
type RobotsContents struct {
	Cleans bool `json:"cleans,omitempty"` // the copy has Clean-param lines
	Agents bool `json:"agents,omitempty"` // the copy names servers for mobile agents
	Uses   bool `json:"uses,omitempty"`   // the copy states how pages may be used
}

// What a visit, or another host's answer, has to say of an origin's robots.txt comes in this order:
// ReportedBy (visits only), RobotsAnswered, and one of the methods that name an outcome. Applied
// again they change nothing but the count of failures, which errs on the side of waiting.

// ReportedBy notes which visit reports on the robots.txt of o. It returns false for one whose lease
// was over before a newer one asked: what it reports must not be applied any more.
func (o *Origin) ReportedBy(visit crawl.VisitID) bool {
	c := visit.Compare(o.Visit)
	if c > 0 {
		o.Visit = visit
		o.changed()
	}
	return c >= 0
}

// RobotsAnswered notes the status of the newest answer and, for people, why there is no file. No
// other host's answer is awaited from here on.
func (o *Origin) RobotsAnswered(status int, reason string) {
	o.Status, o.Reason = status, strings.Clone(crawl.ShortDetail(reason))
	o.PendingOn, o.Redirects = "", 0
	o.changed()
}

// KeepRobots keeps a robots.txt that was read at a time: its text with the same commit, and what we
// need of it at each visit. parsed is f.Body, and uses whether it has preferences about the use of
// pages.
func (o *Origin) KeepRobots(f *crawl.Robots, parsed *robots.File, uses bool, at time.Time) error {
	o.robotsRead(f, at)
	o.Digest, o.ETag, o.LastMod = slices.Clone(f.Digest), strings.Clone(f.ETag), strings.Clone(f.LastModified)
	o.host.memory.cleans.forget(cleanKey{o.host.ID, o.Origin})
	o.Cleans, o.Agents = len(parsed.CleanParams) > 0, len(parsed.AgentServers()) > 0
	o.Uses = uses
	return o.host.memory.file.Put(store.BucketRobots, RobotsKey(o.host.ID, o.Origin), f.Body)
}

// RenewRobots notes that the stored robots.txt is still the valid one.
func (o *Origin) RenewRobots(f *crawl.Robots, at time.Time) {
	o.robotsRead(f, at)
	if f.ETag != "" {
		o.ETag = strings.Clone(f.ETag)
	}
	if f.LastModified != "" {
		o.LastMod = strings.Clone(f.LastModified)
	}
}

func (o *Origin) robotsRead(f *crawl.Robots, at time.Time) {
	o.History = o.History.Succeeded(at, f.Age+f.Fresh)
	o.Copy = crawl.RobotsParsed
	o.CrawlDelay, o.HasDelay = f.CrawlDelay, f.HasCrawlDelay
	o.changed()
}

// NoRobots notes that o has no robots.txt, which allows all, and that this is good from a time on
// for so long. A copy from before is deleted.
func (o *Origin) NoRobots(at time.Time, fresh time.Duration) error {
	o.History = o.History.Succeeded(at, fresh)
	o.Copy = crawl.RobotsUnavailable
	o.CrawlDelay, o.HasDelay, o.Digest, o.ETag, o.LastMod = 0, false, nil, "", ""
	o.host.memory.cleans.forget(cleanKey{o.host.ID, o.Origin})
	o.Cleans, o.Agents, o.Uses = false, false, false
	o.changed()
	return o.host.memory.file.Drop(store.BucketRobots, RobotsKey(o.host.ID, o.Origin))
}

// RobotsFailed counts a request for robots.txt that brought neither a file nor the certainty that
// there is none. retryAfter is what the answer asks for.
func (o *Origin) RobotsFailed(now time.Time, status int, retryAfter time.Duration) {
	o.History = o.History.Failed(now, status, retryAfter)
	o.changed()
}

// AwaitRobots notes that robots.txt redirects to a URL of another host, after so many redirects,
// and that the answer of that host is awaited.
func (o *Origin) AwaitRobots(on string, redirects int, now time.Time) {
	o.PendingOn, o.PendingAt, o.Redirects = on, now, redirects
	o.changed()
}

// LostRobots has robots.txt requested again without a condition: its server says that our copy is
// valid, but we have none.
func (o *Origin) LostRobots() {
	o.History, o.Digest, o.ETag, o.LastMod = robots.History{}, nil, "", ""
	o.changed()
}

// ExpireRobots has robots.txt requested again before anything else. Its rules hold until then.
func (o *Origin) ExpireRobots() {
	o.History.Fresh = 0
	o.changed()
}

// RetryRobots has robots.txt requested again without the wait that its failures brought. Since when
// it has been failing stays known.
func (o *Origin) RetryRobots() {
	o.History.Failures, o.History.RetryAt = 0, time.Time{}
	o.changed()
}
