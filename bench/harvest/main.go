// Command harvest crawls simulated portals of open data and downloads all of their datasets, while
// its processes are killed again and again, and checks that nothing is missing, twice or wrong.
//
//	go run ./harvest                     10,000 datasets of 20 portals, ten kills
//	go run ./harvest -datasets 1000      fewer of them
//	go run ./harvest -bin FILE           with this curtsy, for example an older one
//
// The portals are in this process, on a loopback address; curtsy runs in processes of its own,
// which are killed (kill -9) at random moments: half of the times `curtsy crawl`, half of the times
// `curtsy datasets get`. The directory is removed at the end. The program exits with 1 if a
// dataset or a file is missing, is there twice, or is not what the portal serves.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/curtsy/curtsy/bench/command"
)

type settings struct {
	datasets, portals, kills int
	bin, keep                string
	seed                     uint64
}

func main() { command.Main("harvest", parse, run) }

func parse(args []string, stderr io.Writer) (settings, error) {
	var s settings
	f := flag.NewFlagSet("harvest", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.IntVar(&s.datasets, "datasets", 10_000, "datasets of all portals")
	f.IntVar(&s.portals, "portals", 20, "portals, each a host of its own")
	f.IntVar(&s.kills, "kills", 10, "how often a process is killed")
	f.StringVar(&s.bin, "bin", "", "use this curtsy; empty: build the one of this checkout")
	f.StringVar(&s.keep, "dir", "", "keep all files in this `DIR`, which does not exist; empty: a temporary one")
	f.Uint64Var(&s.seed, "seed", 1, "of the moments of the kills")
	if err := f.Parse(args); err != nil {
		return s, err
	}
	if f.NArg() > 0 {
		return s, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	if s.portals < 1 || s.portals > 99 || s.datasets < s.portals || s.kills < 0 {
		return s, errors.New("-portals is from 1 to 99, and each portal has a dataset")
	}
	return s, nil
}

func run(ctx context.Context, s settings, w io.Writer) (err error) {
	root := s.keep
	if root == "" {
		if root, err = os.MkdirTemp("", "curtsy-harvest-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(root)) }()
	} else if err = os.Mkdir(root, 0o755); err != nil {
		return err
	}
	if s.bin == "" {
		s.bin = filepath.Join(root, "bin", "curtsy")
		if err := command.Build(ctx, filepath.Dir(s.bin), "./cmd/curtsy"); err != nil {
			return err
		}
	}
	l, err := net.Listen("tcp", address+":0")
	if err != nil {
		return err
	}
	web := newWeb(s, l.Addr().(*net.TCPAddr).Port)
	server := &http.Server{Handler: web}
	go func() { _ = server.Serve(l) }()
	defer server.Close()

	h := &harvest{settings: s, web: web, root: root, rng: rand.New(rand.NewPCG(s.seed, s.seed)), w: w}
	fmt.Fprintf(w, "%d datasets with %d files (%.1f MB) of %d portals\n\n", len(web.titles), len(web.files), float64(web.bytes)/1e6, s.portals)
	fmt.Fprint(w, "| step | kills | seconds | requests | MB received | CPU, s | RSS, MB: first third, second, last |\n|---|---:|---:|---:|---:|---:|---|\n")
	crawl, err := h.step(ctx, "crawl", s.kills/2, h.crawlArgs)
	if err != nil {
		return err
	}
	get, err := h.step(ctx, "datasets get", s.kills-s.kills/2+crawl.spared, h.getArgs)
	if err != nil {
		return err
	}
	began := time.Now()
	wrong, err := h.check(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "\n%d kills; checked in %.1f s: ", crawl.kills+get.kills, time.Since(began).Seconds())
	if len(wrong) > 0 {
		fmt.Fprintln(w, "not complete")
		for _, line := range wrong[:min(len(wrong), 20)] {
			fmt.Fprintln(w, "  "+line)
		}
		return fmt.Errorf("%d things are wrong", len(wrong))
	}
	fmt.Fprintln(w, "each dataset and each file is there once, with the announced digest")
	return nil
}
