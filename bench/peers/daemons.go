package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/curtsy/curtsy/bench/command"
	"github.com/curtsy/curtsy/bench/crawling"
	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/service"
	"github.com/curtsy/curtsy/pkg/queue"
)

// daemons is a crawl by daemons over TCP, with the configuration of the NATS server in deploy/.
func daemons(fetchers int) func(context.Context, *race) error {
	return func(ctx context.Context, r *race) error {
		nats, url, err := r.startNATS(ctx)
		if err != nil {
			return err
		}
		at := []string{"--nats", url, "--crawl", "bench"}
		seed := append(append([]string{r.program("curtsy"), "seed"}, at...), r.crawlFlags()...)
		if err := r.finish(ctx, "curtsy seed", append(append(seed, "--search=false"), r.web.Seeds...)); err != nil {
			return err
		}
		all := []*process{nats}
		roles := append([]string{"frontier", "indexer"}, slices.Repeat([]string{"fetcher"}, fetchers)...)
		for i, role := range roles {
			argv := append([]string{r.program(role), "--listen", "off", "--log-level", "warn", "--instance", fmt.Sprintf("%s-%d", role, i)}, at...)
			if role != "fetcher" {
				argv = append(argv, "--dir", filepath.Join(r.dir, role))
			}
			p, err := r.start(ctx, role, argv...)
			if err != nil {
				return err
			}
			all = append(all, p)
		}
		err = watch(ctx, url)
		r.ended = time.Now()
		for _, p := range slices.Backward(all) {
			err = errors.Join(err, p.stop())
		}
		return err
	}
}

// startNATS starts a server on a free port and waits until it reports the port.
func (r *race) startNATS(ctx context.Context) (p *process, url string, err error) {
	root, err := command.Checkout(ctx)
	if err != nil {
		return nil, "", err
	}
	p, err = r.start(ctx, "nats-server", r.program("nats-server"), "-c", filepath.Join(root, "deploy", "nats.conf"), "-sd", filepath.Join(r.dir, "js"),
		"-a", "127.0.0.1", "-p", "-1", "-m", "-1", "--ports_file_dir", r.dir)
	if err != nil {
		return nil, "", err
	}
	for {
		// The file is named after the name of the program, which taskset does not change.
		names, _ := filepath.Glob(filepath.Join(r.dir, "nats-server_*.ports"))
		for _, n := range names {
			var there struct {
				NATS []string `json:"nats"`
			}
			text, err := os.ReadFile(n)
			if err == nil && json.Unmarshal(text, &there) == nil && len(there.NATS) > 0 {
				return p, there.NATS[0], nil
			}
		}
		select {
		case <-p.over:
			return nil, "", errors.Join(errors.New("nats-server ended at once"), p.error())
		case <-ctx.Done():
			return nil, "", ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// watch waits until the crawl is done.
func watch(ctx context.Context, url string) error {
	q, err := queue.Dial(ctx, queue.Options{URL: url, Name: "bench"}, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer q.Close()
	kv, err := q.OpenBucket(ctx, crawl.Names("bench").Bucket(), 1)
	if err != nil {
		return err
	}
	spec, err := service.ReadSpec(ctx, kv)
	if err != nil {
		return err
	}
	st, err := crawling.Watch(ctx, asker.Running(q, kv, spec), nil)
	if err != nil {
		return fmt.Errorf("%w; the crawl was at %s", err, strings.TrimSpace(fmt.Sprintf("%d stored, %d queued", st.Stored, st.Queued)))
	}
	return nil
}
