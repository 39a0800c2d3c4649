package download

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/curtsy/curtsy/internal/disk"
	"github.com/curtsy/curtsy/internal/fetcher/visit"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Getter sends requests to one host in a visit to it; fetcher.DownloadVisit is one.
type Getter interface {
	Get(ctx context.Context, u canon.URL, target string, h http.Header, accept func(status int, h http.Header) bool, w io.Writer) (visit.Download, error)
}

// Visit waits for a visit to an origin's host and calls do in it; see fetcher.Downloader.Visit.
type Visit func(ctx context.Context, origin canon.Origin, do func(Getter) error) error

// Options configure Get. The zero value of a field means its default.
type Options struct {
	Dir   string // directory of the files; it exists, and only this process uses it
	Visit Visit

	// Closed returns why a URL must not be requested although robots.txt might allow it, or "":
	// these are the rules of data.txt files. It is called before each request, including those
	// after a redirect. If it is nil, nothing is closed.
	Closed func(ctx context.Context, u canon.URL) (why string, err error)

	MaxSize  int64         // bytes of a file; 0: no limit
	MaxTotal int64         // bytes that this run may fetch in total; 0: no limit
	Floor    *disk.Floor   // of Dir's disk; nil: no check
	MaxWait  time.Duration // for a visit to a host that asks for a long pause; 0: 10 min

	Piece int64 // the most bytes requested at once; 0: 8 MiB
	// Span is how long a piece should take at most, so that other requests to the host are not
	// delayed. Slow servers are asked for smaller pieces. 0 means 10 s.
	Span  time.Duration
	Retry time.Duration // wait before the first retry; 0: 1 s
	Hosts int           // files fetched at the same time, each from another host; 0: 8

	// called often, by several goroutines but never concurrently; nil means not called
	Progress func(Progress)
	Log      *slog.Logger // nil: slog.Default()

	listShare int           // see manifestLog.share; 0: listShare
	total     *atomic.Int64 // see job.total; nil: a new one
}

// Progress is the progress of a call of Get.
type Progress struct {
	Files int   // to fetch
	Over  int   // of these, finished or failed
	Bytes int64 // written in this run
	Name  string
	Have  int64 // bytes of the file Name
	Of    int64 // its length; -1: not known

	// Left is how many bytes are still to come of the files whose size is known, at least about:
	// from the server, else from the catalogue.
	Left    int64
	Unknown int // files that are not over, without such a size
}

func (o Options) withDefaults() Options {
	o.MaxWait, o.Piece, o.Retry = cmp.Or(o.MaxWait, 10*time.Minute), cmp.Or(o.Piece, 8<<20), cmp.Or(o.Retry, time.Second)
	o.Span, o.Hosts, o.Log = cmp.Or(o.Span, 10*time.Second), cmp.Or(o.Hosts, 8), cmp.Or(o.Log, slog.Default())
	return o
}

// tiny is the size below which a piece is too small, unless it is a file's last.
func (o *Options) tiny() int64 { return max(o.Piece/128, 1) }

// job is one call of Get.
type job struct {
	opt      Options
	manifest *manifestLog

	total *atomic.Int64 // bytes reserved; shared by several calls in GetFolders

	mu    sync.Mutex // guards what follows
	state Progress
	left  map[*File]int64 // part of state.Left; a file without a size is missing
}

// Get fetches files into a directory and returns their results, in the same order. It continues
// from the state that an earlier Get has left, and requests no file that is complete already. An
// error is not the fault of a site: ctx has ended, or the directory cannot be used. The results
// known by then are returned with it.
func Get(ctx context.Context, files []File, opt Options) ([]Result, error) {
	opt = opt.withDefaults()
	if err := sweep(opt.Dir); err != nil {
		return nil, err
	}
	b, err := openManifestLog(opt.Dir)
	if err != nil {
		return nil, err
	}
	b.share = cmp.Or(opt.listShare, b.share)
	results, err := b.get(ctx, files, opt)
	return results, errors.Join(err, b.close())
}

// get is Get with an open manifest log.
func (b *manifestLog) get(ctx context.Context, files []File, opt Options) ([]Result, error) {
	if err := b.settle(); err != nil {
		return nil, err
	}
	files, err := b.name(files)
	if err != nil {
		return nil, err
	}
	j := &job{opt: opt, manifest: b, total: cmp.Or(opt.total, new(atomic.Int64)), state: Progress{Files: len(files), Unknown: len(files)}, left: map[*File]int64{}}
	for i := range files {
		j.expect(&files[i], 0, -1)
	}
	results := make([]Result, len(files))
	queues := map[canon.Host][]int{}
	var hosts []canon.Host
	for i := range files {
		h := files[i].URL.Host()
		if queues[h] == nil {
			hosts = append(hosts, h)
		}
		queues[h] = append(queues[h], i)
	}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(opt.Hosts)
	for _, h := range hosts {
		g.Go(func() error {
			for _, i := range queues[h] {
				r, err := j.get(gctx, &files[i])
				if err != nil {
					return fmt.Errorf("%s: %w", files[i].URL, err)
				}
				results[i] = r
				j.over(&files[i])
			}
			return nil
		})
	}
	err = g.Wait()
	known := results[:0]
	for _, r := range results {
		if r.Outcome != "" {
			known = append(known, r)
		}
	}
	return known, err
}

// get fetches one file, unless it exists already.
func (j *job) get(ctx context.Context, f *File) (Result, error) {
	res := Result{Dataset: f.Dataset.ID, URL: string(f.URL), Path: f.Name}
	if r, ok := j.manifest.find(string(f.URL)); ok {
		switch st, err := os.Lstat(filepath.Join(j.opt.Dir, r.Path)); {
		case errors.Is(err, fs.ErrNotExist): // it was removed, so it is fetched again
		case err != nil:
			return res, err
		case !st.Mode().IsRegular() || st.Size() != r.Bytes:
			res.Outcome, res.Bytes = Failed, st.Size()
			res.Reason = "it differs from the file downloaded before; to download it again, remove it, or type: curtsy datasets verify --repair " + j.opt.Dir
			return res, nil
		default:
			switch sum, _, err := digestOf(j.opt.Dir, r.Path); {
			case err != nil:
				return res, err
			case "sha256:"+sum != r.Hash:
				res.Outcome, res.Bytes = Failed, st.Size()
				res.Reason = "its content differs from the file downloaded before; to download it again, remove it, or type: curtsy datasets verify --repair " + j.opt.Dir
				return res, nil
			}
			res.Outcome, res.Bytes, res.SHA256, res.Remark = Had, r.Bytes, strings.TrimPrefix(r.Hash, "sha256:"), r.Curtsy.Remark
			return res, nil
		}
	}
	p := newPart(j.opt.Dir, string(f.URL), &f.About)
	if f.Name != "" {
		var err error
		if p, err = openPart(j.opt.Dir, f.Name, string(f.URL), &f.About); err != nil {
			return res, err
		}
	}
	t := &transfer{j: j, file: f, p: p, at: f.URL, target: f.Target, piece: j.opt.Piece, whole: p.n == p.st.Length}
	defer j.release(t)
	j.wrote(t, 0)
	err := t.run(ctx)
	var remark string
	if err == nil {
		remark, err = t.decode(ctx)
	}
	res.Path = f.Name
	var over *end
	switch {
	case err == nil:
		return j.finish(t, res, remark)
	case errors.As(err, &over):
		res.Outcome, res.Reason, res.Bytes = over.outcome, over.why, p.n
		if res.Path += partSuffix; p.n == 0 {
			res.Path = ""
		}
		return res, p.close()
	}
	return res, errors.Join(err, p.close())
}

// finish gives a complete file its name, and lists it.
func (j *job) finish(t *transfer, res Result, remark string) (Result, error) {
	p := t.p
	res.Bytes, res.SHA256, res.Outcome = p.n, p.digest(), Done
	if err := t.announced(); err != nil {
		res.Outcome, res.SHA256 = Failed, ""
		name, aside := p.quarantine()
		res.Path, res.Reason = name, err.Error()+"; it is stored as "+name
		return res, aside
	}
	about, err := t.remark()
	if err != nil {
		return res, err
	}
	res.Remark = strings.Trim(remark+"; "+about, "; ")
	if res.Remark != "" {
		j.opt.Log.Warn("a file may not be the announced one", "url", t.file.URL, "file", t.file.Name, "remark", res.Remark)
	}
	r := describe(t.file)
	r.Curtsy.Remark = res.Remark
	r.Bytes, r.Hash, r.Curtsy.Retrieved = res.Bytes, "sha256:"+res.SHA256, time.Now().UTC().Truncate(time.Second)
	if p.st.Final != r.Curtsy.URL {
		r.Curtsy.Final = p.st.Final
	}
	if err := p.finish(&r); err != nil {
		return res, err
	}
	return res, j.manifest.enter(r)
}

// visit calls do in a visit to a host, unless the wait for the visit would be too long.
func (j *job) visit(ctx context.Context, o canon.Origin, do func(Getter) error) error {
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	patience := time.AfterFunc(j.opt.MaxWait, cancel)
	defer patience.Stop()
	err := j.opt.Visit(waiting, o, func(v Getter) error {
		if !patience.Stop() {
			return waiting.Err()
		}
		return do(v)
	})
	if waiting.Err() != nil && ctx.Err() == nil {
		return fail("no visit to %s was granted within %v: the host or its robots.txt asks for a longer delay, or the crawl is paused "+
			"(curtsy hosts, curtsy status); the same command resumes later", o.Host, j.opt.MaxWait)
	}
	return err
}

// reserve makes sure that n more bytes of a file fit on the disk and within the limits.
func (j *job) reserve(t *transfer, n int64) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.fits(n); err != nil {
		return err
	}
	more := n - t.reserved
	if more <= 0 {
		return nil
	}
	if sum := j.total.Add(more); j.opt.MaxTotal > 0 && sum > j.opt.MaxTotal {
		j.total.Add(-more)
		return &end{Limited, fmt.Sprintf("with it, this run would exceed the %d bytes that --max-total allows", j.opt.MaxTotal)}
	}
	t.reserved += more
	return nil
}

// fits returns an error if n more bytes do not fit on the disk.
func (j *job) fits(n int64) error {
	if j.opt.Floor == nil {
		return nil
	}
	free, err := j.opt.Floor.Free()
	if err == nil && free < n {
		return &end{Limited, fmt.Sprintf("the disk of %s has too little free space for it (--min-free sets the minimum): free some space and run the same command again", j.opt.Dir)}
	}
	return err
}

// wrote counts reserved bytes that were written, and reports progress.
func (j *job) wrote(t *transfer, n int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	t.reserved -= n
	j.state.Bytes += n
	j.state.Name, j.state.Have, j.state.Of = cmp.Or(t.file.Name, lastSegment(string(t.file.URL))), t.p.n, t.p.st.Length
	j.expect(t.file, t.p.n, t.p.st.Length)
	j.tell()
}

// expect enters how much of a file is still to come; of is its length, or -1.
func (j *job) expect(f *File, have, of int64) {
	for _, announced := range []*int64{f.About.Bytes, f.About.BytesAbout} {
		if of < 0 && announced != nil {
			of = *announced
		}
	}
	if of < 0 {
		return
	}
	before, known := j.left[f]
	if !known {
		j.state.Unknown--
	}
	j.left[f] = max(of-have, 0)
	j.state.Left += j.left[f] - before
}

// release releases the bytes that were reserved for a file and not needed.
func (j *job) release(t *transfer) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.total.Add(-t.reserved)
}

func (j *job) over(f *File) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.state.Over++
	j.expect(f, 0, 0)
	j.tell()
}

func (j *job) tell() {
	if j.opt.Progress != nil {
		j.opt.Progress(j.state)
	}
}
