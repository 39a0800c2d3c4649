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
	protocol "github.com/curtsy/curtsy/pkg/atp"
	"github.com/spf13/cobra"
)

func (c *commands) fetchCommand() *cobra.Command {
	var out, to string
	cmd := &cobra.Command{
		Use:   "fetch [--out FILE | --to DIR] ADDRESS AGENT-ID",
		Short: "Fetch the results of a run until it ends",
		Long: `Fetch the results of a run until it ends. Its records are written to the standard output, one after
the other, and its log and its end to the standard error. Of a document that the page reader sends, a
line is written; with --to, the document is also stored in DIR, under its path. Facts are lines of
JSON.

With --out, the stream of results is stored in FILE as the host sends it (zstd). If FILE exists, the
command continues where it ends.`,
		Annotations: cli.ExitCodes("0 The run is done.", "1 The run ended in another way, or could not be fetched.", "2 The command line is wrong."),
		Example:     "  curtsy atp fetch " + exampleRun + "\n  curtsy atp fetch --to documents " + exampleRun,
		Args:        addressAndID,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case out != "" && to != "":
				return app.Usage("--out stores the stream of results, and --to the documents in it; use one of them")
			case out != "":
				return store(cmd.Context(), args[0], args[1], out)
			}
			p, err := c.newPrinter(to)
			if err != nil {
				return err
			}
			return errors.Join(p.show(cmd.Context(), args[0], args[1]), p.close())
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "store the stream of results in `FILE`, and continue an earlier fetch")
	cmd.Flags().StringVar(&to, "to", "", "store the documents in `DIR`")
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
