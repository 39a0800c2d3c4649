package atp

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/textproto"
	"os"
	"strings"
	"time"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/mobile"
	"github.com/curtsy/curtsy/internal/mobile/pagereader"
	"github.com/curtsy/curtsy/internal/mobile/reading"
	protocol "github.com/curtsy/curtsy/pkg/atp"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/spf13/cobra"
)

// robot is what dispatch sends.
type robot struct {
	key, module, input   string // files
	want                 string
	site, subtree, token string
	valid                time.Duration
}

const dispatchExample = "--key robot.pem --site https://www.example.org --subtree /docs/ --token ExampleBot atp://www.example.org:10434"

func (c *commands) dispatchCommand() *cobra.Command {
	r := &robot{}
	cmd := &cobra.Command{
		Use:   "dispatch --key FILE --site URL --subtree PATH --token TOKEN ADDRESS",
		Short: "Send a robot to a host and start it",
		Long: `Send a robot to a host and start it. The command prints the Agent-Id, with which its results are
fetched and with which it can be ended. The robot sees the documents below PATH that the robots.txt
of the site opens to TOKEN.

The robot is Curtsy's page reader. It sends all documents, or with --want facts their titles, links
and text as JSON. --module sends another one.`,
		Example: "  curtsy atp dispatch " + dispatchExample + "\n  curtsy atp dispatch --module robot.wasm " + dispatchExample,
		Args:    app.OneArg("address of a host", dispatchExample),
		RunE: func(cmd *cobra.Command, args []string) error {
			a, err := hostAddress(args[0])
			if err != nil {
				return err
			}
			if r.module+r.input != "" && cmd.Flags().Changed("want") {
				return app.Usage("--want is for the page reader with an input of its own; leave out --want, or --module and --input")
			}
			id, err := r.dispatch(cmd.Context(), a)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(c.Stdout, id)
			return err
		},
	}
	cmd.Flags().StringVar(&r.key, "key", "", "`FILE` with the key that the host allows (required)")
	cmd.Flags().StringVar(&r.module, "module", "", "`FILE` with another robot than the page reader, a WebAssembly module")
	cmd.Flags().StringVar(&r.input, "input", "", "`FILE` that the robot can read as its input")
	cmd.Flags().StringVar(&r.want, "want", reading.Pages, "let the page reader send pages or facts: `WHAT`")
	cmd.Flags().StringVar(&r.site, "site", "", "`URL` of the site (required)")
	cmd.Flags().StringVar(&r.subtree, "subtree", "/", "`PATH` below which the robot may read; it ends with /")
	cmd.Flags().StringVar(&r.token, "token", "", "product `TOKEN` of the robot, to which robots.txt applies (required)")
	cmd.Flags().DurationVar(&r.valid, "valid", 10*time.Minute, "let the host accept the ticket for this `TIME`")
	return cmd
}

// dispatch sends the robot and returns its Agent-Id. The module is sent only if the host does not
// have it from an earlier run.
func (r *robot) dispatch(ctx context.Context, a protocol.Address) (string, error) {
	before, module, err := r.body(a, time.Now())
	if err != nil {
		return "", err
	}
	id, err := send(ctx, a, before)
	if refusal := new(protocol.StatusError); errors.As(err, &refusal) && refusal.Status == 428 {
		return send(ctx, a, append(before, module...))
	}
	return id, err
}

// send sends the body of a DISPATCH.
func send(ctx context.Context, a protocol.Address, body []byte) (id string, err error) {
	header := textproto.MIMEHeader{}
	header.Set(protocol.ContentType, mobile.ContentType)
	header.Set(protocol.ContentEncoding, "gzip")
	header.Set(protocol.AgentSystem, "curtsy")
	header.Set(protocol.AgentLanguage, "wasm")
	res, err := client().Do(ctx, a, &protocol.Request{Method: protocol.Dispatch, Header: header, Body: bytes.NewReader(body), Length: int64(len(body))})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, res.Body.Close()) }()
	if err := res.Err(); err != nil {
		return "", err
	}
	id = res.Header.Get(protocol.AgentID)
	if !protocol.ValidAgentID(id) {
		return "", errors.New("the host has accepted the robot, but sent no Agent-Id")
	}
	return id, nil
}

// body returns the body of the request up to the module, and the module. Both are compressed, and
// may be sent one after the other.
func (r *robot) body(a protocol.Address, now time.Time) (before, module []byte, err error) {
	for _, f := range [][3]string{
		{"--key", r.key, "robot.pem"}, {"--site", r.site, "https://www.example.org"}, {"--token", r.token, "ExampleBot"},
	} {
		if f[1] == "" {
			return nil, nil, app.Usage("%s is required; use for example %s %s", f[0], f[0], f[2])
		}
	}
	site, err := canon.Parse(r.site)
	if err != nil {
		return nil, nil, app.Usage("--site %q: %v; use for example https://www.example.org", r.site, err)
	}
	if err := app.KnownWord("want", r.want, []string{reading.Pages, reading.Facts}); err != nil {
		return nil, nil, err
	}
	key, err := config.ReadKey(r.key)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", r.key, err)
	}
	module, digest := pagereader.Packed(), ""
	if r.module == "" {
		digest = pagereader.Digest()
	} else {
		octets, err := readAll(r.module, mobile.MaxModule)
		if err != nil {
			return nil, nil, err
		}
		if module, err = pack(func(w io.Writer) error { _, err := w.Write(octets); return err }); err != nil {
			return nil, nil, err
		}
		digest = mobile.Digest(octets)
	}
	input, err := r.inputOctets()
	if err != nil {
		return nil, nil, err
	}
	ticket := mobile.Ticket{
		Host: a.String(), Site: strings.TrimSuffix(site.Root().String(), "/"), Subtree: r.subtree, Token: r.token, Module: digest, Input: mobile.Digest(input),
		NotBefore: now.Unix(), NotAfter: now.Add(r.valid).Unix(),
	}
	line, signature, err := ticket.Sign(key, rand.Reader)
	if err != nil {
		return nil, nil, app.Usage("%v", err)
	}
	before, err = pack(func(w io.Writer) error { return mobile.WriteDispatch(w, line, signature, input) })
	return before, module, err
}

// inputOctets are those of the file, or what the page reader is asked for.
func (r *robot) inputOctets() ([]byte, error) {
	switch {
	case r.input != "":
		return readAll(r.input, mobile.MaxInput)
	case r.module != "":
		return nil, nil
	}
	in := reading.Input{Token: r.token, Want: cmp.Or(r.want, reading.Pages), MaxSize: reading.MaxBody}
	octets, err := in.Encode()
	if err != nil {
		return nil, app.Usage("--token %s: %v; use for example ExampleBot", r.token, err)
	}
	return octets, nil
}

// pack compresses what write writes.
func pack(write func(w io.Writer) error) ([]byte, error) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if err := errors.Join(write(z), z.Close()); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// readAll reads a file of at most most octets.
func readAll(name string, most int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	body, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(body)) > most {
		err = fmt.Errorf("%s has more than %d bytes, which no host accepts", name, most)
	}
	return body, err
}
