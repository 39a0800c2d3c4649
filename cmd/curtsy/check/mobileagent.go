package check

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"strings"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/cmd/curtsy/internal/term"
	"github.com/curtsy/curtsy/internal/cli"
	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/robots"
	"github.com/spf13/cobra"
)

// mobileAnswer is what `curtsy check mobile-agent --json` prints.
type mobileAnswer struct {
	Site      string            `json:"site"`
	Lines     []mobileLine      `json:"lines"`
	Malformed []mobileMalformed `json:"malformed"`
	URL       *mobileURL        `json:"url"`     // null for the URL of a site
	Servers   []mobileServer    `json:"servers"` // that were connected to
	example   string            // of an address for a server of the site
}

// mobileURL is the line that decides for a URL.
type mobileURL struct {
	URL    string  `json:"url"`
	Line   int     `json:"line"`   // 0: no line is for it
	Server *string `json:"server"` // null: none
	Robot  bool    `json:"robot"`  // curtsy sends a robot that may read it
}

// mobileServer is what happened when a server was connected to.
type mobileServer struct {
	Server  string `json:"server"`
	Answers bool   `json:"answers"`
	Status  int    `json:"status"` // 404 is right: there is no such run
	Why     string `json:"why"`
}

// good reports whether nothing is wrong: a robot would be sent, each line is well formed, and each
// server that was connected to answers.
func (a mobileAnswer) good() bool {
	robot := false
	for _, l := range a.Lines {
		robot = robot || l.Subtree != ""
	}
	for _, s := range a.Servers {
		robot = robot && s.Answers
	}
	return robot && len(a.Malformed) == 0 && (a.URL == nil || a.URL.Robot)
}

// mobileCheck is a `curtsy check mobile-agent`.
type mobileCheck struct {
	app             *app.App
	cfg             *config.MobileCheck
	from, url       string
	agent           string // the product token of the robot
	connect, asJSON bool

	requests *fetcher.Manual // nil until one is sent
}

const mobileExample = "https://www.example.org/"

func (c checks) mobileAgent() *cobra.Command {
	m := &mobileCheck{app: c.app, cfg: config.NewMobileCheck()}
	cmd := &cobra.Command{
		Use:   "mobile-agent URL|FILE",
		Short: "Check where a robots.txt lets mobile robots in",
		Long: `Show the Mobile-agent-server lines of a robots.txt: which server is for which paths, which lines
have no effect, and whether a crawl would send a mobile robot there. The robots.txt is a file, - for
the standard input, or that of the site of a URL. It is then requested as in a crawl.

With --connect, the command also connects to each server to which a robot would be sent. It asks for
a run that does not exist, so a server that works answers 404. Nothing is run there, and no key is
needed.`,
		Annotations: cli.ExitCodes("0 A crawl would send a robot; with --connect, the servers answer.",
			"1 It would send none, a line is malformed, or a server does not answer.", "2 The command line is wrong."),
		Example: `  curtsy check mobile-agent --from https://www.example.org/ robots.txt
  curtsy check mobile-agent --connect --contact me@example.org https://www.example.org/docs/`,
		Args: app.OneArg("URL or FILE", mobileExample),
	}
	cmd.Flags().StringVar(&m.from, "from", "", "`URL` of the site, for a FILE (required with one)")
	cmd.Flags().StringVar(&m.agent, "agent", "curtsy", "product `TOKEN` of the robot")
	cmd.Flags().StringVar(&m.url, "url", "", "check this `URL` of the site")
	cmd.Flags().BoolVar(&m.connect, "connect", false, "connect to the servers, and show whether they answer")
	cmd.Flags().BoolVar(&m.asJSON, "json", false, "print one JSON object")
	return app.Configured(cmd, m.cfg, func(cmd *cobra.Command, args []string, _ *config.Source) error {
		ctx, cancel := context.WithTimeout(cmd.Context(), app.RequestTime)
		defer cancel()
		ans, err := m.answer(ctx, c, args[0])
		if err != nil {
			return err
		}
		if m.asJSON {
			err = m.app.PrintJSON(ans)
		} else {
			printMobile(m.app.Stdout, ans, m.agent)
		}
		if err == nil && !ans.good() {
			return app.Exit(app.ExitFailed, nil)
		}
		return err
	})
}

// answer reads the robots.txt that arg names.
func (m *mobileCheck) answer(ctx context.Context, c checks, arg string) (mobileAnswer, error) {
	isURL := strings.Contains(arg, "://")
	switch {
	case isURL && m.from != "":
		return mobileAnswer{}, app.Usage("--from is for a FILE; leave it out, because %s names the site", arg)
	case !isURL && m.from == "":
		return mobileAnswer{}, app.Usage("a FILE needs the site that it is for; add for example --from %s", mobileExample)
	}
	if isURL {
		m.from = arg
		if u, err := canon.Parse(arg); err == nil && u != u.Root() && u.PathQuery() != "/robots.txt" {
			m.url = cmp.Or(m.url, arg)
		}
	}
	site, err := canon.Parse(m.from)
	if err != nil {
		return mobileAnswer{}, app.Usage("%q: %v; use for example %s", m.from, err, mobileExample)
	}
	s := mobileSite{site.Origin(), m.agent, m.cfg.RobotServers}
	asked, err := m.asked(s.origin)
	if err != nil {
		return mobileAnswer{}, err
	}
	var file *robots.File
	var body []byte
	if isURL {
		if err = m.opened(); err == nil {
			file, body, err = m.requests.Robots(ctx, s.origin)
		}
	} else if body, err = c.readInput(arg, robots.MaxBytes+2); err == nil {
		file = robots.Parse(body)
	}
	if err != nil {
		return mobileAnswer{}, err
	}
	ans := mobileAnswer{Site: s.origin.String(), Lines: s.lines(file), Malformed: s.malformed(file, body), Servers: []mobileServer{}, example: s.target("")}
	if asked != "" {
		ans.URL = urlOf(asked, ans.Lines, file)
	}
	if m.connect {
		ans.Servers, err = m.servers(ctx, ans.Lines)
	}
	return ans, err
}

// asked is the URL to be checked, if there is one.
func (m *mobileCheck) asked(site canon.Origin) (canon.URL, error) {
	if m.url == "" {
		return "", nil
	}
	u, err := canon.Parse(m.url)
	if err != nil {
		return "", app.Usage("--url %q: %v; use for example %sdocs/", m.url, err, mobileExample)
	}
	if u.Origin() != site {
		return "", app.Usage("the robots.txt of %s does not apply to %s; each origin has its own: use --url %[1]s/", site, u.Origin())
	}
	return u, nil
}

// opened makes what sends requests.
func (m *mobileCheck) opened() (err error) {
	if m.requests == nil {
		m.requests, err = m.app.Requester(app.RequesterOptions{
			Sign: m.cfg.Sign, Access: m.cfg.SiteAccess, Contact: m.cfg.Contact, AllowPrivate: m.cfg.AllowPrivate, Resolve: m.cfg.Resolve,
		})
	}
	return err
}

// notFound is the status of a server that works, to a question about a run that it does not have.
const notFound = 404

// urlOf is the line that decides for a URL.
func urlOf(u canon.URL, lines []mobileLine, file *robots.File) *mobileURL {
	a := &mobileURL{URL: u.String()}
	for i, of := range file.AgentServers() {
		if of.Covers(u.Path()) {
			l := lines[i]
			a.Line, a.Server = l.Line, l.Server
			a.Robot = l.Subtree != "" && strings.HasPrefix(u.Path(), l.Subtree)
		}
	}
	return a
}

// servers connects to each server to which a robot would be sent.
func (m *mobileCheck) servers(ctx context.Context, lines []mobileLine) ([]mobileServer, error) {
	list := []mobileServer{}
	if err := m.opened(); err != nil {
		return list, err
	}
	seen := map[string]bool{}
	for _, l := range lines {
		if l.Subtree == "" || seen[*l.Server] {
			continue
		}
		seen[*l.Server] = true
		s := mobileServer{Server: *l.Server}
		u, _ := crawl.AgentServerURL(s.Server) // otherwise no robot would be sent there
		status, err := m.requests.AgentRun(ctx, u, rand.Text())
		switch s.Answers, s.Status = err == nil, status; {
		case ctx.Err() != nil:
			return list, ctx.Err()
		case err != nil:
			s.Why = err.Error()
		case status != notFound:
			s.Why = "it answers, but not with 404 to a question about a run that does not exist"
		}
		list = append(list, s)
	}
	return list, nil
}

func printMobile(w io.Writer, a mobileAnswer, token string) {
	fmt.Fprintf(w, "robots.txt of %s: %s\n", term.Clean(a.Site), term.Count(int64(len(a.Lines)+len(a.Malformed)), "Mobile-agent-server line"))
	if len(a.Lines)+len(a.Malformed) == 0 {
		fmt.Fprintf(w, "to let mobile robots in, run agenthost (docs/mobile-robots.md) and add for example:\n  Mobile-agent-server: / %s\n", a.example)
	}
	bad := a.Malformed
	for _, l := range a.Lines {
		for len(bad) > 0 && bad[0].Line < l.Line {
			printMalformed(w, bad[0])
			bad = bad[1:]
		}
		printMobileLine(w, l, token)
	}
	for _, b := range bad {
		printMalformed(w, b)
	}
	if u := a.URL; u != nil {
		switch {
		case u.Line == 0:
			fmt.Fprintf(w, "%s: no line is for it; it is requested as usual\n", term.Clean(u.URL))
		case u.Robot:
			fmt.Fprintf(w, "%s: line %d, a robot may read it at %s\n", term.Clean(u.URL), u.Line, term.Clean(*u.Server))
		default:
			fmt.Fprintf(w, "%s: line %d, no robot is sent for it; it is requested as usual\n", term.Clean(u.URL), u.Line)
		}
	}
	for _, s := range a.Servers {
		switch {
		case s.Answers:
			fmt.Fprintf(w, "%s answers with %d%s\n", term.Clean(s.Server), s.Status, term.Clean(strings.TrimSuffix(": "+s.Why, ": ")))
		default:
			fmt.Fprintf(w, "%s does not answer: %s\n", term.Clean(s.Server), term.Clean(s.Why))
		}
	}
}

func printMobileLine(w io.Writer, l mobileLine, token string) {
	server := "none"
	if l.Server != nil {
		server = *l.Server
	}
	fmt.Fprintf(w, "line %d: %s %s\n", l.Line, term.Clean(l.Path), term.Clean(server))
	if l.OverriddenBy == 0 {
		fmt.Fprintf(w, "  for the paths that begin with %s", term.Clean(l.Path))
		if len(l.Except) > 0 {
			fmt.Fprintf(w, ", except %s", term.Clean(strings.Join(l.Except, ", ")))
		}
		fmt.Fprintln(w)
	}
	switch {
	case l.Subtree != "":
		fmt.Fprintf(w, "  %s would send a robot for what is below %s\n", term.Clean(token), term.Clean(l.Subtree))
	case l.Server == nil && l.OverriddenBy == 0:
		fmt.Fprintln(w, "  no robots here")
	default:
		fmt.Fprintf(w, "  no robot: %s\n", term.Clean(l.Why))
	}
	if l.Remark != "" {
		fmt.Fprintf(w, "  note: %s\n", term.Clean(l.Remark))
	}
}

func printMalformed(w io.Writer, m mobileMalformed) {
	fmt.Fprintf(w, "line %d: %s\n  ignored: %s\n  write:   %s\n", m.Line, term.Clean(m.Text), term.Clean(m.Reason), term.Clean(m.Instead))
}
