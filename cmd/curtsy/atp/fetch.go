package atp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/textproto"
	"os"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/internal/cli"
	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/mobile"
	"github.com/curtsy/curtsy/internal/webtext"
	protocol "github.com/curtsy/curtsy/pkg/atp"
	"github.com/klauspost/compress/zstd"
	"github.com/spf13/cobra"
)

func (c *commands) fetchCommand() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "fetch [--out FILE] ADDRESS AGENT-ID",
		Short: "Fetch the results of a run until it ends",
		Long: `Fetch the results of a run until it ends. Its records are written to the standard output, one after
the other, and its log and its end to the standard error.

With --out, the stream of results is stored in FILE as the host sends it (zstd). If FILE exists, the
command continues where it ends.`,
		Annotations: cli.ExitCodes("0 The run is done.", "1 The run ended in another way, or could not be fetched.", "2 The command line is wrong."),
		Example:     "  curtsy atp fetch " + exampleRun,
		Args:        addressAndID,
		RunE: func(cmd *cobra.Command, args []string) error {
			if out != "" {
				return store(cmd.Context(), args[0], args[1], out)
			}
			return c.show(cmd.Context(), args[0], args[1])
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "store the stream of results in `FILE`, and continue an earlier fetch")
	return cmd
}

// fetch copies the stream of results from an octet on to w, until its end. A connection that ends
// too early is continued as long as each one brings something.
func fetch(ctx context.Context, address, id string, from int64, w io.Writer) error {
	for {
		more := textproto.MIMEHeader{}
		more.Set(protocol.Range, fmt.Sprintf("octets=%d-", from))
		res, err := ask(ctx, address, protocol.Fetch, id, more)
		if err != nil {
			return err
		}
		n, err := io.Copy(w, res.Body)
		from += n
		ended := err == nil && res.Length >= 0 // only then the host knows the length
		if closed := res.Body.Close(); err == nil {
			err = closed
		}
		switch {
		case ended:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && (n == 0 || errors.Is(err, io.ErrClosedPipe)):
			return err
		}
	}
}

// store appends the stream of results to a file.
func store(ctx context.Context, address, id, name string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil {
		err = fetch(ctx, address, id, info.Size(), f)
	}
	return errors.Join(err, f.Close())
}

// show decompresses the stream of results and prints it.
func (c *commands) show(ctx context.Context, address, id string) error {
	r, w := io.Pipe()
	fetched := make(chan error, 1)
	go func() {
		err := fetch(ctx, address, id, 0, w)
		_ = w.CloseWithError(err) // is always nil
		fetched <- err
	}()
	err := c.print(r)
	_ = r.CloseWithError(io.ErrClosedPipe) // likewise
	if failed := <-fetched; failed != nil && !errors.Is(failed, io.ErrClosedPipe) {
		return failed
	}
	return err
}

func (c *commands) print(r io.Reader) error {
	decoder, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(8<<20))
	if err != nil {
		return err
	}
	defer decoder.Close()
	terminal := config.Terminal(c.Stdout)
	for results := mobile.NewResultReader(decoder); ; {
		got, err := results.Next()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return fmt.Errorf("results: %w", err)
		case got.Log != nil:
			_, err = fmt.Fprintln(c.Stderr, webtext.Clean(string(got.Log)))
		case got.Record != nil && terminal:
			_, err = fmt.Fprintln(c.Stdout, webtext.Clean(string(got.Record)))
		case got.Record != nil:
			_, err = c.Stdout.Write(append(got.Record, '\n'))
		default:
			if got.End.Outcome != mobile.Done {
				return app.Exit(app.ExitFailed, fmt.Errorf("the run ended: %s: %s", webtext.Clean(got.End.Outcome), webtext.Clean(got.End.Reason)))
			}
			_, err = fmt.Fprintf(c.Stderr, "done: %d records of %d documents, %d bytes read, %d bytes sent, %.1f s of processor time\n",
				got.End.Records, got.End.Documents, got.End.Read, got.End.Sent, got.End.CPU)
		}
		if err != nil {
			return err
		}
	}
}
