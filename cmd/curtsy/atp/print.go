package atp

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/mobile"
	"github.com/curtsy/curtsy/internal/mobile/reading"
	"github.com/curtsy/curtsy/internal/webtext"
	"github.com/klauspost/compress/zstd"
)

// printer prints the results of a run.
type printer struct {
	*commands
	terminal bool
	files    *files // nil: documents are not stored
	failed   int    // documents that could not be stored
}

func (c *commands) newPrinter(dir string) (*printer, error) {
	p := &printer{commands: c, terminal: config.Terminal(c.Stdout)}
	if dir == "" {
		return p, nil
	}
	var err error
	p.files, err = openFiles(dir)
	return p, err
}

// close closes the directory. That documents could not be stored is an error.
func (p *printer) close() error {
	if p.files == nil {
		return nil
	}
	err := p.files.root.Close()
	if p.failed > 0 {
		err = errors.Join(err, fmt.Errorf("%d documents could not be stored", p.failed))
	}
	return err
}

// show decompresses the stream of results and prints it.
func (p *printer) show(ctx context.Context, address, id string) error {
	r, w := io.Pipe()
	fetched := make(chan error, 1)
	go func() {
		err := fetch(ctx, address, id, 0, w)
		_ = w.CloseWithError(err) // is always nil
		fetched <- err
	}()
	err := p.print(r)
	_ = r.CloseWithError(io.ErrClosedPipe) // likewise
	if failed := <-fetched; failed != nil && !errors.Is(failed, io.ErrClosedPipe) {
		return failed
	}
	return err
}

func (p *printer) print(r io.Reader) error {
	decoder, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(8<<20))
	if err != nil {
		return err
	}
	defer decoder.Close()
	for results := mobile.NewResultReader(decoder); ; {
		got, err := results.Next()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return fmt.Errorf("results: %w", err)
		case got.Log != nil:
			_, err = fmt.Fprintln(p.Stderr, webtext.Clean(string(got.Log)))
		case got.Record != nil:
			err = p.record(got.Record)
		default:
			if got.End.Outcome != mobile.Done {
				return app.Exit(app.ExitFailed, fmt.Errorf("the run ended: %s: %s", webtext.Clean(got.End.Outcome), webtext.Clean(got.End.Reason)))
			}
			_, err = fmt.Fprintf(p.Stderr, "done: %d records of %d documents, %d bytes read, %d bytes sent, %.1f s of processor time\n",
				got.End.Records, got.End.Documents, got.End.Read, got.End.Sent, got.End.CPU)
		}
		if err != nil {
			return err
		}
	}
}

// record prints a record: of the page reader in a form for people, of other robots as it is.
func (p *printer) record(octets []byte) error {
	r, err := reading.ParseRecord(octets)
	if err != nil {
		return p.octets(octets)
	}
	switch r.Kind {
	case reading.FactsOf:
		return p.octets(r.Facts)
	case reading.UnchangedList:
		for _, path := range r.Paths {
			if err := p.line("unchanged", path, ""); err != nil {
				return err
			}
		}
		return nil
	case reading.Unchanged:
		return p.line("unchanged", r.Path, "")
	case reading.Skeleton:
		return p.line("noindex", r.Path, r.Head.Get("Content-Type"))
	case reading.EndOfList:
		_, err = fmt.Fprintf(p.Stderr, "list: %d documents, %d sent, %d unchanged, %d left out\n", r.End.Listed, r.End.Sent, r.End.Unchanged, r.End.LeftOut)
		return err
	}
	if p.files != nil {
		if err := p.files.store(r.Path, r.Head.Get("Content-Type"), r.Body); err != nil {
			p.failed++
			if _, err := fmt.Fprintln(p.Stderr, r.Path+" was not stored: "+webtext.Clean(err.Error())); err != nil {
				return err
			}
		}
	}
	more := fmt.Sprintf("%s, %d bytes", r.Head.Get("Content-Type"), len(r.Body))
	if r.Head.Truncated() {
		more += ", cut"
	}
	return p.line("document", r.Path, more)
}

// octets prints octets as a line. On a terminal they cannot do harm.
func (p *printer) octets(octets []byte) error {
	if p.terminal {
		octets = []byte(webtext.Clean(string(octets)))
	}
	_, err := p.Stdout.Write(append(octets, '\n'))
	return err
}

// line prints a line about a document. A path has no octets that could do harm.
func (p *printer) line(what, path, more string) error {
	text := what + "\t" + path
	if more != "" {
		text += "\t" + webtext.Clean(more)
	}
	_, err := fmt.Fprintln(p.Stdout, text)
	return err
}
