package main

import (
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"
)

// stage is a part of the work on a page.
type stage int

const (
	fetch    stage = iota // request and answer: robots rules, gate, net/http, the socket
	tokenize              // charset, one tokenizer pass for links and robots tags
	resolve               // resolving them, what is in scope and new in the visit, by shard
	pack                  // compression and digest
	// Publishing, receiving, acknowledging: with encoding, the client of the broker at both ends.
	handOff
	broker    // the NATS server inside the process
	apply     // events into the frontier: links, outcomes, facts from robots.txt
	commit    // of the files of the frontier
	grant     // visits: chosen, requested, renewed
	crawlLog  // a line for each URL
	store     // titles, the page store, its commits
	index     // search
	collector // the goroutines of the garbage collector
	// The runtime on its own stacks: finding work, parking, timers, network poller.
	scheduler
	overhead // starting, stopping, status requests, measuring
	unattributed
	stages
)

var stageNames = [stages]string{
	fetch: "fetch", tokenize: "parse", resolve: "links", pack: "compress, hash", handOff: "hand-off, publish", broker: "NATS server",
	apply: "frontier: apply", commit: "frontier: commit", grant: "frontier: grant", crawlLog: "crawl log", store: "store",
	index: "search", collector: "GC (background)", scheduler: "scheduler", overhead: "start, stop, status", unattributed: "unattributed",
}

// rule gives a stage to the functions whose names begin with one of the prefixes.
type rule struct {
	stage    stage
	prefixes []string
}

const our = "github.com/curtsy/curtsy/"

// whole are rules for whole stacks: everything that is called by these functions belongs to their
// stage. The first rule that fits counts.
var whole = []rule{
	{broker, []string{"github.com/nats-io/nats-server/", our + "pkg/queue/embedded."}},
	{index, []string{our + "internal/search.", our + "internal/indexer.(*shard).followSearch"}},
	{overhead, []string{
		our + "bench/crawling.Watch", "main.profiled", our + "internal/engine.(*Engine).nothingWaits", "runtime/pprof.", "os/signal.",
		our + "internal/asker.Done", our + "internal/asker.Status", our + "internal/asker.WaitReady", our + "internal/asker.WaitIndexers",
		our + "internal/frontier.(*Frontier).each", our + "internal/frontier.answers.", our + "internal/frontier.openShard", our + "internal/indexer.(*Indexer).Status",
		our + "internal/ask.", "github.com/nats-io/nats.go/micro.",
	}},
}

// innermost are rules for single functions: going up from where the sample was taken, the first
// function that any rule has decides. So bbolt, canon, scope, compress and the allocator of the
// runtime, which have no rule, belong to their callers. If several rules fit the same function, the
// first one counts.
var innermost = []rule{
	{commit, []string{our + "internal/frontier/hosts.(*Ledger).Commit", our + "internal/frontier.(*Shard).keepCommitted"}},
	{crawlLog, []string{our + "internal/frontier/urls.(*URLs).LogLine"}},
	{grant, []string{
		our + "internal/frontier/schedule.",
		our + "internal/frontier.(*Frontier).", our + "internal/frontier.(*matcher).", our + "internal/crawl.AppendGrants", our + "internal/crawl.DecodeGrants",
		our + "internal/crawl.AppendVisitRequest", our + "internal/crawl.DecodeVisitRequest", our + "internal/fetcher.(*Fetcher).askVisits",
		our + "internal/fetcher.(*Fetcher).free", our + "internal/fetcher.(*runner).", our + "internal/fetcher.(*lease",
		our + "internal/fetcher.newLease",
	}},
	{apply, []string{our + "internal/frontier.", our + "internal/frontier/"}},
	{store, []string{our + "internal/pages.", our + "internal/pagetext.", our + "internal/indexer."}},
	{tokenize, []string{our + "internal/htmlscan.(*Scanner).Scan", our + "internal/htmlscan.(*Scanner).tokenize"}},
	{resolve, []string{
		our + "internal/htmlscan.(*Scanner).resolve", our + "internal/fetcher/page.(*Pages).keep", our + "internal/fetcher/page.(*Pages).Offer",
		our + "internal/fetcher/publish.(*Publisher).Links", our + "internal/fetcher/publish.(*outlinks).", our + "internal/fetcher/publish.(*shardLinks).",
	}},
	{pack, []string{our + "internal/fetcher/publish.(*Publisher).Pack"}},
	{handOff, []string{
		our + "internal/fetcher/publish.", our + "internal/fetcher/visit.(*Visit).publish", our + "internal/fetcher/visit.(*Visit).Close",
		our + "internal/fetcher.(*sinks).", our + "internal/fetcher.(*Fetcher).send",
		our + "internal/fetcher.(*Fetcher).append", our + "internal/fetcher.(*task).",
		our + "pkg/queue.", "github.com/nats-io/nats%2ego.", "github.com/nats-io/nats.go/",
	}},
	{fetch, []string{our + "internal/fetcher.", our + "internal/fetcher/", "net/http.", "net/http/"}},
	{collector, []string{"runtime.gcBgMarkWorker", "runtime.bgsweep", "runtime.bgscavenge", "runtime.runFinalizers", "runtime.runCleanups", "runtime._GC"}},
	{overhead, []string{"main.", our + "bench/"}},
}

// costs is the CPU time by stage, with the parts that show where to look.
type costs [stages]cost

type cost struct {
	// alloc: in the allocator, the assists of the collector included; kernel: in system calls
	total, alloc, kernel time.Duration
}

// costsOf attributes every sample of a CPU profile.
func costsOf(p *profile.Profile) (c costs) {
	value := len(p.SampleType) - 1 // samples, then nanoseconds
	var stack []string
	for _, s := range p.Sample {
		stack = stack[:0]
		for _, l := range s.Location {
			for _, f := range l.Line { // inlined functions come first
				stack = append(stack, f.Function.Name)
			}
		}
		d := time.Duration(s.Value[value])
		k := &c[stageOf(stack)]
		k.total += d
		switch {
		case within(stack, "runtime.mallocgc", "runtime.gcAssistAlloc", "runtime.growslice", "runtime.newobject"):
			k.alloc += d
		case within(stack, "internal/runtime/syscall", "syscall.Syscall", "syscall.RawSyscall", "runtime.futex", "runtime.epollwait", "runtime.write1"):
			k.kernel += d
		}
	}
	return c
}

// ofUse are parts of the names of the functions that read, transport and store the statements of
// sites about the use of their pages, in whatever stage they run. The names of generic functions
// contain those of their types.
var ofUse = []string{
	our + "pkg/usage", our + "internal/uses.", our + "pkg/robots.(*Rules).Usage", our + "pkg/robots.(*File).usageFor", our + "pkg/robots.(*parser).usage",
	our + "internal/fetcher/robots.(*Sites).Usage", our + "internal/fetcher/robots.(*Sites).Unwanted", our + "internal/fetcher/robots.(*usageSource)",
	our + "internal/crawl.statementFields", our + "internal/pages.appendUsage", our + "internal/pages.(*reader).usage", our + "internal/pages.UsageOf",
}

// useOf returns the CPU time of the samples for statements of sites about use.
func useOf(p *profile.Profile) (d time.Duration) {
	value := len(p.SampleType) - 1
	for _, s := range p.Sample {
		if slices.ContainsFunc(s.Location, func(l *profile.Location) bool {
			return slices.ContainsFunc(l.Line, func(f profile.Line) bool {
				return slices.ContainsFunc(ofUse, func(part string) bool { return strings.Contains(f.Function.Name, part) })
			})
		}) {
			d += time.Duration(s.Value[value])
		}
	}
	return d
}

// stageOf returns the stage of a stack, innermost function first.
func stageOf(stack []string) stage {
	for _, r := range whole {
		if within(stack, r.prefixes...) {
			return r.stage
		}
	}
	runtimeOnly := len(stack) > 0
	for _, f := range stack {
		for _, r := range innermost {
			if hasPrefix(f, r.prefixes) {
				return r.stage
			}
		}
		runtimeOnly = runtimeOnly && (strings.HasPrefix(f, "runtime.") || strings.HasPrefix(f, "internal/runtime/"))
	}
	if runtimeOnly {
		return scheduler
	}
	return unattributed
}

func within(stack []string, prefixes ...string) bool {
	for _, f := range stack {
		if hasPrefix(f, prefixes) {
			return true
		}
	}
	return false
}

func hasPrefix(f string, prefixes []string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(f, p) {
			return true
		}
	}
	return false
}

// sum returns the CPU time of all stages.
func (c *costs) sum() (d time.Duration) {
	for i := range c {
		d += c[i].total
	}
	return d
}
