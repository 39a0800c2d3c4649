package app

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/siterules"
	"github.com/curtsy/curtsy/pkg/canon"
)

// ReadSeeds returns the seeds from the command line, from a file and from the site rules of a plan.
// The name "" means no file, and "-" standard input. Each seed is returned once.
func (a *App) ReadSeeds(args []string, file string, plan *config.Plan) ([]canon.URL, error) {
	seeds, err := a.readSeeds(args, file)
	if err != nil {
		return nil, err
	}
	sites, err := siterules.Of(&crawl.Spec{Sites: plan.Sites})
	if err != nil {
		return nil, Usage("%w", err)
	}
	for _, u := range sites.Seeds() {
		if !slices.Contains(seeds, u) {
			seeds = append(seeds, u)
		}
	}
	return seeds, nil
}

// readSeeds is ReadSeeds without site rules.
func (a *App) readSeeds(args []string, file string) ([]canon.URL, error) {
	var seeds []canon.URL
	seen := map[canon.URL]bool{}
	add := func(raw, where string) error {
		u, err := typedURL(raw, where)
		if err != nil {
			return err
		}
		if !seen[u] {
			seen[u] = true
			seeds = append(seeds, u)
		}
		return nil
	}
	for _, raw := range args {
		if err := add(raw, ""); err != nil {
			return nil, err
		}
	}
	if file == "" {
		return seeds, nil
	}
	in, name := a.Stdin, "standard input"
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, Usage("--seeds: %v; name a file with one URL a line, or use --seeds - for standard input", err)
		}
		defer f.Close()
		in, name = f, file
	}
	err := eachLine(in, func(n int, line string) error {
		return add(line, fmt.Sprintf("%s line %d: ", name, n))
	})
	var unread *fs.PathError
	if errors.As(err, &unread) {
		err = Usage("--seeds: %v; name a file with one URL a line, or use --seeds - for standard input", err)
	}
	return seeds, err
}

// eachLine calls do for the lines of r that are neither blank nor a comment.
func eachLine(r io.Reader, do func(n int, line string) error) error {
	s := bufio.NewScanner(r)
	for n := 1; s.Scan(); n++ {
		line := strings.TrimSpace(s.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		if err := do(n, line); err != nil {
			return err
		}
	}
	return s.Err()
}

// maxSeedBytes is how much of the spec, which is one NATS message, seeds may use.
const maxSeedBytes = 512 << 10

// addSeeds adds seeds to those of the spec, which needs them to know its scope. If there are too
// many to store, one seed a host gives the same scope, unless the scope is page or prefix.
func addSeeds(spec *crawl.Spec, seeds []canon.URL) error {
	have := map[string]bool{}
	size := 0
	for _, s := range spec.Seeds {
		have[s] = true
		size += len(s)
	}
	for _, u := range seeds {
		if s := u.String(); !have[s] {
			have[s] = true
			spec.Seeds = append(spec.Seeds, s)
			size += len(s)
		}
	}
	if size <= maxSeedBytes {
		return nil
	}
	if spec.Scope == "page" || spec.Scope == "prefix" {
		return Usage("%d seeds are too many for --scope %s; use --scope host", len(spec.Seeds), spec.Scope)
	}
	hosts, kept := map[canon.Host]bool{}, spec.Seeds[:0:0]
	size = 0
	for _, s := range spec.Seeds {
		if h := canon.URL(s).Host(); !hosts[h] {
			hosts[h] = true
			if size += len(s); size > maxSeedBytes && spec.Scope != "any" {
				return Usage("the seeds are on more than %d hosts, which is too many for --scope %s; use --scope any", len(kept), spec.Scope)
			} else if size > maxSeedBytes {
				break
			}
			kept = append(kept, s)
		}
	}
	spec.Seeds = kept
	return nil
}
