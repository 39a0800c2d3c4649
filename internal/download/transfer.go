package download

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/fetcher/visit"
	"github.com/curtsy/curtsy/pkg/canon"
)

const (
	maxRedirects = 5
	maxFails     = 5 // consecutive requests that bring almost nothing
	maxRestarts  = 3 // how often a file is started again
	maxRenewals  = 2 // how often in a row redirects are followed again without progress
	maxPatience  = 3 // how many times Options.MaxWait a server may prepare a file
)

// end is the final reason why a file is not fetched.
type end struct {
	outcome Outcome
	why     string
}

func (e *end) Error() string { return e.why }

func fail(format string, args ...any) error { return &end{Failed, fmt.Sprintf(format, args...)} }

// later is a failure after which another visit may succeed.
type later struct{ why string }

func (l *later) Error() string { return l.why }

// prepared is the request of a server to ask again after some time.
type prepared struct{ wait time.Duration }

func (p *prepared) Error() string { return "the server is still preparing it" }

// transfer fetches one file.
type transfer struct {
	j    *job
	file *File
	p    *part

	at        canon.URL   // the next URL to request
	target    string      // its path and query, as they are spelled
	open      canon.URL   // known not to be closed
	redirects []canon.URL // that led to at
	plain     bool        // the server supports no ranges: the whole file in one answer
	tried     bool        // a request without a range followed a refusal of one
	ranges    bool        // the server has sent a range
	piece     int64       // bytes to request next
	whole     bool
	fails     int
	restarts  int
	reserved  int64 // bytes of --max-total that are reserved for this file
	got       int64 // bytes that came in total
	renewed   int64 // of these, when the redirects were last followed again
	renewals  int   // since then without progress
	waits     int   // that the server has asked for while it prepares the file
	waited    time.Duration
	asked     asked
	head      answer
	began     time.Time // when the body began
	bad       error     // why the answer is useless, found before or while reading its body
}

// run requests the missing bytes, in one visit for each request, until the file is complete.
func (t *transfer) run(ctx context.Context) error {
	for !t.whole {
		if err := t.mayAsk(ctx); err != nil {
			return err
		}
		before := t.p.n
		err := t.j.visit(ctx, t.at.Origin(), func(v Getter) error { return t.request(ctx, v) })
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if t.p.n-before >= t.j.opt.tiny() || err == nil {
			t.fails = 0
		}
		var again *later
		var soon *prepared
		switch {
		case err == nil:
		case errors.As(err, &soon):
			if err := t.await(ctx, soon.wait); err != nil {
				return err
			}
		case errors.As(err, &again):
			if t.fails++; t.fails >= maxFails {
				return fail("%s, %d times in a row; the same command resumes later", again.why, t.fails)
			}
			t.j.opt.Log.Info("requesting the rest of a file again", "url", t.at, "why", again.why, "have", t.p.n)
			if err := pause(ctx, t.j.opt.Retry<<(t.fails-1)); err != nil {
				return err
			}
		default:
			return err
		}
	}
	return nil
}

// await waits until a server has prepared a file. If the server does not say how long that takes,
// the waits become longer.
func (t *transfer) await(ctx context.Context, wait time.Duration) error {
	if wait <= 0 {
		wait = min(2*time.Second<<min(t.waits, 5), time.Minute)
	}
	wait = max(wait, time.Second)
	if t.waits++; wait > t.j.opt.MaxWait || t.waited+wait > maxPatience*t.j.opt.MaxWait {
		return fail("the server is still preparing it (HTTP 202) after %v, and asks to wait for %v; the same command asks again later", t.waited, wait)
	}
	t.waited += wait
	t.j.opt.Log.Info("waiting for a file that the server prepares", "url", t.at, "wait", wait)
	return pause(ctx, wait)
}

// mayAsk checks everything that can forbid the URL, except robots.txt, which is checked when a
// request is sent.
func (t *transfer) mayAsk(ctx context.Context) error {
	if t.open == t.at || t.j.opt.Closed == nil {
		return nil
	}
	why, err := t.j.opt.Closed(ctx, t.at)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return fail("it is not known now whether it may be requested: %v", err)
	case why != "":
		return &end{Refused, why}
	}
	t.open = t.at
	return nil
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// request sends one request and processes the answer.
func (t *transfer) request(ctx context.Context, v Getter) error {
	h := t.prepare()
	t.head, t.bad = answer{}, nil
	got, err := v.Get(ctx, t.at, t.target, h, t.accept, t)
	switch {
	case t.bad != nil:
		return t.bad
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, visit.ErrRobots), errors.Is(err, visit.ErrForgotten), errors.Is(err, visit.ErrAddress):
		return &end{Refused, err.Error()}
	case err != nil && got.Status == 0:
		return &later{err.Error()}
	}
	if t.head.hasBody() {
		return t.took(got, err)
	}
	return t.follow()
}

// prepare makes the header of the next request.
func (t *transfer) prepare() http.Header {
	t.asked = asked{length: -1}
	if t.plain {
		return nil
	}
	t.asked.ranged = true
	if t.p.n > 0 && t.p.st.Validator != "" && t.sameFile() {
		t.asked.from, t.asked.ifRange, t.asked.length, t.asked.encoding = t.p.n, t.p.st.Validator, t.p.st.Length, t.p.st.Encoding
	}
	t.asked.to = t.asked.from + t.piece - 1
	h := http.Header{"Range": {fmt.Sprintf("bytes=%d-%d", t.asked.from, t.asked.to)}}
	if t.asked.ifRange != "" {
		h.Set("If-Range", t.asked.ifRange)
	}
	return h
}

// sureTag is the length of a validator that no two files of a host share by chance.
const sureTag = len(`"01234567"`)

// sameFile reports whether the validator of the part is valid for the next URL as well: both are
// equal, or differ only in a query that grants access. If a redirect of the announced URL grants
// access by a path, a long ETag decides.
func (t *transfer) sameFile() bool {
	final := canon.URL(t.p.st.Final)
	if a, _, _ := strings.Cut(string(final), "?"); a == string(t.at.Root())+strings.TrimPrefix(t.at.Path(), "/") {
		return true
	}
	tag := t.p.st.Validator
	return len(t.redirects) > 0 && final.Origin() == t.at.Origin() && lastSegment(string(final)) == lastSegment(string(t.at)) && strongTag(tag) && len(tag) >= sureTag
}

// accept interprets the head of an answer and reports whether its body is needed. It may be called
// again for the same request.
func (t *transfer) accept(status int, h http.Header) bool {
	t.head = t.asked.read(status, h)
	if t.p.n > 0 && t.head.hasBody() && isPage(t.head.kind) && !isPage(t.p.st.Type) {
		t.head.meaning, t.head.why = refusal, "a web page came instead of the rest of the file"
	}
	if t.head.hasBody() {
		t.began, t.bad = time.Now(), t.start(h)
	}
	return t.bad == nil && t.head.hasBody()
}

// isPage reports whether a Content-Type is that of a web page.
func isPage(contentType string) bool {
	ext := extensions[mediaType(contentType)]
	return ext == ".html" || ext == ".xhtml"
}

// start prepares for a body, which begins at the file's beginning or at the end of the part.
func (t *transfer) start(h http.Header) error {
	a, from := &t.head, t.asked.from
	if a.meaning == whole {
		from = 0
	}
	if a.meaning == piece && from == 0 && a.validator == "" && a.last+1 != a.length {
		a.meaning = unranged // pieces that may be of different copies cannot be combined
		return nil
	}
	if a.length > t.j.opt.MaxSize && t.j.opt.MaxSize > 0 {
		return &end{Limited, fmt.Sprintf("its size of %d bytes is more than --max-size allows", a.length)}
	}
	t.ranges = t.ranges || a.meaning == piece
	if err := t.j.reserve(t, max(a.length, from+a.size)-from); err != nil {
		return err
	}
	if from > 0 {
		if a.length >= 0 {
			t.p.st.Length = a.length
		}
		return nil
	}
	if t.p.f == nil {
		t.file.Name = t.j.manifest.newName(fileName(t.file, t.at, h))
		if err := t.p.create(t.file.Name); err != nil {
			return err
		}
	}
	return t.anew(state{URL: string(t.file.URL), Final: string(t.at), Validator: a.validator, Length: a.length, Encoding: a.encoding, Type: a.kind})
}

// anew starts the file again from its first byte.
func (t *transfer) anew(st state) error {
	if t.p.n > 0 {
		if t.restarts++; t.restarts > maxRestarts {
			return fail("it was restarted %d times: the server sends no ranges of it or another copy each time, and it does not arrive completely "+
				"within the time limit of one response", maxRestarts)
		}
		t.j.opt.Log.Info("a download starts again from the beginning: the server cannot continue it, or has another copy", "url", t.at, "had", t.p.n)
	}
	return t.p.begin(st)
}

// Write writes the body, within the limits.
func (t *transfer) Write(b []byte) (int, error) {
	if t.bad = t.room(int64(len(b))); t.bad != nil {
		return 0, t.bad
	}
	n, err := t.p.Write(b)
	t.bad = err
	t.got += int64(n)
	t.j.wrote(t, int64(n))
	return n, err
}

func (t *transfer) room(n int64) error {
	switch {
	case t.head.meaning == piece && t.p.n+n > t.head.last+1:
		return fail("the server sends a wrong range: more than the %d bytes that it announced", t.head.size)
	case t.j.opt.MaxSize > 0 && t.p.n+n > t.j.opt.MaxSize:
		return t.tooLarge()
	}
	return t.j.reserve(t, n)
}

func (t *transfer) tooLarge() error {
	return &end{Limited, fmt.Sprintf("it is larger than the %d bytes that --max-size allows", t.j.opt.MaxSize)}
}

// nextPiece returns how much to request next, after n bytes took this long.
func nextPiece(n int64, took time.Duration, o *Options) int64 {
	fits := float64(n) * float64(o.Span) / float64(max(took, time.Millisecond))
	return min(max(int64(min(fits, float64(o.Piece))), o.tiny()), o.Piece)
}

// took decides what to do after a body was read, completely or not.
func (t *transfer) took(got visit.Download, err error) error {
	a := &t.head
	t.piece = nextPiece(got.Bytes, time.Since(t.began), &t.j.opt)
	if err != nil || !got.Complete {
		why := "the response was cut off"
		if err != nil {
			why = err.Error()
		}
		return &later{why}
	}
	switch {
	case a.meaning == whole && a.size < 0 && !got.Framed:
		return fail("the server does not send its length, so it is not known whether the file is complete")
	case a.meaning == whole:
		t.whole = true
	case t.p.n != a.last+1:
		return &later{"a range was shorter than announced"}
	case t.p.n == t.p.st.Length:
		t.whole = true
	}
	if t.whole {
		return nil // it is saved with the mark that it is complete
	}
	if err := t.p.save(); err != nil {
		return err
	}
	if t.p.n-t.asked.from < t.j.opt.tiny() {
		return &later{"the server sends tiny ranges"}
	}
	return nil
}

// follow reacts to an answer without a useful body.
func (t *transfer) follow() error {
	switch a := &t.head; a.meaning {
	case complete:
		t.p.st.Length, t.whole = a.length, true
	case changed:
		return t.anew(state{URL: string(t.file.URL), Length: -1})
	case unranged:
		t.plain = true
	case preparing:
		return &prepared{a.wait}
	case moved:
		return t.redirect(a.location)
	default:
		return t.refused()
	}
	return nil
}

// refused reacts to an answer that is no file: the server may not want ranges, or access that a
// redirect granted may have expired.
func (t *transfer) refused() error {
	a := &t.head
	if a.noRange() && t.asked.ranged && !t.tried && (a.meaning == misranged || !t.ranges && (a.status != 500 || t.asked.from == 0)) {
		t.plain, t.tried = true, true
		return nil
	}
	if a.meaning == trouble {
		t.plain = false
		return &later{a.why}
	}
	if a.expired() && len(t.redirects) > 0 && t.renew() {
		return nil
	}
	return fail("%s", a.why)
}

// renew follows the redirects again from the announced URL. It returns false if that was of no use
// before.
func (t *transfer) renew() bool {
	if t.renewals++; t.got-t.renewed >= t.j.opt.tiny() {
		t.renewals = 0
	}
	if t.renewals > maxRenewals {
		return false
	}
	t.j.opt.Log.Info("an address has expired, and is asked for again", "url", t.file.URL, "why", t.head.why, "have", t.p.n)
	t.renewed, t.plain = t.got, t.tried && !t.ranges
	t.at, t.target, t.redirects = t.file.URL, t.file.Target, nil
	return true
}

func (t *transfer) redirect(location string) error {
	next, target, err := canon.NewBase(t.at).JoinAsWritten(location)
	switch {
	case location == "":
		return fail("it is redirected without a target")
	case err != nil:
		return fail("it is redirected to %.200q: %v", location, err)
	case len(t.redirects) >= maxRedirects:
		return fail("it is redirected more than %d times", maxRedirects)
	case next == t.at || slices.Contains(t.redirects, next):
		return fail("it is redirected in a circle, to %s", next)
	}
	t.redirects, t.at, t.target = append(t.redirects, t.at), next, target
	return nil
}

// announced compares the digests of a complete file with those that a document announced.
func (t *transfer) announced() error {
	about := &t.file.About
	if sum := t.p.digest(); about.SHA256 != "" && about.SHA256 != sum {
		return fail("its SHA-256 is %s, not %s as announced", sum, about.SHA256)
	}
	for _, d := range t.p.announced {
		if sum := hex.EncodeToString(d.sum.Sum(nil)); d.digest != sum {
			return fail("its %s is %s, not %s as announced", d.algorithm, sum, d.digest)
		}
	}
	return nil
}
