// Command attack attacks the built program as a hostile site or a stranger would, and prints what
// that took, and what was left for everybody else.
//
//	go run ./attack                 all attacks, one after the other, in about three minutes
//	go run ./attack -only NAME      some of them, separated by commas
//	go run ./attack -list           the attacks
//	go run ./attack -bin FILE       attacks this curtsy, for example an older one
//
// Everything runs on loopback addresses of this machine: the attackers and the sites in this
// process, and curtsy in processes of its own. The directory is removed at the end. The program
// exits with 1 if an attack took from others more than it may.
//
// An attack is a function in a file of its own, and a row in attacks.go. What each attack may cost
// at most is in docs/security.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/curtsy/curtsy/bench/command"
)

// Attack is one way to harm a crawl, its operator or its other sites.
type Attack struct {
	Name string // a word for -only
	What string // who does what, in a few words
	Run  func(context.Context, *Rig) (Row, error)
}

// Row is what an attack cost, and what it did.
type Row struct {
	Took    Took
	Good    string // what the good site, or the other user, still got
	Held    bool   // others kept what they need
	Because string // the figure that decides, with its limit
}

// Took is what curtsy and the attacker used.
type Took struct {
	Connections int           // to the attacker, or from it
	Bytes       int64         // that the attacker sent
	CPU         time.Duration // of curtsy, with its child processes
	RSS         int64         // of curtsy, with its child processes, at most
	Files       int           // descriptors of curtsy, at most
}

type settings struct {
	only   []string
	list   bool
	bin    string
	window time.Duration
	keep   string
}

func main() { command.Main("attack", parse, run) }

func parse(args []string, stderr io.Writer) (settings, error) {
	var s settings
	f := flag.NewFlagSet("attack", flag.ContinueOnError)
	f.SetOutput(stderr)
	only := f.String("only", "", "run only these attacks, separated by commas")
	f.BoolVar(&s.list, "list", false, "list the attacks")
	f.StringVar(&s.bin, "bin", "", "attack this curtsy; empty: build the one of this checkout")
	f.DurationVar(&s.window, "window", 15*time.Second, "how long a crawl is attacked")
	f.StringVar(&s.keep, "dir", "", "keep all files in this `DIR`, which does not exist; empty: a temporary one")
	if err := f.Parse(args); err != nil {
		return s, err
	}
	if f.NArg() > 0 {
		return s, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	if *only != "" {
		s.only = strings.Split(*only, ",")
	}
	for _, name := range s.only {
		if !slices.ContainsFunc(attacks, func(a Attack) bool { return a.Name == name }) {
			return s, fmt.Errorf("-only %q is unknown; see -list", name)
		}
	}
	return s, nil
}

func run(ctx context.Context, s settings, w io.Writer) (err error) {
	if s.list {
		for _, a := range attacks {
			fmt.Fprintf(w, "%-18s %s\n", a.Name, a.What)
		}
		return nil
	}
	r, err := newRig(ctx, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	fmt.Fprintf(w, "| attack | what | connections | MB sent | CPU | RSS, MB | files | others got | verdict |\n"+
		"|---|---|---:|---:|---:|---:|---:|---|---|\n")
	var hurt []string
	for _, a := range attacks {
		if len(s.only) > 0 && !slices.Contains(s.only, a.Name) {
			continue
		}
		row, err := a.Run(ctx, r.of(a.Name))
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			row.Because = "not run: " + err.Error()
			hurt = append(hurt, a.Name)
		case !row.Held:
			row.Because = "**hurt**: " + row.Because
			hurt = append(hurt, a.Name)
		default:
			row.Because = strings.TrimSuffix("held: "+row.Because, ": ")
		}
		t := row.Took
		fmt.Fprintf(w, "| %s | %s | %d | %.1f | %.1f s | %d | %d | %s | %s |\n", a.Name, a.What, t.Connections, float64(t.Bytes)/1e6,
			t.CPU.Seconds(), t.RSS>>20, t.Files, row.Good, strings.ReplaceAll(row.Because, "\n", " "))
	}
	if len(hurt) > 0 {
		return fmt.Errorf("%d attacks took from others, or could not be run: %s", len(hurt), strings.Join(hurt, ", "))
	}
	return nil
}
