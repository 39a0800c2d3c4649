package e2e

import (
	"context"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/fetcher"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/internal/simweb"
	"github.com/curtsy/curtsy/internal/simweb/requestlog"
	"github.com/curtsy/curtsy/pkg/canon"
)

// TestDownloadsBesideTheCrawl downloads from each host while it is being crawled, in what looks
// like a separate process: together they are as polite as the crawl alone, and neither blocks the
// other.
func TestDownloadsBesideTheCrawl(t *testing.T) { simnet.Test(t, testDownloadsBesideTheCrawl) }

func testDownloadsBesideTheCrawl(t *testing.T) {
	const hosts, pages, pieces = 6, 25, 8
	web := serve(t, simweb.Config{Hosts: hosts, PagesPerHost: pages, Mix: func(i int) simweb.Behavior {
		return simweb.Behavior{Robots: simweb.RobotsSubtree, CrawlDelay: time.Duration(i%3) * 40 * time.Millisecond, Latency: 5 * time.Millisecond}
	}})
	spec := specFor(web)
	spec.Delay = 30 * time.Millisecond
	r := newRig(t, web.net, spec, fetcher.Options{})
	d, err := fetcher.NewDownloader(r.q, spec, fetcher.Options{Dial: r.dial, Log: logger(t)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- d.Run(ctx) }()
	r.seed()
	var wg sync.WaitGroup
	for _, s := range web.Seeds() {
		home, err := canon.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			for range pieces {
				err := d.Visit(ctx, home.Origin(), func(v *fetcher.DownloadVisit) error {
					got, err := v.Get(ctx, home, "", http.Header{"Range": {"bytes=0-99"}}, func(status int, _ http.Header) bool { return status < 300 }, io.Discard)
					if err == nil && !got.Complete {
						t.Errorf("%s: %+v", home, got)
					}
					return err
				})
				if err != nil {
					t.Errorf("%s: %v", home, err)
					return
				}
			}
		})
	}
	wg.Wait()
	st := r.wait(time.Minute)
	cancel()
	if err := <-ran; err != nil {
		t.Error(err)
	}
	r.stop()
	if n := d.Violations(); n != 0 {
		t.Errorf("%d requests were stopped at the last moment for being impolite", n)
	}
	log := web.Log()
	politeLog(t, log, requestlog.CheckOptions{Delay: requestlog.Every(spec.Delay), Token: token})
	// They alternated: pages of a host came between its first download and its last.
	between := 0
	for _, s := range web.Seeds() {
		host := string(canon.URL(s).Host())
		var downloads, other []int
		for i, q := range log {
			switch {
			case q.Host != host:
			case q.Path == "/":
				downloads = append(downloads, i)
			default:
				other = append(other, i)
			}
		}
		if len(downloads) < pieces {
			t.Errorf("%s: %d downloads", host, len(downloads))
			continue
		}
		for _, i := range other {
			if downloads[1] < i && i < downloads[len(downloads)-1] {
				between++
			}
		}
	}
	if between == 0 {
		t.Error("no page of any host came between two downloads from it")
	}
	judge(t, r, web)
	t.Logf("%d requests, %d pages between downloads, %+v", len(log), between, st)
}
