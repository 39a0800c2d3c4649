package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/curtsy/curtsy/bench/command"
	"github.com/curtsy/curtsy/bench/crawling"
	"github.com/curtsy/curtsy/bench/site"
)

// row is a crawler, or a way to use one.
type row struct {
	name, about string
	usual       bool     // measured unless -rows is set
	tools       []string // programs that it needs
	// names: it cannot be configured with addresses of names, and uses the default port of URLs
	names bool
	flag  string // of curtsy crawl, which this row needs
	run   func(context.Context, *race) error
}

var rowsThere = []row{
	{name: "lean", usual: true, run: leanRow,
		about: "the lean limit: net/http, a tokenizer of x/net/html counts the links of known pages, a buffer for each of 64 workers; nothing found, checked or kept"},
	{name: "discarded", usual: true, run: discardRow, about: "ours, pages fetched and read for links, nothing kept of them"},
	{name: "stored", usual: true, run: ours("--search=false"), about: "ours, curtsy crawl --search=false"},
	{name: "searchable", usual: true, run: ours(), about: "ours, curtsy crawl"},
	{name: "warc", usual: true, flag: "--warc", run: ours("--search=false", "--warc=warc"), about: "ours, curtsy crawl --search=false --warc DIR"},
	{name: "wget2", usual: true, names: true, tools: []string{"wget2", "unshare", "mount"}, run: wget2,
		about: "wget2 --recursive, a file a page, in memory"},
	{name: "colly", usual: true, run: collyRow, about: "gocolly/colly, 64 at a time, robots.txt obeyed, nothing kept"},
	{name: "scrapy", usual: true, names: true, tools: []string{"scrapy", "python3", "unshare", "mount"}, run: scrapy,
		about: "scrapy, 64 at a time, robots.txt obeyed, nothing kept"},
	{name: "daemons-1", run: daemons(1), about: "ours, stored, nats-server, a frontier, an indexer and a fetcher over TCP"},
	{name: "daemons-2", run: daemons(2), about: "the same with two fetchers"},
	{name: "daemons-4", run: daemons(4), about: "the same with four fetchers"},
}

// choose returns which rows are measured, and notes about the others. It builds what they need into
// dir.
func choose(ctx context.Context, s settings, dir string) (rows []row, notes []string, err error) {
	if err := command.Build(ctx, dir, "./cmd/curtsy", "./cmd/frontier", "./cmd/fetcher", "./cmd/indexer", "github.com/nats-io/nats-server/v2"); err != nil {
		return nil, nil, err
	}
	help, err := exec.CommandContext(ctx, filepath.Join(dir, "curtsy"), "crawl", "--help").Output()
	if err != nil {
		return nil, nil, fmt.Errorf("curtsy crawl --help: %w", err)
	}
	asked := map[string]bool{}
	for _, name := range s.rows {
		asked[name] = true
	}
	for _, r := range rowsThere {
		if !asked[r.name] && (len(asked) > 0 || !r.usual) {
			continue
		}
		missing := lacks(r, help)
		switch {
		case missing == "":
			rows = append(rows, r)
		case asked[r.name]:
			return nil, nil, fmt.Errorf("%s: %s", r.name, missing)
		default:
			notes = append(notes, r.name+" is left out: "+missing)
		}
	}
	return rows, notes, nil
}

// lacks returns why a row cannot be measured here.
func lacks(r row, help []byte) string {
	for _, t := range r.tools {
		if _, err := exec.LookPath(t); err != nil {
			return err.Error()
		}
	}
	switch {
	case r.names && os.Geteuid() != 0:
		return "it needs root, for a hosts file in a mount namespace and for port 80 of a loopback address"
	case r.flag != "" && !bytes.Contains(help, []byte(r.flag+" ")):
		return "curtsy crawl has no " + r.flag
	}
	return ""
}

// crawlFlags returns the flags of a crawl of the web as fast as it answers.
func (r *race) crawlFlags() (flags []string) {
	flags = []string{"--contact", "bench@sim.test", "--allow-private", "--resolve", r.web.Resolve, "--delay", "0s",
		"--shards", fmt.Sprint(r.shards)}
	for _, h := range r.web.Hosts {
		flags = append(flags, "--hurry", h)
	}
	return flags
}

// ours is curtsy crawl, as a user runs it.
func ours(more ...string) func(context.Context, *race) error {
	return func(ctx context.Context, r *race) error {
		argv := append([]string{r.program("curtsy"), "crawl", "--dir", filepath.Join(r.dir, "data"), "--listen", "off", "--log-level", "warn",
			"--progress", "none"}, r.crawlFlags()...)
		return r.finish(ctx, "curtsy", append(append(argv, more...), r.web.Seeds...))
	}
}

// discardRow is the same services in one process; there is no command that stores nothing.
func discardRow(ctx context.Context, r *race) error {
	arg, err := json.Marshal(crawling.Options{Site: r.web.Info, Dir: filepath.Join(r.dir, "data"), Shards: r.shards, Slots: 256, Discard: true})
	if err != nil {
		return err
	}
	return r.self(ctx, "discard", string(arg))
}

func discard(args []string) error {
	var o crawling.Options
	if err := json.Unmarshal([]byte(args[0]), &o); err != nil {
		return err
	}
	_, err := crawling.Run(context.Background(), o)
	return err
}

// self runs this program as one of its children.
func (r *race) self(ctx context.Context, child string, args ...string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	return r.finish(ctx, child, append([]string{self, child}, args...))
}

// withNames makes a command use a hosts file with the names of the web.
func (r *race) withNames(argv ...string) ([]string, error) {
	ip, _, _ := strings.Cut(r.web.Addr, ":")
	file := filepath.Join(r.dir, "hosts")
	err := os.WriteFile(file, []byte(ip+" "+strings.Join(r.web.Hosts, "\n"+ip+" ")+"\n"), 0o644)
	return append([]string{"unshare", "--mount", "sh", "-c", `mount --bind "$0" /etc/hosts && exec "$@"`, file}, argv...), err
}

// urls writes all addresses of the web into a file, host by host.
func (r *race) urls() (file string, err error) {
	web := site.Options{Hosts: r.hosts, PagesPerHost: r.pages, Cross: r.cross}.Web()
	var b strings.Builder
	for _, h := range web.Hosts() {
		for _, u := range web.PageURLs(h) {
			b.WriteString(u + "\n")
		}
	}
	file = filepath.Join(r.dir, "urls")
	return file, os.WriteFile(file, []byte(b.String()), 0o600)
}
