package agentserver

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/mobile/reading"
)

// cheat runs the robot, or what a hostile server does in its place.
type cheat struct {
	o       Behavior
	subtree string
	r       *run
}

func (c *cheat) run(ctx context.Context, input []byte, docs []Document) error {
	switch c.o.Hostile {
	case Garbage:
		return c.garbage(ctx)
	case Endless:
		return c.endless(ctx)
	case Drip:
		for n := 0; ; n++ {
			if err := c.r.log(ctx, fmt.Appendf(nil, "line %d", n)); err != nil {
				return err
			}
			if err := pause(ctx, 20*time.Second); err != nil {
				return err
			}
		}
	case TooMany:
		in, err := reading.ParseInput(input)
		if err != nil {
			return err
		}
		in.MaxPages, in.Known = 0, nil
		if input, err = in.Encode(); err != nil {
			return err
		}
	case Elsewhere:
		for _, path := range c.elsewhere() {
			if err := c.r.emit(ctx, page(path, "A page of somebody else.", nil)); err != nil {
				return err
			}
		}
	case Invented:
		for n := range 3*len(docs) + 3 { // so that a sample of a few pages has one
			links := []string{c.invented(n + 1), c.invented(n + 20), c.invented(n + 40)}
			if err := c.r.emit(ctx, page(c.invented(n), "This page does not exist.", links)); err != nil {
				return err
			}
		}
	case Bomb:
		body := "<html><title>A bomb</title><p>" + strings.Repeat("boom ", (reading.MaxBody-200)/5)
		for n := range 4 {
			if err := c.r.emit(ctx, page(fmt.Sprintf("%sbomb-%d.html", c.subtree, n), body, nil)); err != nil {
				return err
			}
		}
	}
	changed := make([]Document, len(docs))
	for i, d := range docs {
		changed[i] = c.alter(d)
	}
	return readPages(ctx, input, changed, func(record []byte) error {
		if err := pause(ctx, c.o.Pace); err != nil {
			return err
		}
		c.count(record)
		return c.r.emit(ctx, record)
	})
}

// count counts what the robot sends.
func (c *cheat) count(record []byte) {
	r, err := reading.ParseRecord(record)
	if err != nil {
		return
	}
	s := c.r.s
	s.mu.Lock()
	defer s.mu.Unlock()
	switch r.Kind {
	case reading.Document, reading.Skeleton:
		s.counts.Documents++
	case reading.Unchanged:
		s.counts.Unchanged++
	case reading.UnchangedList:
		s.counts.Unchanged += len(r.Paths)
	case reading.EndOfList:
		c.r.listed(r.End.Listed)
	}
}

// invented is the path of a page that does not exist.
func (c *cheat) invented(n int) string { return fmt.Sprintf("%sinvented-%d.html", c.subtree, n) }

// elsewhere are paths that do not belong to the site, to the subtree, or to any canonical URL.
func (c *cheat) elsewhere() []string {
	list := []string{
		"//h0000.sim.test/stolen.html", "//h0000.sim.test/", "/../../stolen.html", c.subtree + "../stolen.html", "/%2e%2e/stolen.html",
		"/./stolen.html", "/robots.txt", "/stolen%zz.html", "/a/../stolen.html", "/st%6flen.html", "/@h0000.sim.test/stolen.html", "/\\h0000.sim.test\\stolen.html",
	}
	if c.subtree != "/" {
		list = append(list, "/stolen.html", strings.TrimSuffix(c.subtree, "/"), strings.TrimSuffix(c.subtree, "/")+"-stolen.html")
	}
	return list
}

// alter changes a document.
func (c *cheat) alter(d Document) Document {
	switch c.o.Hostile {
	case AlteredTenth:
		if c.r.number(d.Path)%10 != 0 {
			return d
		}
		fallthrough
	case Altered:
		if strings.HasPrefix(d.Type, "text/html") {
			d.Body = page("", fmt.Sprintf("Buy the best of things %d times.", c.r.number(d.Path)), nil)
			d.Body = d.Body[bytes.Index(d.Body, []byte("\n\n"))+2:]
		}
	case Unmarked:
		var kept []string
		for _, line := range d.Header {
			if !strings.Contains(strings.ToLower(line), "robots-tag") {
				kept = append(kept, line)
			}
		}
		d.Header = kept
		d.Body = bytes.ReplaceAll(d.Body, []byte("noindex"), []byte("index"))
	}
	return d
}

// page is the record of a page.
func page(path, text string, links []string) []byte {
	body := "<!DOCTYPE html>\n<html><head><title>A page</title></head><body><p>" + text + "</p>"
	for _, l := range links {
		body += fmt.Sprintf("<a href=%q>on</a>\n", l)
	}
	body += "</body></html>\n"
	r := reading.Record{Kind: reading.Document, Path: path, Head: fmt.Appendf(nil, "Status: 200\nContent-Type: text/html; charset=utf-8\nContent-Length: %d\n", len(body)), Body: []byte(body)}
	return r.Append(nil)
}

// garbage sends something else than results. What it is depends on the seed.
func (c *cheat) garbage(ctx context.Context) error {
	noise := c.noise(40 << 10)
	switch c.o.Seed % 4 {
	case 0: // no zstd
		c.r.raw(noise)
	case 1: // no frames
		c.r.block = append(c.r.block, noise...)
		c.r.flush()
	case 2: // no records
		for n := range 20 {
			if err := c.r.emit(ctx, append([]byte{byte('X' + n%3)}, noise[:1000]...)); err != nil {
				return err
			}
		}
	default: // a frame of zstd that asks for a window of gigabytes
		c.r.raw([]byte{0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xf8, 0x01, 0x00, 0x00})
	}
	return ctx.Err()
}

// noise returns octets that cannot be compressed.
func (c *cheat) noise(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(c.r.number(fmt.Sprint(i)))
	}
	return b
}

// turn changes noise.
func (c *cheat) turn(noise []byte) {
	for i := range noise {
		noise[i] = 5*noise[i] + 3
	}
}

// endless sends without an end, but not faster than it is fetched.
func (c *cheat) endless(ctx context.Context) error {
	line := c.noise(3 << 10)
	for n := 0; ; n++ {
		if err := c.r.ahead(ctx, 256<<10); err != nil {
			return err
		}
		for range 20 {
			c.turn(line)
			_ = c.r.writer.Log(line) // nothing fails in memory
		}
		if err := c.r.emit(ctx, page(c.invented(n), "There is always one more.", nil)); err != nil {
			return err
		}
		if err := pause(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
}

// pause waits.
func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
