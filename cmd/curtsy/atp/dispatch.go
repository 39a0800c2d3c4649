package atp

import (
	"bytes"
	"compress/gzip"
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
	protocol "github.com/curtsy/curtsy/pkg/atp"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/spf13/cobra"
)

// robot is what dispatch sends.
type robot struct {
	key, module, input   string // files
	site, subtree, token string
	valid                time.Duration
	known                bool
}

func (c *commands) dispatchCommand() *cobra.Command {
	r := &robot{}
	cmd := &cobra.Command{
		Use:   "dispatch --key FILE --module FILE --site URL --subtree PATH --token TOKEN ADDRESS",
		Short: "Send a robot to a host and start it",
		Long: `Send a robot to a host and start it. The command prints the Agent-Id, with which its results are
fetched and with which it can be ended. The robot sees the documents below PATH that the robots.txt
of the site opens to TOKEN.`,
		Example: "  curtsy atp dispatch --key robot.pem --module robot.wasm --site https://www.example.org --subtree /docs/ --token ExampleBot atp://www.example.org:10434",
		Args:    app.OneArg("address of a host", "--key robot.pem --module robot.wasm --site https://www.example.org --subtree /docs/ --token ExampleBot atp://www.example.org:10434"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			a, err := hostAddress(args[0])
			if err != nil {
				return err
			}
			body, err := r.body(a, time.Now())
			if err != nil {
				return err
			}
			header := textproto.MIMEHeader{}
			header.Set(protocol.ContentType, mobile.ContentType)
			header.Set(protocol.ContentEncoding, "gzip")
			header.Set(protocol.AgentSystem, "curtsy")
			header.Set(protocol.AgentLanguage, "wasm")
			res, err := client().Do(cmd.Context(), a, &protocol.Request{Method: protocol.Dispatch, Header: header, Body: bytes.NewReader(body), Length: int64(len(body))})
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, res.Body.Close()) }()
			if err := res.Err(); err != nil {
				return err
			}
			id := res.Header.Get(protocol.AgentID)
			if !protocol.ValidAgentID(id) {
				return errors.New("the host has accepted the robot, but sent no Agent-Id")
			}
			_, err = fmt.Fprintln(c.Stdout, id)
			return err
		},
	}
	cmd.Flags().StringVar(&r.key, "key", "", "`FILE` with the key that the host allows (required)")
	cmd.Flags().StringVar(&r.module, "module", "", "`FILE` with the robot, a WebAssembly module (required)")
	cmd.Flags().StringVar(&r.input, "input", "", "`FILE` that the robot can read as its input")
	cmd.Flags().StringVar(&r.site, "site", "", "`URL` of the site (required)")
	cmd.Flags().StringVar(&r.subtree, "subtree", "/", "`PATH` below which the robot may read; it ends with /")
	cmd.Flags().StringVar(&r.token, "token", "", "product `TOKEN` of the robot, to which robots.txt applies (required)")
	cmd.Flags().DurationVar(&r.valid, "valid", 10*time.Minute, "let the host accept the ticket for this `TIME`")
	cmd.Flags().BoolVar(&r.known, "known", false, "do not send the module, because the host has it from an earlier run")
	return cmd
}

// body returns the body of the request, compressed.
func (r *robot) body(a protocol.Address, now time.Time) ([]byte, error) {
	for _, f := range [][3]string{
		{"--key", r.key, "robot.pem"}, {"--module", r.module, "robot.wasm"}, {"--site", r.site, "https://www.example.org"}, {"--token", r.token, "ExampleBot"},
	} {
		if f[1] == "" {
			return nil, app.Usage("%s is required; use for example %s %s", f[0], f[0], f[2])
		}
	}
	site, err := canon.Parse(r.site)
	if err != nil {
		return nil, app.Usage("--site %q: %v; use for example https://www.example.org", r.site, err)
	}
	key, err := config.ReadKey(r.key)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.key, err)
	}
	module, err := readAll(r.module, mobile.MaxModule)
	if err != nil {
		return nil, err
	}
	var input []byte
	if r.input != "" {
		if input, err = readAll(r.input, mobile.MaxInput); err != nil {
			return nil, err
		}
	}
	ticket := mobile.Ticket{
		Host: a.String(), Site: strings.TrimSuffix(site.Root().String(), "/"), Subtree: r.subtree, Token: r.token, Module: mobile.Digest(module), Input: mobile.Digest(input),
		NotBefore: now.Unix(), NotAfter: now.Add(r.valid).Unix(),
	}
	line, signature, err := ticket.Sign(key, rand.Reader)
	if err != nil {
		return nil, app.Usage("%v", err)
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if err := mobile.WriteDispatch(z, line, signature, input); err != nil {
		return nil, err
	}
	if !r.known {
		if _, err := z.Write(module); err != nil {
			return nil, err
		}
	}
	if err := z.Close(); err != nil {
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
