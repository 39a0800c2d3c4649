package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/archive"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/internal/version"
	"github.com/curtsy/curtsy/internal/warc"
	"github.com/spf13/cobra"
)

// archiveCommand gathers what is done with the WARC files of a directory, ours or others'.
func (a *app) archiveCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "archive",
		Short: "List, read, index, verify and pack WARC files",
		Long: `List, read, index, verify and pack the WARC files of a directory: those that curtsy crawl --warc wrote, or others. Nothing is fetched.
Files that end in .open are being written, or were when a crawl was killed: the crawl closes them when it goes on.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage("there is no archive %s; curtsy archive --help lists what there is", args[0])
			}
			return cmd.Help()
		},
	}
	cmd.AddCommand(a.archiveIndex(), a.archiveList(), a.archiveCat(), a.archiveVerify(), a.archiveWACZ())
	return cmd
}

// warcFiles are the closed files of a directory, or why there are none.
func warcFiles(dir string) (closed, open []string, err error) {
	closed, open, err = archive.Files(dir)
	if errors.Is(err, archive.ErrNone) || errors.Is(err, fs.ErrNotExist) {
		return nil, nil, usage("%v; name the directory that curtsy crawl --warc DIR wrote to", err)
	}
	return closed, open, err
}

func (a *app) archiveIndex() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use: "index DIR", Short: "Write a CDXJ index beside each file that lacks one", Args: one("directory", "./warc"),
		Example: "  curtsy archive index ./warc",
	}
	cmd.Flags().BoolVar(&all, "all", false, "write all of them anew")
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
			fmt.Fprintf(a.stdout, "%s.cdxj: %s\n", filepath.Base(f), count(int64(n), "answer"))
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

func (a *app) archiveList() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list DIR|FILE.wacz [URL]", Short: "List the answers in the files", Example: "  curtsy archive list ./warc\n  curtsy archive list --json ./warc https://docs.example.org/guide/",
		Long: `List the answers in the files of a directory, or of a WACZ file: time, status, media type, URL; revisits are called warc/revisit. With a URL only
those whose URL begins with it.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 {
				return usage("%s takes a directory, and perhaps a URL, for example: %s ./warc https://docs.example.org/", cmd.CommandPath(), cmd.CommandPath())
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
		out := bufio.NewWriter(a.stdout)
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
		return nil, usage("%v; name the directory that curtsy crawl --warc DIR wrote to, or a WACZ file", err)
	}
	return from, err
}

// shown is a text of an archive, fit for a terminal.
func shown(s string) string { return strings.Trim(fmt.Sprintf("%+q", s), `"`) }

func (a *app) archiveCat() *cobra.Command {
	var at string
	var record, payload bool
	cmd := &cobra.Command{
		Use: "cat DIR|FILE.wacz URL", Short: "Write what was answered for a URL",
		Long: `Write the newest answer that the files have for a URL, or with --at the newest up to that time: head and body as they came over
the wire. For a revisit stands the answer that it refers to; where the files lack that, the newest one for the URL that is no
revisit.`,
		Example: "  curtsy archive cat ./warc https://docs.example.org/\n  curtsy archive cat --payload --at 20261124 ./warc https://docs.example.org/",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usage("%s takes a directory and a URL, for example: %s ./warc https://docs.example.org/", cmd.CommandPath(), cmd.CommandPath())
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&at, "at", "", "not newer than this `TIME` (UTC), as list shows it or its beginning: 2026, 202611, 20261124083000")
	cmd.Flags().BoolVar(&record, "record", false, "write the record with its header, also of a revisit")
	cmd.Flags().BoolVar(&payload, "payload", false, "write the body alone, without its transfer and content encodings")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if strings.Trim(at, "0123456789") != "" || len(at) > 14 {
			return usage("--at %q: use digits, for example 20261124 or 20261124083000", at)
		}
		if record && payload {
			return usage("--record and --payload are two things: use one of them")
		}
		from, err := collection(args[0])
		if err != nil {
			return err
		}
		defer from.Close()
		err = from.Find(warc.Key(args[1]), at, !record, func(rec *warc.Record) error {
			switch {
			case record:
				fmt.Fprintf(a.stdout, "%s\r\n", warc.Version)
				for _, f := range rec.Fields {
					fmt.Fprintf(a.stdout, "%s: %s\r\n", f.Name, f.Value)
				}
				fmt.Fprint(a.stdout, "\r\n")
			case payload:
				return a.catPayload(rec)
			}
			_, err := io.Copy(a.stdout, rec)
			return err
		})
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("the files in %s have no answer for %s; curtsy archive list %s shows what they have", args[0], args[1], args[0])
		}
		return err
	}
	return cmd
}

// catPayload writes the body of an answer, decoded.
func (a *app) catPayload(rec *warc.Record) error {
	block, err := io.ReadAll(io.LimitReader(rec, crawl.MaxPayloadBytes+64<<20))
	if err != nil {
		return err
	}
	m, _ := warc.Split(block)
	body, _, _ := m.Payload()
	r, done, err := wire.Decoder(strings.NewReader(string(body)), m.Get("Content-Encoding"))
	if err != nil {
		return err
	}
	defer done()
	_, err = io.Copy(a.stdout, r)
	return err
}

func (a *app) archiveVerify() *cobra.Command {
	var repair bool
	cmd := &cobra.Command{
		Use: "verify DIR|FILE.wacz", Short: "Read all records, and compare their digests and indexes",
		Long: `Read all files of a directory: each record must be whole, its digests those of what it holds, each index that of its file. Files that
end in .open are named, and no problem. With --repair what is no whole record is taken out of files, and those that end in .open are
closed: only while no crawl writes there.

Of a WACZ file all files in it must also be what its datapackage.json says.

Exit codes: 0 all is well, 1 something is not.`,
		Example: "  curtsy archive verify ./warc\n  curtsy archive verify --repair ./warc", Args: one("directory", "./warc"),
	}
	cmd.Flags().BoolVar(&repair, "repair", false, "take out of files what is no whole record")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if archive.IsWACZ(args[0]) {
			if repair {
				return usage("--repair mends WARC files, and not those in a WACZ file: make that anew of them with curtsy archive wacz")
			}
			return a.verifyWACZ(args[0])
		}
		closed, open, err := warcFiles(args[0])
		if err != nil {
			return err
		}
		bad, torn := 0, false
		for _, f := range append(closed, open...) {
			isOpen := strings.HasSuffix(f, ".open")
			v, err := archive.Verify(f)
			if err != nil {
				return err
			}
			a.verified(f, v)
			if repair && (v.Tail > 0 || isOpen) {
				cut, err := archive.Repair(f)
				if err != nil {
					return err
				}
				fmt.Fprintf(a.stdout, "  taken out, since it is no whole record: %d bytes\n", cut)
				if v, err = archive.Verify(strings.TrimSuffix(f, ".open")); err != nil {
					return err
				}
				isOpen = false
			}
			if len(v.Problems) > 0 && !isOpen {
				bad++
				torn = torn || v.Tail > 0
			}
			if cmd.Context().Err() != nil {
				return cmd.Context().Err()
			}
		}
		if bad == 0 {
			return nil
		}
		err = fmt.Errorf("%s of %d not as they should be", count(int64(bad), "file"), len(closed)+len(open))
		if torn {
			err = fmt.Errorf("%w; curtsy archive verify --repair %s takes out what is no whole record", err, args[0])
		}
		return err
	}
	return cmd
}

// verified says what was found in a file.
func (a *app) verified(name string, v archive.Verified) {
	fmt.Fprintf(a.stdout, "%s: %s, %s\n", filepath.Base(name), count(int64(v.Records), "record"), count(int64(v.Answers), "answer"))
	for _, p := range v.Problems {
		fmt.Fprintf(a.stdout, "  %s\n", shown(p))
	}
}

func (a *app) verifyWACZ(name string) error {
	v, err := archive.VerifyWACZ(name)
	if err != nil {
		return err
	}
	a.verified(name, v)
	if len(v.Problems) > 0 {
		return fmt.Errorf("%s is not as it should be; make it anew with curtsy archive wacz", name)
	}
	return nil
}

func (a *app) archiveWACZ() *cobra.Command {
	var out string
	var p archive.Package
	cmd := &cobra.Command{
		Use: "wacz DIR", Short: "Pack the files into one WACZ file, for replay",
		Long: `Pack all closed WARC files of a directory into one file that ReplayWeb.page and others replay: WACZ 1.1.1, a ZIP file of the WARC
files as they are, an index, a list of pages with their titles, and a manifest with the digest of each. It is a copy: what is forgotten later stays in it,
so make it anew then.`,
		Example: "  curtsy archive wacz --out docs.wacz --title \"Our documentation\" ./warc", Args: one("directory", "./warc"),
	}
	cmd.Flags().StringVar(&out, "out", "", "write this `FILE`, which ends in .wacz and is not there yet (needed)")
	cmd.Flags().StringVar(&p.Title, "title", "", "what the collection is called")
	cmd.Flags().StringVar(&p.Description, "description", "", "what it is, as Markdown")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !archive.IsWACZ(out) {
			return usage("--out %q: name a file that ends in .wacz, for example --out docs.wacz", out)
		}
		closed, open, err := warcFiles(args[0])
		if err != nil {
			return err
		}
		if len(closed) == 0 {
			return fmt.Errorf("all files in %s are being written to; they can be packed once the crawl has ended, or curtsy archive verify --repair %s has closed them",
				args[0], args[0])
		}
		p.Software, p.Created, p.TitleOf = "Curtsy "+version.Get().String(), time.Now(), new(titles).of
		packed, err := archive.Pack(cmd.Context(), out, closed, p)
		if errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("%s is there already: remove it, or name another file with --out", out)
		}
		if errors.Is(err, warc.ErrDamaged) {
			return fmt.Errorf("%w; curtsy archive verify --repair %s takes out what is no whole record", err, args[0])
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(a.stdout, "%s: %s, %s, %s\n", out, count(int64(packed.Files), "WARC file"), count(int64(packed.Answers), "answer"), count(int64(packed.Pages), "page"))
		if len(open) > 0 {
			fmt.Fprintf(a.stdout, "left out, since it is being written to: %s\n", count(int64(len(open)), "file"))
		}
		return nil
	}
	return cmd
}
