package site

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/curtsy/curtsy/pkg/rup"
)

// Check tests whether a Site with these Options would work, without starting it. It writes to w the
// rupinfo.txt that robots would get, and connects to the relay. An error describes what to correct.
func Check(ctx context.Context, o Options, w io.Writer) error {
	p, err := o.check()
	if err != nil {
		return err
	}
	if _, err := identify(p.Root); err != nil {
		return fmt.Errorf("root %s: %w", p.Root, err)
	}
	if _, err := os.ReadDir(p.Root); err != nil {
		return fmt.Errorf("root: %w", err)
	}
	open, err := open(p.robots, p.base)
	if err != nil {
		return err
	}
	text, err := p.Info.Text()
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "rupinfo.txt:\n\n    %s\n\n", strings.ReplaceAll(strings.TrimSpace(string(text)), "\n", "\n    "))
	paths := []string{rup.InfoPath}
	// Otherwise the CGI URL is on another origin, which has its own robots.txt.
	if p.cgi.Scheme == p.base.Scheme && portOf(p.cgi) == portOf(p.base) {
		paths = append(paths, p.cgi.EscapedPath())
	}
	for _, path := range paths {
		if !open(path) {
			return fmt.Errorf("%s does not allow robots to request %s: add \"Allow: %s\" for all robots", p.robots, path, path)
		}
	}
	if err := p.relay.check(ctx); err != nil {
		return err
	}
	fmt.Fprintf(w, "no problems found: document root %s at %s, robots.txt %s, relay %s\n", p.Root, p.base, p.robots, p.Mail.Relay)
	return nil
}
