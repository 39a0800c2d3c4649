package agenthost

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/curtsy/curtsy/internal/mobile"
)

// Check tests whether a Host with these Options would work, without starting it, and writes to w
// what robots will see. An error describes what to correct.
func Check(ctx context.Context, o Options, w io.Writer) error {
	p, err := o.check()
	if err != nil {
		return err
	}
	defer p.close()
	p.describe(w)
	if len(p.Allowed) == 0 {
		return errors.New("nobody may send robots: allow-robot is empty. The operator of a robot makes a key, and sends you the line to add: curtsy agenthost key robot.pem")
	}
	for _, r := range p.Allowed {
		for _, subtree := range r.Subtrees {
			n, err := p.try(ctx, subtree)
			if err != nil {
				return fmt.Errorf("allow-robot %s: subtree %s: %w", r.Name, subtree, err)
			}
			fmt.Fprintf(w, "%s may read %s, in which a robot called curtsy sees %d documents\n", r.Name, subtree, n)
		}
	}
	_, err = fmt.Fprintln(w, "no problems found")
	return err
}

// describe writes where documents come from.
func (p *plan) describe(w io.Writer) {
	robotsTxt := p.RobotsFile
	if robotsTxt == "" {
		robotsTxt = "from the server"
	}
	switch {
	case p.server == nil:
		fmt.Fprintf(w, "document root %s at %s, robots.txt %s\n", p.Root, p.base, robotsTxt)
	case p.Root == "":
		fmt.Fprintf(w, "documents of %s that its sitemaps list, from the server %s, robots.txt %s\n", p.base, p.server.address, robotsTxt)
	default:
		fmt.Fprintf(w, "documents in the root %s at %s, from the server %s, robots.txt %s\n", p.Root, p.base, p.server.address, robotsTxt)
	}
	for _, h := range p.Headers {
		fmt.Fprintf(w, "added to the head of documents: %s\n", h)
	}
	fmt.Fprintf(w, "a line for robots.txt: Mobile-agent-server: %s %s\n", p.base.Path(), p.address)
}

// try counts the documents of a subtree. If a server has them, it requests the first.
func (p *plan) try(ctx context.Context, subtree string) (n int, err error) {
	d, err := openDocuments(ctx, p, subtree, "curtsy")
	if err != nil {
		return 0, err
	}
	defer d.close()
	if d.note != "" {
		return 0, fmt.Errorf("%s; correct the file, or the setting server or robots-file", d.note)
	}
	for after := ""; ; {
		list, err := d.List(ctx, after, mobile.MaxPart)
		if err != nil || len(list) == 0 {
			return n, err
		}
		if n == 0 && p.server != nil {
			first, _, _ := bytes.Cut(list, []byte{0})
			if _, err := d.Open(ctx, string(first)); err != nil {
				return 0, fmt.Errorf("%w; set server to an address that answers with documents, for example http://127.0.0.1:8080", err)
			}
		}
		n += bytes.Count(list, []byte{0})
		paths := bytes.Split(list, []byte{0})
		after = string(paths[len(paths)-2])
	}
}

func (p *plan) close() {
	if p.server != nil {
		p.server.close()
	}
}
