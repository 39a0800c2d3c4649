package data

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/cmd/curtsy/internal/term"
	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/cli"
	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/disk"
	"github.com/curtsy/curtsy/internal/download"
	"github.com/curtsy/curtsy/internal/engine"
	"github.com/curtsy/curtsy/internal/fetcher"
	"github.com/curtsy/curtsy/internal/questions"
	"github.com/curtsy/curtsy/internal/service"
	"github.com/curtsy/curtsy/internal/webtext"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
)

// getting is one `curtsy datasets get`.
type getting struct {
	a     *app.App
	cfg   *config.Download
	want  wanted
	out   string
	ids   []string
	all   bool     // all datasets, or all that have the words
	words []string // of --match
	only  map[string]bool
	json  bool
	form  string // of the progress
	shown *downloadLine
	log   *slog.Logger

	send fetcher.Options // how requests are sent
}

func (a *commands) datasetsGet() *cobra.Command {
	g := &getting{a: a.App, cfg: config.NewDownload()}
	cmd := &cobra.Command{
		Use:   "get [flags] ID... | --all | --match WORDS",
		Short: "Download the files of datasets",
		Long: `Download the files of datasets by their IDs (curtsy datasets lists them; the first characters of
an ID are enough). With --all or --match WORDS, many datasets are downloaded, each into its own
folder in DIR; their number, size and formats are shown before the first request, as far as
documents state them.

The delays and robots rules of the crawl apply, and requests alternate with those of the crawl while
it runs. Whatever ends the command, the same command resumes. A file gets its name when it is
complete; a SHA-256, SHA-512, SHA-1 or MD5 that a document states must match. SHA256SUMS (for
sha256sum -c) and datapackage.json are written beside the files.

Note: --dir is where the files go, and --data is the directory of the crawl.`,
		Annotations: cli.ExitCodes("0 All files are complete.", "1 Some files could not be downloaded.", "2 The command line or a setting is wrong.",
			"3 A limit excluded some files.", "130 The downloads were interrupted."),
		Example: `  curtsy datasets get --dir rain 3f2a9c01b7de
  curtsy datasets get --license CC-BY-4.0,CC0-1.0 --max-size 1GiB 3f2a 77c0
  curtsy datasets get --match "rain gauge" --max-total 10GiB --dir rain`,
		Args: func(cmd *cobra.Command, args []string) error {
			many := g.all || cmd.Flags().Changed("match")
			switch {
			case g.all && cmd.Flags().Changed("match"):
				return app.Usage("--all and --match cannot be used together; use one of them, for example --match rain")
			case many && len(args) > 0:
				return app.Usage("--all and --match take no IDs; words with spaces need quotes: --match %q", strings.Join(args, " "))
			case !many && len(args) == 0:
				return app.Usage("%s needs IDs of datasets, --all, or --match WORDS; curtsy datasets lists the IDs", cmd.CommandPath())
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&g.out, "dir", "./datasets", "write the files into `DIR`")
	cmd.Flags().BoolVar(&g.json, "json", false, "print JSON Lines, one file a line")
	cmd.Flags().StringVar(&g.form, "progress", config.ProgressModes[0], "show progress as `FORM`: "+strings.Join(config.ProgressModes, ", "))
	cmd.Flags().BoolVar(&g.all, "all", false, "download all datasets, each into its own folder")
	var match string
	cmd.Flags().StringVar(&match, "match", "", "download all datasets that contain these `WORDS`, each into its own folder")
	g.want.flags(cmd)
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		if cmd.Flags().Changed("match") && strings.TrimSpace(match) == "" {
			return app.Usage("--match needs words, for example --match rain; --all downloads all datasets")
		}
		if !slices.Contains(config.ProgressModes, g.form) {
			return app.Usage("--progress %q is unknown; use one of %s", g.form, strings.Join(config.ProgressModes, ", "))
		}
		return g.want.check()
	}
	return app.Configured(cmd, g.cfg, func(cmd *cobra.Command, args []string, _ *config.Source) error {
		if err := g.sends(); err != nil {
			return err
		}
		if _, err := os.Stat(filepath.Join(g.out, "crawl.jsonl")); err == nil {
			return app.Usage("--dir %s is the directory of a crawl, but here --dir is where the files go; select the crawl with --data %[1]s", webtext.ShellWord(g.out))
		}
		if cmd.Flags().Changed("match") {
			g.words, g.all = strings.Fields(match), true
		}
		g.ids, g.log = args, a.Logger(g.cfg.Reader())
		g.shown = newDownloadLine(a.Stderr)
		g.shown.inForm(g.form, a.Stderr, a.PrintJSON)
		return g.run(cmd.Context())
	})
}

// sends reads the settings of requests.
func (g *getting) sends() (err error) {
	g.send.Dial = g.a.Dial
	if g.send.Signer, err = g.cfg.Signer(); err != nil {
		return err
	}
	if g.send.Credentials, err = g.cfg.Shown(); err != nil {
		return err
	}
	if g.send.Proxy, err = g.cfg.Through(g.send.Credentials); err != nil {
		return err
	}
	app.PrintProxy(g.cfg.SiteAccess, func(text string) { fmt.Fprintln(g.a.Stderr, "warning:", text) })
	return nil
}

// options are those of a downloader with this name. If the name is "", the downloader makes one up.
func (g *getting) options(name string) fetcher.Options {
	o := g.send
	o.Name, o.Log = name, g.log
	o.Alone = g.cfg.URL == "" // the NATS server of a crawl in a directory has no other crawl
	return o
}

// errCrawlEnded is why downloads next to a running crawl end: the crawl ended, and its NATS server
// with it. The downloads continue without it.
var errCrawlEnded = errors.New("the crawl has ended")

func (g *getting) run(ctx context.Context) error {
	for {
		results, err := g.once(ctx)
		if errors.Is(err, errCrawlEnded) && ctx.Err() == nil {
			continue
		}
		g.shown.Clear()
		return g.finish(results, err)
	}
}

// once looks up the datasets and downloads their files, next to the running crawl or without one.
func (g *getting) once(ctx context.Context) ([]download.Result, error) {
	from, err := g.a.Open(ctx, g.cfg.Reader())
	if err != nil {
		return nil, err
	}
	g.want.about = g.a.About
	var closed bool
	defer func() {
		if !closed {
			from.Close()
		}
	}()
	chosen, err := g.chosen(ctx, from)
	if err != nil {
		return nil, err
	}
	list, none := download.Plan(chosen)
	if len(list) == 0 {
		return none, nil
	}
	if g.all {
		g.outlook(download.Look(list))
	}
	lock, err := service.LockDir(g.out, ".curtsy-lock")
	if err != nil {
		return nil, err
	}
	defer lock.Unlock()
	floor, err := disk.New(g.out, int64(g.cfg.MinFree))
	if err != nil {
		return nil, err
	}
	var got []download.Result
	get := func(ctx context.Context, l *asker.Crawl, visit download.Visit) (err error) {
		opt := download.Options{
			Dir: g.out, Visit: visit, Closed: closedBy(l), MaxSize: int64(g.cfg.MaxSize), MaxTotal: int64(g.cfg.MaxTotal), Floor: floor, MaxWait: g.cfg.HoldMax,
			Progress: g.shown.progress, Log: g.log,
		}
		if g.all {
			got, err = download.GetFolders(ctx, list, opt)
		} else {
			got, err = download.Get(ctx, list, opt)
		}
		return err
	}
	if !from.Stopped() {
		err = g.beside(ctx, from, get)
	} else {
		closed = true
		if err = from.Close(); err == nil {
			err = g.without(ctx, from.Spec, get)
		}
	}
	return append(got, none...), err
}

// chosen are the selected datasets.
func (g *getting) chosen(ctx context.Context, from *asker.Crawl) (all []crawl.DatasetInfo, err error) {
	if !g.all {
		return g.want.choose(ctx, from, g.ids)
	}
	err = g.want.datasets(ctx, from, g.words, func(d crawl.DatasetInfo) error {
		if g.only == nil || g.only[d.ID] {
			d.Extra, d.Conflicts, d.Provenance, d.AlsoDescribedAt = nil, nil, nil, nil
			all = append(all, d)
		}
		return nil
	})
	if err == nil && len(all) == 0 {
		err = app.Usage("no dataset matches; to list all datasets: curtsy datasets%s", g.want.about)
	}
	return all, err
}

// outlook prints what will be downloaded.
func (g *getting) outlook(o download.Outlook) {
	var formats []string
	for _, f := range slices.SortedFunc(maps.Keys(o.Formats), func(a, b string) int {
		return cmp.Or(o.Formats[b]-o.Formats[a], strings.Compare(a, b))
	}) {
		if len(formats) == 8 {
			formats = append(formats, "and others")
			break
		}
		formats = append(formats, fmt.Sprintf("%d %s", o.Formats[f], term.Clean(f)))
	}
	size := term.SizeText(o.Bytes)
	if o.Unknown > 0 {
		size += fmt.Sprintf(", and %s of unknown size", term.Count(int64(o.Unknown), "file"))
	}
	fmt.Fprintf(g.a.Stderr, "%s with %s: %s; %s\n", term.Count(int64(o.Datasets), "dataset"), term.Count(int64(o.Files), "file"), size, strings.Join(formats, ", "))
}

// beside downloads files while the crawl runs.
func (g *getting) beside(ctx context.Context, l *asker.Crawl, get getter) error {
	if l.Spec.Paused {
		return fmt.Errorf("crawl %q is paused, and so are downloads; to continue: curtsy resume", l.Spec.Name)
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	if g.cfg.URL == "" {
		go func() { // ends with ctx
			for engine.Alive(g.cfg.Dir) {
				select {
				case <-ctx.Done():
					return
				case <-time.After(200 * time.Millisecond):
				}
			}
			stop(errCrawlEnded)
		}()
	}
	err := downloading(ctx, l, g.options(""), get)
	if err != nil && l.Queue.NC.IsClosed() && g.cfg.URL == "" {
		return errCrawlEnded // and its server with it
	}
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause
	}
	return err
}

// without downloads files of a crawl that does not run, with a frontier of its own. No other
// fetcher asks that frontier for visits.
func (g *getting) without(ctx context.Context, spec crawl.Spec, get getter) error {
	if spec.Paused {
		return fmt.Errorf("the crawl in %s is paused, and so are downloads; to continue: curtsy crawl --dir %s", g.cfg.Dir, webtext.ShellWord(g.cfg.Dir))
	}
	c := config.NewCrawl()
	c.Common, c.NATS, c.Disk, c.Dir = g.cfg.Common, g.cfg.NATS, g.cfg.Disk, g.cfg.Dir
	o := g.a.EngineOptions(c, g.log)
	o.NotFetched = true
	e, err := g.a.OpenEngine(ctx, o)
	if err != nil {
		return err
	}
	defer func() {
		if err := e.Close(); err != nil {
			g.log.Error("closing", "err", err)
		}
	}()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	me := service.Process{Kind: "downloads", Instance: e.Instance(), PID: os.Getpid()}
	if err := service.Obey(e.Crawl().Queue.NC, crawl.Names(e.Spec().Name), me, func() { stop(app.ErrStopped) }); err != nil {
		return err
	}
	err = e.Run(ctx, func(ctx context.Context, _ crawl.Status) error {
		// Use the name of the frontier, so that it does not expect visits that outlive it.
		return downloading(ctx, e.Crawl(), g.options(e.Instance()), get)
	})
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause
	}
	return err
}

// getter downloads files of a crawl, as a fetcher that may ask for visits.
type getter func(ctx context.Context, l *asker.Crawl, visit download.Visit) error

// downloading calls get with such a fetcher until get returns.
func downloading(ctx context.Context, l *asker.Crawl, opt fetcher.Options, get getter) error {
	d, err := fetcher.NewDownloader(l.Queue, l.Spec, opt)
	if err != nil {
		return err
	}
	// Running visits are ended in order.
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	doing, abort := context.WithCancel(ctx)
	defer abort()
	var services errgroup.Group
	services.Go(func() error {
		defer abort()
		return d.Run(running)
	})
	services.Go(func() error {
		defer abort()
		return service.WatchSpec(running, l.Bucket, l.Spec, func(spec crawl.Spec) {
			if err := d.SetSpec(spec); err != nil {
				opt.Log.Error("the changed spec is not followed", "err", err)
			}
		})
	})
	err = get(doing, l, func(ctx context.Context, o canon.Origin, do func(download.Getter) error) error {
		return d.Visit(ctx, o, func(v *fetcher.DownloadVisit) error { return do(v) })
	})
	stop()
	if failed := services.Wait(); failed != nil {
		return failed
	}
	return err
}

// closedBy returns the line of a data.txt that forbids downloads of a URL, if there is one.
func closedBy(l *asker.Crawl) func(context.Context, canon.URL) (why string, err error) {
	return func(ctx context.Context, u canon.URL) (string, error) {
		rule, is, err := questions.DataRule.Ask(ctx, l, questions.URLRequest{URL: string(u)})
		if !is {
			return "", err
		}
		return fmt.Sprintf("%s line %d closes %s to us", rule.Document, rule.Line, u), nil
	}
}

// finish prints the result.
func (g *getting) finish(results []download.Result, err error) error {
	count, size := map[download.Outcome]int{}, int64(0)
	var aside, doubtful []string
	t := term.NewTable(g.a.Stdout, "OUTCOME", "SIZE", "FILE", "URL", "WHY")
	for _, r := range results {
		if count[r.Outcome]++; r.Outcome == download.Done || r.Outcome == download.Had {
			size += r.Bytes
		}
		if r.Aside() {
			aside = append(aside, r.Path)
		}
		if r.Remark != "" {
			doubtful = append(doubtful, r.Path)
		}
		if g.json {
			if err := g.a.PrintJSON(r); err != nil {
				return err
			}
			continue
		}
		if err := t.Row(string(r.Outcome), term.SizeText(r.Bytes), r.Path, r.URL, cmp.Or(r.Reason, r.Remark)); err != nil {
			return err
		}
	}
	if len(results) > 0 && !g.json {
		if err := t.Flush(); err != nil {
			return err
		}
	}
	switch {
	case errors.Is(err, app.ErrStopped), errors.Is(err, context.Canceled):
		return app.Exit(app.ExitInterrupted, errors.New("interrupted; the same command resumes the downloads"))
	case err != nil:
		return err
	}
	var all []string
	for _, o := range []download.Outcome{download.Done, download.Had, download.Refused, download.Failed, download.Limited} {
		if n := count[o]; n > 0 {
			all = append(all, fmt.Sprintf("%d %s", n, o))
		}
	}
	fmt.Fprintf(g.a.Stderr, "%s; %s in %s; to check the files: curtsy datasets verify %s\n", strings.Join(all, ", "), term.SizeText(size), g.out, webtext.ShellWord(g.out))
	if len(aside) > 0 {
		fmt.Fprintf(g.a.Stderr, "%s with another digest than the announced one: %s\n", term.Count(int64(len(aside)), "file"), g.where(aside))
	}
	if len(doubtful) > 0 {
		fmt.Fprintf(g.a.Stderr, "%s that may not be what was announced: %s\n", term.Count(int64(len(doubtful)), "file"), g.where(doubtful))
	}
	switch {
	case count[download.Refused]+count[download.Failed] > 0:
		return app.Exit(app.ExitFailed, nil)
	case count[download.Limited] > 0:
		return app.Exit(app.ExitLimit, nil)
	}
	return nil
}

// where lists the paths of some files in the directory.
func (g *getting) where(paths []string) string {
	const most = 3
	var all []string
	for _, p := range paths[:min(len(paths), most)] {
		all = append(all, webtext.ShellWord(filepath.Join(g.out, p)))
	}
	text := strings.Join(all, ", ")
	if more := len(paths) - most; more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	return text
}
