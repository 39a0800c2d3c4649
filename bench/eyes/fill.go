package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/queue"
)

// The hosts, pages and texts for which the pages about a single item are requested.
const (
	hostNumber = 4                                           // of the host that has a long timeline
	shownPage  = "/some/directory/page-0.html"               // a stored page of that host
	oneWord    = "thistle"                                   // in every twentieth page
	robotsText = "User-agent: *\nDisallow: /private\n"       // of every third host that was visited
	agentLine  = "Mobile-agent-server: / http://a.example\n" // in that of every thirtieth
)

func hostName(n int) string { return fmt.Sprintf("h%d.site%d.example", n, n) }

// fill gives a crawl without fetchers the events that fetchers would have published: the URLs of
// each host, and for every second host the outcomes of its robots.txt and its first page.
func fill(ctx context.Context, s settings, c *asker.Crawl) error {
	if err := perShard(s, func(shard int) error { return fillShard(ctx, s, c, shard) }); err != nil {
		return err
	}
	return asker.Applied(ctx, c.Queue, c.Spec)
}

// perShard calls do for all shards at once.
func perShard(s settings, do func(shard int) error) error {
	errs := make([]error, s.shards)
	var all sync.WaitGroup
	for shard := range s.shards {
		all.Go(func() { errs[shard] = do(shard) })
	}
	all.Wait()
	return errors.Join(errs...)
}

func fillShard(ctx context.Context, s settings, c *asker.Crawl, shard int) error {
	names := crawl.Names(c.Spec.Name)
	log, err := c.Queue.OpenLog(ctx, queue.LogConfig{Stream: names.EventsStream(shard), Subject: names.EventsSubject(shard)})
	if err != nil {
		return err
	}
	tell := func(e crawl.Event) error {
		_, err := log.Append(ctx, crawl.AppendEvent(nil, &e))
		return err
	}
	for n := range s.hosts {
		if crawl.ShardOf(canon.Host(hostName(n)), s.shards) != shard {
			continue
		}
		l := crawl.Links{Depth: 1, FoundOn: canon.URL("http://" + hostName((n/10)*10) + "/")}
		for i := range s.urls / s.hosts {
			l.URLs = append(l.URLs, canon.URL(fmt.Sprintf("http://%s/some/directory/page-%d.html", hostName(n), i)))
		}
		if err := tell(crawl.Event{Links: []crawl.Links{l}}); err != nil {
			return err
		}
		if n%2 == 1 {
			continue
		}
		if err := tell(visited(n)); err != nil {
			return err
		}
		if n == hostNumber {
			if err := tell(longVisit(n)); err != nil {
				return err
			}
		}
	}
	return nil
}

// visited returns the event of a visit to a host that fetched its first page.
func visited(n int) crawl.Event {
	host := canon.Host(hostName(n))
	first := canon.URL("http://" + hostName(n) + shownPage)
	id := crawl.VisitID{Epoch: 1, N: uint64(2*n + 1)}
	robots := crawl.Robots{Origin: first.Origin(), State: crawl.RobotsUnavailable, Status: 404, Fresh: 24 * time.Hour}
	if n%3 != 0 {
		body := []byte(robotsText)
		if n%20 == 4 {
			body = []byte(robotsText + agentLine)
		}
		sum := sha256.Sum256(body)
		robots.State, robots.Status, robots.Body, robots.Digest = crawl.RobotsParsed, 200, body, sum[:]
		if n%10 == 0 {
			robots.Body, robots.CrawlDelay, robots.HasCrawlDelay = []byte("User-agent: *\nCrawl-delay: 1200\n"), 20*time.Minute, true
			sum := sha256.Sum256(robots.Body)
			robots.Digest = sum[:]
		}
	}
	r := crawl.Result{URL: first, Class: crawl.Stored, Status: 200, FetchedAt: time.Now(), Bytes: 2000, Took: 20 * time.Millisecond}
	if n%8 == 0 {
		r.Class, r.Reason, r.Status = crawl.Failed, crawl.ReasonHTTP4xx, 404
	}
	o := &crawl.Outcome{Host: host, Results: []crawl.Result{r}, Delay: time.Second, Requests: 2, Bytes: 2000}
	return crawl.Event{Visit: id, Robots: []crawl.Robots{robots}, Outcome: o, Traces: []crawl.Trace{trace(n, 2)}}
}

// longVisit returns the event of a visit with so many requests that the oldest are dropped.
func longVisit(n int) crawl.Event {
	t := trace(n, crawl.MaxTrace)
	return crawl.Event{
		Visit: crawl.VisitID{Epoch: 1, N: uint64(2*n + 2)}, Traces: []crawl.Trace{t},
		Outcome: &crawl.Outcome{Host: t.Host, Delay: time.Second, Requests: crawl.MaxTrace},
	}
}

func trace(n, requests int) crawl.Trace {
	t := crawl.Trace{Host: canon.Host(hostName(n)), Begin: time.Now().UnixMicro(), Last: true, After: time.Second, AfterSource: "configured"}
	for range requests {
		t.Requests = append(t.Requests, crawl.Sent{
			Suffix: "http://" + hostName(n) + shownPage, Wait: 1_000_100, Took: 20_000, Status: 200, Bytes: 2000, Bound: time.Second, BoundSource: "configured",
		})
	}
	return t
}

// store sends pages to the indexer, like fetchers do, and waits until they are stored and
// searchable.
func store(ctx context.Context, s settings, c *asker.Crawl) error {
	names := crawl.Names(c.Spec.Name)
	w, err := c.Queue.JoinWork(ctx, names.PagesStream(), func(error) bool { return ctx.Err() == nil })
	if err != nil {
		return err
	}
	send := func(shard int, batch []crawl.Page) error {
		if len(batch) == 0 {
			return nil
		}
		msg := crawl.AppendPages(nil, batch)
		for tries := 0; ; tries++ {
			// A full hand-off refuses more pages until some are stored.
			if err := w.Send(ctx, names.PagesSubject(shard), msg); err == nil || ctx.Err() != nil || tries == 600 {
				return err
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
	err = perShard(s, func(shard int) error {
		var batch []crawl.Page
		for n := 0; n < s.hosts; n += 2 {
			if crawl.ShardOf(canon.Host(hostName(n)), s.shards) != shard {
				continue
			}
			if batch = append(batch, pagesOf(s, n)...); len(batch) >= 50 {
				if err := send(shard, batch); err != nil {
					return err
				}
				batch = batch[:0]
			}
		}
		return send(shard, batch)
	})
	if err != nil {
		return err
	}
	for {
		handed, err := c.Queue.JS.Stream(ctx, names.PagesStream())
		if err == nil && handed.CachedInfo().State.Msgs == 0 {
			st, err := c.Status(ctx)
			behind := int64(0)
			for _, part := range st.Indexers {
				behind += part.Behind + part.Pending
			}
			if err == nil && behind == 0 && len(st.Indexers) > 0 {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// perFile is the number of datasets in a data.txt, or on a page.
const perFile = 5

// pagesOf returns the stored pages of a host: its first page, which describes datasets on some
// hosts, and on other hosts a data.txt that does.
func pagesOf(s settings, n int) []crawl.Page {
	u := canon.URL("http://" + hostName(n) + shownPage)
	p := crawl.Page{
		URL: u, Visit: crawl.VisitID{Epoch: 1, N: uint64(2*n + 1)}, Status: 200, FetchedAt: time.Now(), ContentType: "text/html", Charset: "utf-8", Depth: 1,
	}
	files := s.datasets / perFile // documents that describe datasets, on the first hosts
	var data strings.Builder
	if n/2 < files && n%4 == 0 {
		for i := range perFile {
			fmt.Fprintf(&data, `<script type="application/ld+json">%s</script>`, linked(n, i))
		}
	}
	word := "nettle"
	if n%40 == 4 {
		word = oneWord
	}
	body := fmt.Sprintf("<!DOCTYPE html><html lang=en><title>Page of host %d</title>%s<h1>%s %d</h1><p>%s", n, data.String(), word, n, strings.Repeat("Some words that stand on every page. ", 20))
	p.Body, p.Size, p.SHA256 = []byte(body), int64(len(body)), sha256.Sum256([]byte(body))
	all := []crawl.Page{p}
	if n/2 < files && n%4 == 2 {
		o := u.Origin()
		text := new(strings.Builder)
		text.WriteString("User-agent: *\n")
		for i := range perFile {
			text.WriteString(record(n, i))
		}
		at, err := o.URL("/data.txt")
		if err != nil {
			panic(err)
		}
		all = append(all, crawl.Page{
			Kind: crawl.KindData, URL: at, Origin: o, Visit: p.Visit, Status: 200, FetchedAt: time.Now(), ContentType: "text/plain", Charset: "utf-8",
			Fresh: 24 * time.Hour, Body: []byte(text.String()), Size: int64(text.Len()), SHA256: sha256.Sum256([]byte(text.String())),
		})
	}
	return all
}

var licences = []string{"CC-BY-4.0", "CC0-1.0", "ODbL-1.0", "https://example.org/our-own-terms"}

var about = strings.Repeat("Measured every ten minutes by a station beside the river, and corrected once a year. ", 4)

// linked is a dataset as JSON-LD on a page.
func linked(n, i int) string {
	at := fmt.Sprintf("http://%s/files/set-%d", hostName(n), i)
	return fmt.Sprintf(`{"@context":"https://schema.org/","@type":"Dataset","name":"Water level %d of station %d","description":"%s","license":"%s",`+
		`"url":"%s.html","creator":{"@type":"Organization","name":"Office of station %d"},"keywords":["water","level","station %d"],"dateModified":"2026-10-%02d",`+
		`"distribution":[{"@type":"DataDownload","contentUrl":"%s.csv","encodingFormat":"text/csv","contentSize":"%d"},{"@type":"DataDownload","contentUrl":"%s.parquet"}]}`,
		i, n, about, licences[(n+i)%len(licences)], at, n, n%50, 1+i, at, 1000*(n+1), at)
}

// record is a dataset in a data.txt.
func record(n, i int) string {
	return fmt.Sprintf("Path: /files/table-%d.csv\nTitle: Rainfall %d at station %d\nDescription: %s\nLicense: %s\nFormat: csv\nBytes: %d\n", i, i, n, about, licences[(n+i)%len(licences)], 500*(n+1))
}
