package dashboard

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/questions"
)

// evil is what a site may write wherever it can write something.
const evil = "\"'><script>alert(1)</script><img src=x onerror=alert(2)>{{.}}\u202e\x00"

// evilURL must not become a link.
const evilURL = "javascript:alert(3)//" + evil

// long is more than fits on a page.
var long = evil + strings.Repeat("long", 2000)

var then = time.Date(2026, 11, 22, 19, 0, 0, 0, time.UTC)

// hostileCrawl answers all questions with what an attacker would like to see on the page, and with
// lists as long as possible.
func hostileCrawl() ask.Handlers {
	seed, depth, off, target := evilURL, 3, false, long
	n, huge := int64(150), int64(1<<63-1)
	h := crawl.HostInfo{
		Host: "evil.example", State: "held", Reason: long, DelayS: 10, DelaySource: "crawl-delay", Queued: 12, Fetched: 34, MirrorOf: &seed, NextDue: &then,
	}
	x := crawl.Explanation{
		URL: "https://evil.example/", Canonical: "https://evil.example/", InScope: true, ScopeRule: long, Seen: true, FoundOn: &seed, Depth: &depth, State: "stored",
		Reason: evil, Detail: long, Attempts: 2, NextDue: &then, Status: 200, Location: evilURL, AgentServer: &target, Robot: &crawl.ExplainRobot{Server: long, At: then, DroppedUntil: &then, DropReason: long}, SnippetAllowed: &off, NoIndex: true,
		Robots: &crawl.ExplainRobots{State: "parsed", Allowed: true, Line: 7, Rule: "Allow: " + long, FetchedAt: &then, Status: 200,
			Licenses: []crawl.UsageLine{{Line: 3, Text: evilURL}}},
	}
	uses := crawl.Usage{AITrain: "disallow", Sources: []crawl.UsageSource{{Purpose: evil, Value: evil, From: long, Line: 3, Text: long, Inferred: true}}}
	x.Robots.Usage, x.Usage = &uses, &uses
	page := crawl.PageRecord{HTML: "<p>" + evil + "<iframe srcdoc=x></iframe><a href=" + evilURL + ">x</a>", PageInfo: crawl.PageInfo{URL: evilURL, Title: long, ContentType: long, SHA256: long, Canonical: evilURL, AliasOf: evilURL, FetchedAt: then, Usage: uses}, Lang: long}
	tl := crawl.Timeline{Host: "evil.example", DelayS: 1, More: true}
	claim := crawl.DatasetClaim{
		Kind: crawl.DatasetJSONLD, Document: "https://evil.example/data.html", Origin: "https://evil.example", ID: evilURL, Page: evilURL, Name: evil, Title: long,
		Description: long, License: long, Publisher: long, Version: long, Issued: long, Modified: long, Type: long, Source: long, Rows: &n, Cols: &huge, LeftOut: 4,
		Allowed: true, FetchedAt: then,
	}
	var mirrors []crawl.MirrorInfo
	var updates []crawl.UpdatesInfo
	var rows []crawl.HostRow
	var lines []crawl.LogLine
	var stored []crawl.PageLine
	var positions []any
	for i := range 300 {
		h.Robots = append(h.Robots, crawl.RobotsInfo{Origin: evilURL, State: "parsed", Reason: long, HostHint: long, Claim: evilURL, MirrorOf: seed, DataTxt: long,
			Nested: []crawl.NestedInfo{{URL: evilURL, State: evil, Reason: long}}, OriginFiles: crawl.OriginFiles{SecurityTxt: &crawl.SecurityTxt{State: evil, Contacts: []string{long}}},
			Usage: []crawl.UsageLine{{Line: i, Text: long, Path: long, Preferences: map[string]string{evil: evil}, Inferred: true}}, UsageMore: 5})
		h.AgentServers = append(h.AgentServers, crawl.AgentInfo{Path: long, Target: long, Line: i})
		h.Dispatches = append(h.Dispatches, crawl.DispatchInfo{Origin: evilURL, Path: long, Server: long, Line: i, State: evil, Reason: long, At: &then, Next: &then, DroppedUntil: &then, DropReason: long, Sampled: 8})
		h.Sitemaps = append(h.Sitemaps, crawl.SitemapInfo{URL: evilURL, Form: long, Reason: long})
		at := then.Add(time.Duration(i) * 2 * time.Second)
		tl.Requests = append(tl.Requests, crawl.Request{URL: evilURL + long, Kind: long, Start: at, End: at.Add(time.Second / 2), BoundS: 1, BoundSource: long, Visit: long})
		tl.Unknown = append(tl.Unknown, crawl.Unknown{From: at, To: at, Visit: long})
		mirrors = append(mirrors, crawl.MirrorInfo{Host: "evil.example", Origin: evilURL, Main: evilURL, State: evil, Reason: long, Detail: long, Evidence: long})
		stored = append(stored, crawl.PageLine{URL: evilURL + long, Title: long, Type: long, Lang: evil, Size: huge, StoredAt: then,
			Fields: crawl.Fields{{Name: long, Values: []string{long, evil}}}})
		positions = append(positions, crawl.FeedPosition{Sink: fmt.Sprint(long, i), Shard: i % 2, Behind: huge >> 1, Sent: huge >> 1, Refused: huge >> 1, AckedAt: then, Trouble: long, TroubleAt: then})
		rows = append(rows, crawl.HostRow{Host: fmt.Sprintf("evil%d.example", i), State: evil, Reason: long, MirrorOf: long, DelaySource: long, NextDue: &then, Agents: true, Sitemaps: 3})
		lines = append(lines, crawl.LogLine{Time: then, URL: evilURL + long, State: evil, Reason: long, Detail: long, Bytes: &n, TookS: 1},
			crawl.LogLine{Time: then, Audit: long, What: long, Who: long, From: long, Error: long, Detail: long})
		updates = append(updates, crawl.UpdatesInfo{Site: evilURL, Source: evil, Channel: long, State: long, Reason: long})
		claim.Keywords, claim.Creators = append(claim.Keywords, long), append(claim.Creators, long)
		claim.Columns = append(claim.Columns, crawl.DatasetColumn{Name: evil + fmt.Sprint(i), Type: long, Description: long})
		claim.Files = append(claim.Files, crawl.DatasetFile{URL: fmt.Sprintf("https://evil.example/%d?%s", i, long), Name: long, MediaType: "text/" + long, SHA256: long, Bytes: &huge})
	}
	// Its own row on the pages that look for it.
	updates = append(updates, crawl.UpdatesInfo{Site: "https://evil.example/", Reason: long})
	return ask.Handlers{
		"hosts": sends(h), "timeline": sends(tl), "explain": sends(x), "page": sends(page), "datasets": sends(claim), "mirrors-page": pagesOf(questions.MirrorsPage.Sorts, mirrors), "updates-page": pagesOf(questions.UpdatesPage.Sorts, updates), "feeds": sends(positions...),
		"status": sends(running()), "hosts-page": pagesHosts(rows), "pages-page": pagesOf(questions.PagesPage.Sorts, stored), "log": logs(lines), "robots-text": sends(crawl.RobotsText{Origin: "https://evil.example", Text: "User-agent: *\nDisallow: /" + long + strings.Repeat("\nCrawl-delay: 3\n"+evil, 700), Size: 1 << 20}),
	}
}

// pagesHosts answers the question "hosts-page" as a frontier does that has these hosts.
func pagesHosts(rows []crawl.HostRow) ask.Handler {
	return func(_ context.Context, data []byte, send func(any) error) error {
		var q crawl.HostsQuery
		if err := json.Unmarshal(data, &q); err != nil {
			return err
		}
		top, err := questions.HostsPage.Top(q)
		if err != nil {
			return err
		}
		sum := questions.Sum{Counts: map[string]int64{}}
		for _, row := range rows {
			sum.Total++
			if !strings.Contains(row.Host, q.Filter) || q.Has == "agents" && !row.Agents {
				continue
			}
			sum.Counts[row.State]++
			sum.Matched++
			top.Add(row)
		}
		return top.Send(0, sum, func(p questions.Part[crawl.HostRow]) error { return send(p) })
	}
}

// pagesOf answers for a list with rows that are all alike.
func pagesOf[T any](sorts questions.Sorts[T], rows []T) ask.Handler {
	return func(_ context.Context, data []byte, send func(any) error) error {
		var q struct{ crawl.Paging }
		if err := json.Unmarshal(data, &q); err != nil {
			return err
		}
		at := 0
		byNumber := func(*T) questions.Key { at++; return questions.Key{N: float64(at), ID: fmt.Sprintf("%04d", at)} }
		top, err := questions.NewTop(q.Paging, questions.Sorts[T]{{Word: sorts[0].Word, Key: byNumber}})
		if err != nil {
			return err
		}
		for _, row := range rows {
			top.Add(row)
		}
		return top.Send(0, questions.Sum{Total: int64(len(rows)), Matched: int64(len(rows))}, func(p questions.Part[T]) error { return send(p) })
	}
}

// logs answers the question "log" as a frontier does that has these lines, each of which is a byte
// long.
func logs(lines []crawl.LogLine) ask.Handler {
	return func(_ context.Context, data []byte, send func(any) error) error {
		var q crawl.LogRequest
		if err := json.Unmarshal(data, &q); err != nil {
			return err
		}
		to := len(lines)
		if q.Before != nil {
			to = int(q.Before["file"])
		}
		from := max(0, to-q.Limit)
		part := crawl.LogPart{File: "file", Span: &crawl.LogSpan{From: int64(from), To: int64(to)}}
		for i := from; i < to; i++ {
			if (q.Class == "" || q.Class == lines[i].Class()) && (q.Reason == "" || q.Reason == lines[i].Reason) {
				part.Lines = append(part.Lines, crawl.LogEntry{Start: int64(i), End: int64(i + 1), Line: lines[i]})
			}
		}
		return send(part)
	}
}
