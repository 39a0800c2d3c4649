package check

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/cmd/curtsy/internal/term"
	"github.com/curtsy/curtsy/internal/cli"
	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/fetcher"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/rup"
	"github.com/spf13/cobra"
)

// rupCommand gathers the requests of the Remote Update Protocol, as commands.
func (a *commands) rupCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rup",
		Short: "Query the update server of a site (Remote Update Protocol)",
		Long: `Query the update server of a site (Remote Update Protocol, /rupinfo.txt). A crawl with --recrawl
does this by itself. The robots.txt of the site is obeyed, with at least a second between
two requests. --credentials and --proxy work as in a crawl.

All commands except index need the key that register prints: in the variable CURTSY_RUP_KEY, or in
a file (--key-file).`,
		Example: `  curtsy rup index --span 2-week https://www.example.org/
  curtsy rup register --email robot@example.org https://www.example.org/`,
	}
	c := rupCommands{a.App}
	cmd.AddCommand(c.register(), c.unregister(), c.modify(), c.sequence(), c.index())
	return cmd
}

// rupCommands makes the subcommands.
type rupCommands struct{ app *app.App }

// rupAsk is what the subcommands have in common: the site and the identity.
type rupAsk struct {
	app    *app.App
	cfg    *config.RUP
	cgi    string
	email  string
	asJSON bool

	manual *fetcher.Manual
}

// asking makes a subcommand of a function that queries a site.
func (c rupCommands) asking(cmd *cobra.Command, example string, ask func(context.Context, *rupAsk, string) error) *cobra.Command {
	r := &rupAsk{app: c.app, cfg: config.NewRUP()}
	cmd.Example = "  curtsy rup " + example
	cmd.Args = app.OneArg("SITE", strings.SplitN(example, " ", 2)[1])
	cmd.Flags().StringVar(&r.email, "email", "", "mail `ADDRESS` of the robot, to which reports are sent")
	cmd.Flags().StringVar(&r.cgi, "cgi", "", "use the update server at this `URL` instead of the one in /rupinfo.txt")
	cmd.Flags().BoolVar(&r.asJSON, "json", false, "print one JSON object")
	return app.Configured(cmd, r.cfg, func(cmd *cobra.Command, args []string, _ *config.Source) (err error) {
		r.manual, err = c.app.Requester(app.RequesterOptions{
			Sign: r.cfg.Sign, Access: r.cfg.SiteAccess, Contact: r.cfg.Contact, AllowPrivate: r.cfg.AllowPrivate, Resolve: r.cfg.Resolve,
		})
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), app.RequestTime)
		defer cancel()
		return ask(ctx, r, args[0])
	})
}

// client reads the rupinfo.txt of the site and makes a client for it. With --cgi there is no Info.
func (r *rupAsk) client(ctx context.Context, site string) (*rup.Client, *rup.Info, error) {
	client := &rup.Client{CGI: r.cgi, UserAgent: r.manual.UserAgent(), Transport: r.manual, Now: time.Now}
	u, err := canon.Parse(site)
	if err != nil {
		return nil, nil, app.Usage("site %q: %v; use for example https://www.example.org/", site, err)
	}
	if r.cgi != "" {
		cgi, err := siteURL("--cgi", r.cgi, "https://www.example.org/cgi-bin/rup")
		if err != nil {
			return nil, nil, err
		}
		client.CGI = cgi.String()
		return client, nil, nil
	}
	at, err := u.Origin().URL(rup.InfoPath)
	if err != nil {
		return nil, nil, err
	}
	info, err := r.info(ctx, at)
	if err != nil {
		return nil, nil, err
	}
	client.CGI = info.CGI
	return client, info, nil
}

// info gets a rupinfo.txt, within its host.
func (r *rupAsk) info(ctx context.Context, at canon.URL) (*rup.Info, error) {
	get := &http.Client{Transport: r.manual, CheckRedirect: func(next *http.Request, via []*http.Request) error {
		if len(via) > 5 || next.URL.Hostname() != string(at.Host()) {
			return http.ErrUseLastResponse
		}
		return nil
	}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, err
	}
	res, err := get.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%w: %s answers %s", rup.ErrNoRUP, at, res.Status)
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, rup.MaxInfo+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	return rup.ParseInfo(body, res.Request.URL)
}

// credentials are --email and the key.
func (r *rupAsk) credentials() (rup.Credentials, error) {
	c := rup.Credentials{Email: r.email, Key: rup.Key(r.cfg.Key)}
	switch {
	case c.Email == "":
		return c, app.Usage("the registered address is required; add --email ADDRESS")
	case c.Key == "":
		return c, app.Usage("the key that register printed is required; put it into CURTSY_RUP_KEY, or into a file and add --key-file FILE")
	}
	return c, nil
}

// done prints that something worked.
func (r *rupAsk) done(text string) error {
	if r.asJSON {
		return r.app.PrintJSON(map[string]bool{"ok": true})
	}
	_, err := fmt.Fprintln(r.app.Stdout, text)
	return err
}

// rupPreferences are the flags of register and modify.
type rupPreferences struct {
	latency              string
	exclude, includeOnly []string
}

func (p *rupPreferences) flags(cmd *cobra.Command, empty string) {
	cmd.Flags().StringVar(&p.latency, "latency", "", "`INTERVAL` of reports, one that the site offers: day, 2-week")
	// The site may offer others.
	cli.Completes(cmd, "latency", string(rup.Day), string(rup.Week), string(rup.Month))
	cmd.Flags().StringArrayVar(&p.exclude, "exclude", nil, "exclude paths that match this `PATTERN`, one that the site offers (repeatable)"+empty)
	cmd.Flags().StringArrayVar(&p.includeOnly, "include-only", nil, "report only paths that match this `PATTERN`, one that the site offers (repeatable)"+empty)
}

// read makes preferences of the given flags. A list that is only "" becomes empty, and not nil.
func (p *rupPreferences) read(cmd *cobra.Command, email string) (rup.Preferences, error) {
	pref := rup.Preferences{Email: email}
	if email != "" {
		if err := rup.CheckEmail(email); err != nil {
			return pref, app.Usage("address %q: %v", email, err)
		}
	}
	if p.latency != "" {
		var err error
		if pref.Latency, err = rup.ParseLatency(p.latency); err != nil {
			return pref, app.Usage("--%v", err)
		}
	}
	list := func(flag string, patterns []string) []string {
		if !cmd.Flags().Changed(flag) {
			return nil
		}
		return slices.DeleteFunc(append([]string{}, patterns...), func(s string) bool { return s == "" })
	}
	pref.Exclude, pref.IncludeOnly = list("exclude", p.exclude), list("include-only", p.includeOnly)
	if len(pref.Exclude) > 0 && len(pref.IncludeOnly) > 0 {
		return pref, app.Usage("--exclude and --include-only cannot be used together; use one of them")
	}
	return pref, nil
}

func (c rupCommands) register() *cobra.Command {
	var p rupPreferences
	cmd := &cobra.Command{Use: "register --email ADDRESS SITE", Short: "Register an address for reports; prints the key"}
	p.flags(cmd, "")
	return c.asking(cmd, "register --email robot@example.org --latency week https://www.example.org/", func(ctx context.Context, r *rupAsk, site string) error {
		pref, err := p.read(cmd, r.email)
		if err != nil {
			return err
		}
		if pref.Email == "" {
			return app.Usage("an address for the reports is required; add --email ADDRESS")
		}
		client, info, err := r.client(ctx, site)
		if err != nil {
			return err
		}
		if info != nil {
			if err := info.CanRegister(); err != nil {
				return err
			}
		}
		key, err := client.Register(ctx, pref)
		if err != nil {
			return err
		}
		if r.asJSON {
			return c.app.PrintJSON(map[string]string{"registration_key": string(key), "rup_cgi": client.CGI})
		}
		fmt.Fprintln(c.app.Stderr, "Registered. Keep this key; the site does not show it again:")
		_, err = fmt.Fprintln(c.app.Stdout, term.Clean(string(key)))
		return err
	})
}

func (c rupCommands) unregister() *cobra.Command {
	cmd := &cobra.Command{Use: "unregister --email ADDRESS SITE", Short: "End a registration, and with it the reports"}
	return c.asking(cmd, "unregister --email robot@example.org --key-file site.key https://www.example.org/", func(ctx context.Context, r *rupAsk, site string) error {
		who, err := r.credentials()
		if err != nil {
			return err
		}
		client, _, err := r.client(ctx, site)
		if err != nil {
			return err
		}
		if err := client.Unregister(ctx, who); err != nil {
			return err
		}
		return r.done("unregistered")
	})
}

func (c rupCommands) modify() *cobra.Command {
	var p rupPreferences
	var newEmail string
	cmd := &cobra.Command{Use: "modify --email ADDRESS SITE", Short: "Change address, interval or patterns of a registration"}
	p.flags(cmd, `; "" removes all`)
	cmd.Flags().StringVar(&newEmail, "new-email", "", "send reports to this `ADDRESS` from now on")
	return c.asking(cmd, "modify --email robot@example.org --key-file site.key --latency day https://www.example.org/", func(ctx context.Context, r *rupAsk, site string) error {
		who, err := r.credentials()
		if err != nil {
			return err
		}
		pref, err := p.read(cmd, newEmail)
		if err != nil {
			return err
		}
		client, _, err := r.client(ctx, site)
		if err != nil {
			return err
		}
		if err := client.Modify(ctx, who, pref); err != nil {
			return err
		}
		return r.done("changed")
	})
}

func (c rupCommands) sequence() *cobra.Command {
	cmd := &cobra.Command{Use: "sequence --email ADDRESS SITE", Short: "Show how many reports a site has sent"}
	return c.asking(cmd, "sequence --email robot@example.org --key-file site.key https://www.example.org/", func(ctx context.Context, r *rupAsk, site string) error {
		who, err := r.credentials()
		if err != nil {
			return err
		}
		client, _, err := r.client(ctx, site)
		if err != nil {
			return err
		}
		n, err := client.Sequence(ctx, who)
		if err != nil {
			return err
		}
		if r.asJSON {
			return c.app.PrintJSON(map[string]int64{"sequence_number": n})
		}
		_, err = fmt.Fprintln(c.app.Stdout, n)
		return err
	})
}

func (c rupCommands) index() *cobra.Command {
	var span string
	cmd := &cobra.Command{Use: "index --span SPAN SITE", Short: "Show what has changed at a site; needs no registration"}
	cmd.Flags().StringVar(&span, "span", "1-day", "how far back, a `SPAN` that the site offers, such as 2-week")
	return c.asking(cmd, "index --span 2-week https://www.example.org/", func(ctx context.Context, r *rupAsk, site string) error {
		back, err := rup.ParseSpan(span)
		if err != nil {
			return app.Usage("--%v", err)
		}
		var who rup.Credentials
		if r.email != "" {
			if who, err = r.credentials(); err != nil {
				return err
			}
		}
		client, info, err := r.client(ctx, site)
		if err != nil {
			return err
		}
		if info != nil {
			switch most := info.MaxQuerySpan; {
			case most == rup.Span{}:
				return errors.New("the site offers no list of changes (its rupinfo.txt has no MaxQuerySpan); use curtsy rup register")
			case back.Days() > most.Days():
				return app.Usage("the site stores its changes for %s; use --span %s or less", most, most)
			}
		}
		report, err := client.Index(ctx, back, who)
		if err != nil {
			return err
		}
		u, err := siteURL("site", site, "https://www.example.org/")
		if err != nil {
			return err
		}
		failed := report.CheckSite(u)
		ans := rupreportOf(report, failed)
		if r.asJSON {
			err = c.app.PrintJSON(ans)
		} else {
			printRupreport(c.app.Stdout, ans)
		}
		if err == nil && failed != nil {
			return app.Exit(app.ExitFailed, nil)
		}
		return err
	})
}
