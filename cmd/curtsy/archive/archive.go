package archive

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/cmd/curtsy/internal/term"
	"github.com/curtsy/curtsy/internal/archive"
	"github.com/curtsy/curtsy/internal/cli"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/internal/version"
	"github.com/curtsy/curtsy/internal/warc"
	"github.com/spf13/cobra"
)

// archiveCommand gathers the commands on WARC files in a directory. The files need not be ours.
func (a *commands) archiveCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "archive",
		Short: "List, read, index, verify and pack WARC files",
		Long: `List, read, index, verify and pack the WARC files of a directory: those that curtsy crawl --warc
wrote, or any others. Nothing is fetched. Files that end in .open are being written, or were when a
crawl was killed; the crawl closes them when it is resumed.`,
		Example: "  curtsy archive list ./warc\n  curtsy archive verify ./warc",
	}
	cmd.AddCommand(a.archiveIndex(), a.archiveList(), a.archiveCat(), a.archiveVerify(), a.archiveWACZ())
	return cmd
}

// warcFiles are the closed files of a directory, or why there are none.
func warcFiles(dir string) (closed, open []string, err error) {
	closed, open, err = archive.Files(dir)
	if errors.Is(err, archive.ErrNone) || errors.Is(err, fs.ErrNotExist) {
		return nil, nil, app.Usage("%v; use the directory of curtsy crawl --warc DIR", err)
	}
	return closed, open, err
}

func (a *commands) archiveIndex() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use: "index DIR", Short: "Write the missing CDXJ indexes of WARC files", Args: app.OneArg("directory", "./warc"),
		Example: "  curtsy archive index ./warc",
	}
	cmd.Flags().BoolVar(&all, "all", false, "write all indexes again")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		files, _, err := warcFiles(args[0])
		if err != nil {
			return err
		}
		var failed error
		for _, f := range files {
			if !all && archive.HasIndex(f) {
				continue
			}
			n, err := archive.Index(f)
			fmt.Fprintf(a.Stdout, "%s.cdxj: %s\n", filepath.Base(f), term.Count(int64(n), "response"))
			if err != nil {
				failed = errors.Join(failed, fmt.Errorf("%s: %w", f, err))
			}
			if cmd.Context().Err() != nil {
				return cmd.Context().Err()
			}
		}
		return failed
	}
	return cmd
}

func (a *commands) archiveList() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list DIR|FILE.wacz [URL]", Short: "List the responses in WARC files", Example: "  curtsy archive list ./warc\n  curtsy archive list --json ./warc https://docs.example.org/guide/",
		Long: `List the responses in the WARC files of a directory, or in a WACZ file: time, status, media
type, URL. The media type of a revisit record is warc/revisit. With a URL, only responses are listed
whose URL begins with it.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 {
				return app.Usage("%s needs a directory, and optionally a URL; use for example: %s ./warc https://docs.example.org/", cmd.CommandPath(), cmd.CommandPath())
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the lines of the indexes as JSON")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		from, err := collection(args[0])
		if err != nil {
			return err
		}
		defer from.Close()
		under := ""
		if len(args) > 1 {
			under = args[1]
		}
		out := bufio.NewWriter(a.Stdout)
		err = from.Entries(func(e warc.Entry) error {
			switch {
			case !strings.HasPrefix(e.URL, under):
			case asJSON:
				_, text, _ := strings.Cut(string(e.Append(nil)), "{")
				fmt.Fprintf(out, "{\"time\":%q,%s", e.Time, text)
			default:
				fmt.Fprintf(out, "%s  %3s  %-24s  %s\n", e.Time, shown(e.Status), shown(e.Mime), shown(e.URL))
			}
			return cmd.Context().Err()
		})
		return errors.Join(err, out.Flush())
	}
	return cmd
}

// collection opens a directory of WARC files, or a WACZ file.
func collection(name string) (*archive.Collection, error) {
	from, err := archive.OpenCollection(name)
	if errors.Is(err, archive.ErrNone) || errors.Is(err, fs.ErrNotExist) {
		return nil, app.Usage("%v; use the directory of curtsy crawl --warc DIR, or a WACZ file", err)
	}
	return from, err
}

// shown makes a text from an archive fit for a terminal.
func shown(s string) string {
	quoted := fmt.Sprintf("%+q", s)
	return quoted[1 : len(quoted)-1] // quotes of its own stay
}

func (a *commands) archiveCat() *cobra.Command {
	var at string
	var record, payload bool
	cmd := &cobra.Command{
		Use: "cat DIR|FILE.wacz URL", Short: "Write the archived response for a URL",
		Long: `Write the newest archived response for a URL, or with --at the newest up to that time, with its
header and body as they were received. A revisit record is replaced by the response that it refers
to; if the files do not have that one, by the newest response that is not a revisit.`,
		Example: "  curtsy archive cat ./warc https://docs.example.org/\n  curtsy archive cat --payload --at 20261124 ./warc https://docs.example.org/",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return app.Usage("%s needs a directory and a URL; use for example: %s ./warc https://docs.example.org/", cmd.CommandPath(), cmd.CommandPath())
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&at, "at", "", "not newer than this `TIME` (UTC) as list shows it, or its first digits: 2026, 202611, 20261124083000")
	cmd.Flags().BoolVar(&record, "record", false, "write the whole WARC record, also of a revisit")
	cmd.Flags().BoolVar(&payload, "payload", false, "write only the body, decoded")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if strings.Trim(at, "0123456789") != "" || len(at) > 14 {
			return app.Usage("--at %q is not a time; use digits, for example 20261124 or 20261124083000", at)
		}
		if record && payload {
			return app.Usage("--record and --payload cannot be used together; use one of them")
		}
		from, err := collection(args[0])
		if err != nil {
			return err
		}
		defer from.Close()
		err = from.Find(warc.Key(args[1]), at, !record, func(rec *warc.Record) error {
			switch {
			case record:
				fmt.Fprintf(a.Stdout, "%s\r\n", rec.Version)
				for _, f := range rec.Fields {
					fmt.Fprintf(a.Stdout, "%s: %s\r\n", f.Name, f.Value)
				}
				fmt.Fprint(a.Stdout, "\r\n")
			case payload && rec.Type() != warc.Resource: // its block is the payload
				return a.catPayload(rec)
			}
			_, err := io.Copy(a.Stdout, rec)
			return err
		})
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("the files in %s have no response for %s; curtsy archive list %s lists what they have", args[0], args[1], args[0])
		}
		return err
	}
	return cmd
}

// catPayload writes the decoded body of a response.
func (a *commands) catPayload(rec *warc.Record) error {
	block, err := io.ReadAll(io.LimitReader(rec, crawl.MaxPayloadBytes+64<<20))
	if err != nil {
		return err
	}
	m, _ := warc.Split(block)
	if !strings.HasPrefix(string(block[:min(len(block), 5)]), "HTTP/") {
		_, err := a.Stdout.Write(block) // it is no HTTP message, so all of it is the payload
		return err
	}
	body, _, _ := m.Payload()
	if archive.NotGzip(m, body) {
		_, err := a.Stdout.Write(body)
		return err
	}
	r, done, err := wire.Decoder(strings.NewReader(string(body)), m.Get("Content-Encoding"))
	if err != nil {
		return err
	}
	defer done()
	_, err = io.Copy(a.Stdout, r)
	return err
}

func (a *commands) archiveVerify() *cobra.Command {
	var repair bool
	cmd := &cobra.Command{
		Use: "verify DIR|FILE.wacz", Short: "Check that WARC files are complete and undamaged",
		Long: `Read all files of a directory and check that each record is complete, that its digests match its
content, and that each index matches its file. Files that end in .open are listed, but they are not
an error. In a WACZ file, all files must also match its datapackage.json.

Files of other programs are read although they are not as the standard has them: several records in
one gzip member, other line ends, wrong lengths, dates in other forms. Such oddities are warnings.
Damage is what cannot be read, or belongs to no record.

With --repair, a file with damage or with such an oddity is written again: all records that can be
read, each as it should be. The old file stays as NAME.old beside the new one; remove it when you do
not need it, because curtsy forget does not change it. Files that end in .open are closed. Do that
only while no crawl writes to the directory.`,
		Annotations: cli.ExitCodes("0 All files are in order, or have only warnings.", "1 Some files are damaged.", "2 The command line is wrong."),
		Example:     "  curtsy archive verify ./warc\n  curtsy archive verify --repair ./warc", Args: app.OneArg("directory", "./warc"),
	}
	cmd.Flags().BoolVar(&repair, "repair", false, "write odd and damaged files again, and keep the old ones")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if archive.IsWACZ(args[0]) {
			if repair {
				return app.Usage("--repair cannot change a WACZ file; pack its WARC files again: curtsy archive wacz --out NEW.wacz DIR")
			}
			return a.verifyWACZ(args[0])
		}
		closed, open, err := warcFiles(args[0])
		if err != nil {
			return err
		}
		bad, odd, mends := 0, 0, false
		for _, f := range append(closed, open...) {
			isOpen := strings.HasSuffix(f, ".open")
			v, err := archive.Verify(f)
			if err != nil {
				return err
			}
			a.verified(f, v)
			if repair && (v.Mends || isOpen) {
				switch did, err := archive.Repair(f); {
				case errors.Is(err, archive.ErrNothing):
					fmt.Fprintf(a.Stdout, "  not repaired: %s\n", archive.ErrNothing)
				case err != nil:
					return err
				default:
					a.repaired(did)
					if v, err = archive.Verify(did.Path); err != nil {
						return err
					}
				}
				isOpen = false
			}
			switch {
			case isOpen:
			case len(v.Problems) > 0:
				bad++
			case len(v.Warnings) > 0:
				odd++
			}
			mends = mends || v.Mends && !isOpen
			if cmd.Context().Err() != nil {
				return cmd.Context().Err()
			}
		}
		advice := ""
		if mends {
			advice = "; to write them as they should be, and keep the old ones as NAME.old: curtsy archive verify --repair " + args[0]
		}
		if bad == 0 {
			if odd > 0 {
				fmt.Fprintf(a.Stdout, "%s with warnings, none damaged%s\n", term.Count(int64(odd), "file"), advice)
			}
			return nil
		}
		return fmt.Errorf("%s of %d damaged%s", term.Count(int64(bad), "file"), len(closed)+len(open), advice)
	}
	return cmd
}

// repaired prints what was done to a file.
func (a *commands) repaired(did archive.Repaired) {
	if did.Old == "" {
		return
	}
	fmt.Fprintf(a.Stdout, "  written again: %s, %d of them in another way; the old file is %s\n", term.Count(int64(did.Records), "record"), did.Odd, did.Old)
}

// verified prints what was found in a file.
func (a *commands) verified(name string, v archive.Verified) {
	fmt.Fprintf(a.Stdout, "%s: %s, %s\n", filepath.Base(name), term.Count(int64(v.Records), "record"), term.Count(int64(v.Answers), "response"))
	for _, p := range v.Problems {
		fmt.Fprintf(a.Stdout, "  %s\n", shown(p))
	}
	for _, w := range v.Warnings {
		fmt.Fprintf(a.Stdout, "  warning: %s\n", shown(w))
	}
}

func (a *commands) verifyWACZ(name string) error {
	v, err := archive.VerifyWACZ(name)
	if err != nil {
		return err
	}
	a.verified(name, v)
	if len(v.Problems) > 0 {
		return fmt.Errorf("%s is damaged; pack it again: curtsy archive wacz --out NEW.wacz DIR", name)
	}
	return nil
}

func (a *commands) archiveWACZ() *cobra.Command {
	var out string
	var p archive.Package
	cmd := &cobra.Command{
		Use: "wacz DIR", Short: "Pack WARC files into one WACZ file for replay",
		Long: `Pack all closed WARC files of a directory into one WACZ 1.1.1 file, which ReplayWeb.page and
other programs can replay: a ZIP file with the unchanged WARC files, an index, a list of pages with
their titles, and a manifest with digests. The file is a copy: curtsy forget does not change it, so
pack it again after that.`,
		Example: "  curtsy archive wacz --out docs.wacz --title \"Our documentation\" ./warc", Args: app.OneArg("directory", "./warc"),
	}
	cmd.Flags().StringVar(&out, "out", "", "write this new `FILE`, which must end in .wacz (required)")
	cmd.Flags().StringVar(&p.Title, "title", "", "`TITLE` of the collection")
	cmd.Flags().StringVar(&p.Description, "description", "", "description of the collection, a `TEXT` in Markdown")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !archive.IsWACZ(out) {
			return app.Usage("--out %q must end in .wacz; use for example --out docs.wacz", out)
		}
		closed, open, err := warcFiles(args[0])
		if err != nil {
			return err
		}
		if len(closed) == 0 {
			return fmt.Errorf("all files in %s are being written; pack them after the crawl, or close them first: curtsy archive verify --repair %s",
				args[0], args[0])
		}
		p.Software, p.Created, p.TitleOf = "Curtsy "+version.Get().String(), time.Now(), new(titles).of
		packed, err := archive.Pack(cmd.Context(), out, closed, p)
		if errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("%s already exists; remove it, or use another name with --out", out)
		}
		if errors.Is(err, warc.ErrDamaged) {
			return fmt.Errorf("%w; to write the file again, and keep the old one: curtsy archive verify --repair %s", err, args[0])
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(a.Stdout, "%s: %s, %s, %s\n", out, term.Count(int64(packed.Files), "WARC file"), term.Count(int64(packed.Answers), "response"), term.Count(int64(packed.Pages), "page"))
		if len(open) > 0 {
			fmt.Fprintf(a.Stdout, "not packed, because they are being written: %s\n", term.Count(int64(len(open)), "file"))
		}
		return nil
	}
	return cmd
}
