package main

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
	"github.com/curtsy/curtsy/internal/webtext"
	"github.com/curtsy/curtsy/pkg/canon"
)

// readSeeds takes the seeds from the command line and from file ("" for none, "-" for
// standard input), each once.
func (a *app) readSeeds(args []string, file string) ([]canon.URL, error) {
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
	in, name := a.stdin, "standard input"
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, usage("--seeds: %v; name a file with one URL a line, or use --seeds - for standard input", err)
		}
		defer f.Close()
		in, name = f, file
	}
	err := eachLine(in, func(n int, line string) error {
		return add(line, fmt.Sprintf("%s line %d: ", name, n))
	})
	var unread *fs.PathError
	if errors.As(err, &unread) {
		err = usage("--seeds: %v; name a file with one URL a line, or use --seeds - for standard input", err)
	}
	return seeds, err
}

// cutUserinfo returns a URL without the name and password in it, and whether there was any.
// canon.Parse leaves them out, which is right for links; but whoever types them expects their use.
func cutUserinfo(raw string) (without string, ok bool) {
	i := strings.Index(raw, "://")
	if i < 0 {
		return raw, false
	}
	i += len("://")
	end := len(raw)
	if n := strings.IndexAny(raw[i:], `/\?#`); n >= 0 {
		end = i + n
	}
	at := strings.LastIndexByte(raw[i:end], '@')
	if at < 0 {
		return raw, false
	}
	return raw[:i] + raw[i+at+1:], true
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

// maxSeedBytes is how much of the spec, which is one NATS message, seeds may take up.
const maxSeedBytes = 512 << 10

// addSeeds adds seeds to those of the spec. The spec needs them to know its scope; when they are
// too many to be kept, one a host says the same for every scope but page and prefix.
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
		return usage("%d seeds are too many for --scope %s; use --scope host", len(spec.Seeds), spec.Scope)
	}
	hosts, kept := map[canon.Host]bool{}, spec.Seeds[:0:0]
	size = 0
	for _, s := range spec.Seeds {
		if h := canon.URL(s).Host(); !hosts[h] {
			hosts[h] = true
			if size += len(s); size > maxSeedBytes && spec.Scope != "any" {
				return usage("the seeds are on more than %d hosts, which is too many for --scope %s; use --scope any", len(kept), spec.Scope)
			} else if size > maxSeedBytes {
				break
			}
			kept = append(kept, s)
		}
	}
	spec.Seeds = kept
	return nil
}

// typedURL reads a URL that was typed, or stands in a file at where.
func typedURL(raw, where string) (canon.URL, error) {
	if without, ok := cutUserinfo(raw); ok { // quoting it would show a password
		return "", usage("%sa URL must not contain a user name or password, because other people could read it; write them into a file for "+
			"--credentials (docs/guides/credentials.md), and use %s", where, without)
	}
	u, err := canon.Parse(raw)
	if err != nil {
		hint := "https://example.org/"
		if advice := notURL(raw); advice != "" {
			return "", usage("%s%q is not a URL; %s", where, raw, advice)
		}
		if guess, err := canon.Parse("https://" + raw); err == nil && !strings.Contains(raw, "://") {
			hint = guess.String()
		}
		return "", usage("%s%q is not a URL to crawl (%v); use for example %s", where, raw, err, hint)
	}
	return u, nil
}

// notURL advises somebody who typed something else where a URL is expected.
func notURL(raw string) string {
	name, value, set := strings.Cut(raw, "=")
	switch raw {
	case "true", "yes", "on":
		return "a switch and its value are one word, for example --links=true"
	case "false", "no", "off":
		return "a switch and its value are one word, for example --links=false"
	case "help":
		return "for help: curtsy crawl --help"
	}
	if set && slices.Contains(config.Keys(), name) {
		return "flags begin with two dashes: --" + name + "=" + value
	}
	if strings.HasPrefix(raw, "file:") || strings.HasPrefix(raw, "ftp:") {
		return "only http and https are crawled; to crawl files, serve them: python3 -m http.server 8000, then curtsy crawl --allow-private http://127.0.0.1:8000/"
	}
	if _, err := os.Stat(raw); err == nil && !strings.Contains(raw, "://") {
		return "it is a file; to read URLs from it: --seeds " + webtext.ShellWord(raw)
	}
	return ""
}
