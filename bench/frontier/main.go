// Command frontier feeds links to one shard of the frontier, without a broker, a fetcher or a
// network, and measures what a link costs as the shard grows: CPU microseconds, bytes of its file,
// memory.
//
//	go run ./frontier                        ten million links, of which four in ten are new
//	go run ./frontier -links 125000000       fifty million URLs
//	go run ./frontier -hosts 1000000         a million hosts
//	go run ./frontier -hand-out              then URLs are handed out as fast as possible
//	go run ./frontier -checkpoints           what a checkpoint costs at each step
//	go run ./frontier -by-changes            commits as large as with other work
//
// The links are like those of real pages: most lead to the host of the page, some to any host. Host
// sizes are as unequal as on the web (Zipf, without the very largest); a link that is not new leads
// to a random known URL of its host. The time for making the messages does not count.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/pprof"
	"strings"
	"time"

	"github.com/curtsy/curtsy/bench/command"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier"
)

type settings struct {
	links, hosts int
	step         int
	cross        int
	handOut      bool
	checkpoints  bool
	byChanges    bool
	dir          string
	profile      string
}

func main() { command.Main("frontier", parse, run) }

func parse(args []string, stderr io.Writer) (settings, error) {
	var s settings
	f := flag.NewFlagSet("frontier", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.IntVar(&s.links, "links", 10_000_000, "links to feed, of which four in ten are new")
	f.IntVar(&s.hosts, "hosts", 100_000, "hosts they lead to")
	f.IntVar(&s.step, "step", 1_000_000, "links between two lines of the table")
	f.IntVar(&s.cross, "cross", 8, "of the 43 links of a page, how many lead to any host")
	f.BoolVar(&s.handOut, "hand-out", false, "hand the URLs out afterwards, to visits that end at once")
	f.BoolVar(&s.checkpoints, "checkpoints", false, "make a checkpoint at each step, which is thrown away, and say what it cost; it is not counted")
	f.BoolVar(&s.byChanges, "by-changes", false, "commit by changes alone and not every 250 ms as well, which is the oftener the more others use the machine")
	f.StringVar(&s.dir, "dir", "", "make the shard's file here instead of in the system's place for temporary files")
	f.StringVar(&s.profile, "profile", "", "write a CPU profile of the feeding to this file, for go tool pprof")
	return s, f.Parse(args)
}

func run(ctx context.Context, s settings, out io.Writer) error {
	dir, err := os.MkdirTemp(s.dir, "curtsy-frontier-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	a, err := frontier.OpenAlone(dir, crawl.Spec{
		Name: "bench", Shards: 1, Scope: "any", MaxDepth: -1, Agent: "curtsy", Delay: 0, HoldMax: 10 * time.Minute,
		MaxHosts: 10_000_000,
	})
	if err != nil {
		return err
	}
	defer a.Close()
	a.ByChanges = s.byChanges
	w := newWeb(s.hosts, s.cross)
	if err := feed(ctx, s, a, w, dir, out); err != nil || !s.handOut {
		return err
	}
	return handOut(ctx, s, a, out)
}

// feed feeds all links and prints a line at each step.
func feed(ctx context.Context, s settings, a *frontier.Alone, w *web, dir string, out io.Writer) error {
	if s.profile != "" {
		f, err := os.Create(s.profile)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	head := "| links | URLs | hosts known | in memory | µs of CPU a link | of the last step | seconds | bytes of file a URL | MiB of heap | MiB anonymous |"
	if s.checkpoints {
		head += " a checkpoint: s of CPU | MiB of file | MiB told | compressed |"
	}
	fmt.Fprintf(out, "%s\n%s|\n", head, strings.Repeat("|---:", strings.Count(head, "|")-1))
	var spent, last meter
	var first float64
	for fed, next := 0, s.step; fed < s.links; {
		msgs, n := w.messages(100_000)
		began := now()
		for _, m := range msgs {
			if err := a.Apply(m); err != nil {
				return err
			}
		}
		spent.add(now().sub(began))
		if fed += n; ctx.Err() != nil {
			return ctx.Err()
		}
		if fed < next {
			continue
		}
		next += s.step
		if err := a.Commit(); err != nil {
			return err
		}
		st := a.Status()
		step := spent.sub(last)
		per := micros(step.cpu) / float64(s.step)
		if first == 0 {
			first = per
		}
		last = spent
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		size, err := sizeOf(dir)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "| %d | %d | %d | %d | %.2f | %.2f (%.2f ×) | %.1f | %.0f | %.0f | %.0f |", fed, st.Discovered, st.Hosts, a.HostsInMemory(),
			micros(spent.cpu)/float64(fed), per, per/first, step.wall.Seconds(), float64(size)/float64(max(st.Discovered, 1)),
			float64(m.HeapAlloc)/(1<<20), float64(command.OwnMemory().Anonymous)/(1<<20))
		if s.checkpoints {
			began := now()
			c, err := a.Checkpoint()
			if err != nil {
				return err
			}
			fmt.Fprintf(out, " %.2f | %.0f | %.0f | %.0f |", now().sub(began).cpu.Seconds(), float64(c.File)/(1<<20), float64(c.Reported)/(1<<20), float64(c.Stored)/(1<<20))
		}
		fmt.Fprintln(out)
	}
	return nil
}
