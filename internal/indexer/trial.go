package indexer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/debug"
	rtmetrics "runtime/metrics"
	"time"

	"github.com/curtsy/curtsy/internal/catalog"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/htmlscan"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/internal/pagetext"
	"github.com/curtsy/curtsy/internal/search"
	"github.com/curtsy/curtsy/internal/siterules"
)

// A trial reads one page in a process of its own, in every way in which the indexer does.
const (
	trialEnv    = "READS_ONE_PAGE_FOR_CURTSY"
	trialLimit  = 20 * time.Second
	trialMemory = 512 << 20 // bytes of heap, sixteen times what any page needs
)

// canTry says that the program called Trial. Another program, started again, would not know that it
// is for a trial.
var canTry bool

// ownProcess returns a function that reads a page in a process of its own, also by the site rules
// of the text that sites returns; nil if the program did not call Trial.
func ownProcess(sites func() string) func(*pages.Page) error {
	if !canTry {
		return nil
	}
	return func(p *pages.Page) error { return tryInProcess(p, sites()) }
}

// noSites is for readers that apply no site rules.
func noSites() string { return "" }

// Trial must be the first call in every program that runs an indexer. In a process that was started
// for a trial it does not return.
func Trial() {
	if os.Getenv(trialEnv) == "" {
		canTry = true
		return
	}
	os.Exit(hold(os.Stdin))
}

// tried is the input of a trial.
type tried struct {
	Page   crawl.Page
	Claims []byte
	Sites  string // Spec.Sites
}

// tryInProcess reads a page in a process of its own, and returns an error if that died of the page.
func tryInProcess(p *pages.Page, sites string) error {
	given, err := json.Marshal(tried{p.Page, p.Claims, sites})
	if err != nil {
		return err
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(exe)
	cmd.Args = []string{os.Args[0]}
	cmd.Env = append(os.Environ(), trialEnv+"=1")
	cmd.Stdin = bytes.NewReader(given)
	if err := cmd.Start(); err != nil {
		return err
	}
	late := time.AfterFunc(trialLimit, func() { cmd.Process.Kill() })
	defer late.Stop()
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("a process crashed while it read this page, and a process that read only this page crashed, too: %w", err)
	}
	return nil
}

// hold runs a trial and returns the exit code.
func hold(in io.Reader) int {
	// If memory runs out, the system ends this process before the one that waits for it.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0o600)
	debug.SetMemoryLimit(trialMemory / 2)
	go func() {
		heap := []rtmetrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		for range time.Tick(2 * time.Millisecond) {
			if rtmetrics.Read(heap); heap[0].Value.Uint64() > trialMemory {
				os.Exit(3)
			}
		}
	}()
	var t tried
	if err := json.NewDecoder(in).Decode(&t); err != nil {
		return 0 // which means nothing for the page
	}
	if why := survive(func() { readAll(&pages.Page{Page: t.Page, Claims: t.Claims}, t.Sites) }); why != "" {
		return 4
	}
	return 0
}

// readAll reads a page in every way.
func readAll(p *pages.Page, sites string) {
	if testHook != nil {
		testHook(p.URL)
	}
	if len(p.Claims) > 0 {
		_, _ = claimsOf(p, 1<<30)
	}
	body, err := p.Unpack(nil)
	if err != nil {
		return
	}
	if p.Kind == crawl.KindData {
		e, _ := catalog.Update(catalog.Entry{}, &p.Page, body, "curtsy")
		_, _ = e.Claims("curtsy", nil)
		return
	}
	doc := documentOf(p)
	if p.IsMeta() {
		_, _ = catalog.ReadJSON(metadataText(body, p.Charset), doc)
		return
	}
	if rules, err := siterules.Of(&crawl.Spec{Sites: sites}); err == nil {
		if site := rules.Reader(p.URL); site != nil {
			in := siterules.InputOf(&p.Page, nil, body)
			site.Read(in)
			site.Content(in.ContentType, in.Charset, body)
		}
	}
	var x pagetext.Extractor
	x.Title(p.ContentType, p.Charset, body)
	_, _ = catalog.ReadPage(catalog.PageText(x.LinkedData(p.ContentType, p.Charset, body, catalog.MaxDocument), p.Signposts), doc)
	search.Try(p)
	var scan htmlscan.Scanner
	scan.Scan(htmlscan.Page{URL: p.URL, Body: body, ContentType: p.ContentType + "; charset=" + p.Charset, HTML: p.ContentType != "text/plain"})
}
