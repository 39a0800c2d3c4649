// Command robots measures pkg/robots and github.com/temoto/robotstxt, the parser that most Go
// crawlers use, and prints a table.
//
//	go run ./robots [-rounds 9] [-each 60ms]
//
// The machines on which we measure are shared and noisy. So it measures CPU time, not the clock,
// and never the two libraries in a fixed order: each round runs one, then the other, the next round
// in the other order, each for a few dozen milliseconds, and it reports the median of each and the
// median of the ratios of the rounds. A slow minute affects both.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"
)

func main() {
	rounds := flag.Int("rounds", 9, "alternating rounds of each case")
	each := flag.Duration("each", 60*time.Millisecond, "CPU time spent on one side in one round")
	flag.Parse()
	if *rounds < 1 || *each <= 0 || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(os.Stdout, *rounds, *each); err != nil {
		fmt.Fprintln(os.Stderr, "robots:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, rounds int, each time.Duration) error {
	fmt.Fprintf(w, "pkg/robots beside temoto/robotstxt, CPU time, medians of %d alternating rounds of %v\n\n", rounds, each)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "case\tours\ttemoto\ttemoto ÷ ours\tworst round\tallocs\ttemoto\t")
	for _, c := range cases() {
		if err := c.agree(); err != nil {
			return err
		}
		r := compare(c.ours, c.theirs, rounds, each)
		fmt.Fprintf(t, "%s\t%s\t%s\t%.1f ×\t%.1f ×\t%d\t%d\t\n",
			c.name, short(r.ours), short(r.theirs), r.ratio, r.worst, r.oursAllocs, r.theirAllocs)
	}
	return t.Flush()
}

// short prints a duration with three significant digits.
func short(d float64) string {
	switch {
	case d < 1e3:
		return fmt.Sprintf("%.3g ns", d)
	case d < 1e6:
		return fmt.Sprintf("%.3g µs", d/1e3)
	default:
		return fmt.Sprintf("%.3g ms", d/1e6)
	}
}
