package check

import (
	"bufio"
	"bytes"
	"crypto/ed25519"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/cmd/curtsy/internal/term"
	"github.com/curtsy/curtsy/internal/cli"
	"github.com/curtsy/curtsy/internal/webtext"
	"github.com/curtsy/curtsy/pkg/botauth"
	"github.com/spf13/cobra"
)

// maxRequestHead is how many bytes of a request are read.
const maxRequestHead = 64 << 10

// signatureAnswer is what `curtsy check signature --json` prints.
type signatureAnswer struct {
	Verified   bool               `json:"verified"`        // one signature at least is good
	Error      string             `json:"error,omitempty"` // why there is nothing to verify
	Signatures []signatureVerdict `json:"signatures"`
}

type signatureVerdict struct {
	Label    string     `json:"label"`
	Verified bool       `json:"verified"`
	Why      string     `json:"why,omitempty"`  // one word
	Text     string     `json:"text,omitempty"` // that, for people
	Agent    string     `json:"agent,omitempty"`
	Form     string     `json:"form,omitempty"`
	KeyID    string     `json:"keyid,omitempty"`
	Nonce    string     `json:"nonce,omitempty"`
	Created  *time.Time `json:"created,omitempty"`
	Expires  *time.Time `json:"expires,omitempty"`
	Covered  []string   `json:"covered,omitempty"`
	Notes    []string   `json:"notes,omitempty"`
	Base     string     `json:"base,omitempty"` // the text that is signed, as this request has it
}

func (c checks) signature() *cobra.Command {
	var rawURL, method, keys, at string
	var headers []string
	var skew time.Duration
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "signature [REQUEST-FILE]",
		Short: "Verify a signed request as a server would (Web Bot Auth)",
		Long: `Verify a signed request as a server would (RFC 9421, Web Bot Auth), and show what is wrong. The
request is a file with the header of an HTTP/1.1 request, or it is given by --url and --header.
Nothing is fetched: the key directory of the agent is a file too. Without that file, everything but
the signature itself is checked, and the URL of the keys is printed.

A request that was replayed within its minute is accepted here; a server also rejects a nonce that it
has seen.`,
		Annotations: cli.ExitCodes("0 A signature is valid.", "1 No signature is valid.", "2 The command line is wrong."),
		Example: `  curtsy check signature --keys keys.json request.txt
  curtsy check signature --keys keys.json --url https://example.org/a --header 'Signature-Agent: …' --header 'Signature-Input: …' --header 'Signature: …'`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 || len(args) == 0 && (rawURL == "" || len(headers) == 0) {
				return app.Usage("%s needs a file with a request, or --url and --header; use for example: %s --keys keys.json request.txt", cmd.CommandPath(), cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			p := botauth.Policy{Now: time.Now(), Skew: skew}
			if at != "" {
				var err error
				if p.Now, err = time.Parse(time.RFC3339, at); err != nil {
					return app.Usage("--now %q is not a time; use for example 2026-01-31T12:00:00Z", at)
				}
			}
			if skew < 0 {
				return app.Usage("--skew %v is negative; use for example 5s", skew)
			}
			m := &botauth.Message{Method: method, Scheme: "https", Path: "/", Header: http.Header{}}
			if len(args) == 1 {
				head, err := c.readInput(args[0], maxRequestHead)
				if err != nil {
					return err
				}
				if err := readHead(m, head); err != nil {
					return app.Usage("%s: %v", args[0], err)
				}
				if cmd.Flags().Changed("method") {
					m.Method = method
				}
			}
			if err := addToRequest(m, rawURL, headers); err != nil {
				return err
			}
			var err error
			if p.Key, err = c.keysFrom(keys, p.Now); err != nil {
				return err
			}
			ans := verdictsOf(m, p)
			if asJSON {
				err = c.app.PrintJSON(ans)
			} else {
				c.printSignatures(ans)
			}
			if err == nil && !ans.Verified {
				return app.Exit(app.ExitFailed, nil)
			}
			return err
		},
	}
	cmd.Flags().StringVar(&rawURL, "url", "", "`URL` of the request")
	cmd.Flags().StringVar(&method, "method", "GET", "`METHOD` of the request")
	cmd.Flags().StringArrayVar(&headers, "header", nil, "a header `LINE` of the request, 'Name: value' (repeatable)")
	cmd.Flags().StringVar(&keys, "keys", "", "`FILE` with the key directory of the agent")
	cmd.Flags().StringVar(&at, "now", "", "check as of this `TIME` (RFC 3339; default: now)")
	cmd.Flags().DurationVar(&skew, "skew", 0, "accept clocks that differ by this `TIME`")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// readHead reads the head of a request in the form of HTTP/1.1.
func readHead(m *botauth.Message, head []byte) error {
	if !bytes.Contains(head, []byte("\n\n")) && !bytes.Contains(head, []byte("\r\n\r\n")) {
		head = append(bytes.TrimRight(head, "\r\n"), "\r\n\r\n"...)
	}
	r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(head)))
	if err != nil {
		return fmt.Errorf("it is not a request (%v); a request begins for example with GET / HTTP/1.1", err)
	}
	m.Method, m.Authority, m.Header = r.Method, r.Host, r.Header
	target := r.RequestURI
	if rest, absolute := strings.CutPrefix(target, r.URL.Scheme+"://"); absolute && r.URL.Scheme != "" {
		m.Scheme = r.URL.Scheme
		target = rest[len(r.URL.Host):]
	}
	m.Path, m.Query, _ = strings.Cut(target, "?")
	return nil
}

// addToRequest adds what the flags say about a request. A flag overrides the file.
func addToRequest(m *botauth.Message, rawURL string, headers []string) error {
	if rawURL != "" {
		u, err := url.Parse(rawURL)
		if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
			return app.Usage("--url %q is not a URL; use for example https://example.org/a", rawURL)
		}
		m.Scheme, m.Authority = u.Scheme, u.Host
		_, rest, _ := strings.Cut(rawURL, "://")
		rest, _, _ = strings.Cut(rest, "#")
		m.Path, m.Query, _ = strings.Cut(rest[min(len(rest), strings.IndexAny(rest+"/", "/?")):], "?")
	}
	for _, h := range headers {
		name, value, ok := strings.Cut(h, ":")
		if !ok {
			return app.Usage("--header %q is not 'Name: value'; use for example --header 'Signature: sig1=:…:'", h)
		}
		m.Header.Add(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	if m.Authority == "" {
		return app.Usage("the request names no host; add its URL, for example --url https://example.org/a")
	}
	return nil
}

// keysFrom reads keys from a file in the form of a directory of keys.
func (c checks) keysFrom(name string, now time.Time) (func(string, botauth.Form, string) (ed25519.PublicKey, error), error) {
	if name == "" {
		return func(agent string, form botauth.Form, _ string) (ed25519.PublicKey, error) {
			if form != botauth.FormJWKS {
				agent += botauth.DirectoryPath
			}
			return nil, fmt.Errorf("its key is missing; fetch it: curl -s %s > keys.json, and add --keys keys.json", webtext.ShellWord(agent))
		}, nil
	}
	body, err := c.readInput(name, botauth.MaxDirectory+1)
	if err != nil {
		return nil, err
	}
	d, odd, err := botauth.ParseDirectory(body)
	if err != nil {
		return nil, app.Usage("--keys %s: %v", name, err)
	}
	for _, o := range odd {
		fmt.Fprintf(c.app.Stderr, "%s: %s\n", name, o)
	}
	return func(_ string, _ botauth.Form, id string) (ed25519.PublicKey, error) { return d.Key(id, now) }, nil
}

func verdictsOf(m *botauth.Message, p botauth.Policy) signatureAnswer {
	ans := signatureAnswer{Signatures: []signatureVerdict{}}
	list, err := botauth.Verify(m, p)
	if errors.Is(err, botauth.ErrUnsigned) && m.Header.Get(botauth.FieldAgent) != "" {
		err = fmt.Errorf("%w, only a Signature-Agent, which proves nothing", err)
	}
	if err != nil {
		ans.Error = err.Error()
	}
	for _, v := range list {
		s := signatureVerdict{
			Label: v.Label, Verified: v.Good(), Why: string(v.Why), Text: v.Text, Agent: v.Agent, Form: string(v.Form), KeyID: v.KeyID, Nonce: v.Nonce,
			Covered: v.Covered, Notes: v.Notes, Base: v.Base,
		}
		if !v.Created.IsZero() {
			s.Created, s.Expires = &v.Created, &v.Expires
		}
		ans.Verified = ans.Verified || s.Verified
		ans.Signatures = append(ans.Signatures, s)
	}
	return ans
}

func (c checks) printSignatures(ans signatureAnswer) {
	if ans.Error != "" {
		fmt.Fprintln(c.app.Stdout, "not signed:", term.Clean(ans.Error))
	}
	for _, s := range ans.Signatures {
		if s.Verified {
			fmt.Fprintf(c.app.Stdout, "%s: verified: %s, key %s\n", s.Label, s.Agent, s.KeyID)
		} else {
			fmt.Fprintf(c.app.Stdout, "%s: refused (%s): %s\n", s.Label, s.Why, term.Clean(s.Text))
		}
		if s.Created != nil {
			fmt.Fprintf(c.app.Stdout, "  good from %s to %s\n", s.Created.Format(time.RFC3339), s.Expires.Format(time.RFC3339))
		}
		for _, n := range s.Notes {
			fmt.Fprintf(c.app.Stdout, "  note: %s\n", term.Clean(n))
		}
		if s.Base != "" && (s.Verified || s.Why == string(botauth.WhySignature)) {
			fmt.Fprintln(c.app.Stdout, "  signed text:")
			for line := range strings.Lines(s.Base) {
				fmt.Fprintf(c.app.Stdout, "    %s\n", term.Clean(strings.TrimSuffix(line, "\n")))
			}
		}
	}
}
