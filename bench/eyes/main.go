// Command eyes measures what each page of the dashboard costs when a crawl is large.
//
//	go run ./eyes                            10⁵ hosts, 10⁶ URLs, 20,000 datasets
//	go run ./eyes -hosts 1000 -urls 10000    the same, small
//	go run ./eyes -only /datasets -profile cpu.out
//
// A store is made once, from events like those of fetchers, and each page is requested several
// times through the handler of the dashboard: over embedded NATS, from a frontier and an indexer in
// this process. It measures the CPU time of the whole process, the allocated memory, and the size
// of the page. Nothing is fetched.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"

	"github.com/curtsy/curtsy/bench/command"
)

type settings struct {
	hosts, urls, datasets, rounds, shards int
	only, profile                         string
}

func main() {
	command.Main("eyes", parse, run)
}

func parse(args []string, stderr io.Writer) (settings, error) {
	var s settings
	f := flag.NewFlagSet("eyes", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.IntVar(&s.hosts, "hosts", 100_000, "hosts of the crawl; every second was visited")
	f.IntVar(&s.urls, "urls", 1_000_000, "URLs of the crawl")
	f.IntVar(&s.datasets, "datasets", 20_000, "datasets: half in data.txt files, half in pages")
	f.IntVar(&s.rounds, "rounds", 5, "how often each page is asked for")
	f.IntVar(&s.shards, "shards", 4, "shards of the crawl")
	f.StringVar(&s.only, "only", "", "ask only for pages whose address has this in it")
	f.StringVar(&s.profile, "profile", "", "write a CPU profile of the asking to this file")
	if err := f.Parse(args); err != nil {
		return s, err
	}
	switch {
	case f.NArg() > 0:
		return s, fmt.Errorf("unexpected argument %q", f.Arg(0))
	case s.hosts < 10 || s.urls < s.hosts || s.datasets < 20 || s.rounds < 1 || s.shards < 1:
		return s, errors.New("-hosts is 10 or more, -urls no less than that, -datasets 20 or more, -rounds and -shards greater than 0")
	}
	return s, nil
}
