package dispatch

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/curtsy/curtsy/internal/backoff"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/internal/mobile"
	"github.com/curtsy/curtsy/internal/mobile/reading"
	"github.com/curtsy/curtsy/pkg/atp"
)

const (
	// maxTime is how long a dispatch may take, whichever fetchers carry it out, and maxIdle how
	// long without a new record: a server that sends an octet now and then must not occupy a slot
	// for ever.
	maxTime = 2 * time.Hour
	maxIdle = 10 * time.Minute
	// maxReceived is how many bytes of results one dispatch reads. It is what agenthost sends to a
	// key in a day, unless its owner sets more.
	maxReceived = 4 << 30
	// leastPiece is how many bytes without a record are worth another FETCH at once.
	leastPiece = 16 << 10
	// maxDrain is how many bytes are skipped if a server does not know ranges.
	maxDrain = 64 << 20
)

// Why the results are not read on.
var (
	errIdle  = fmt.Errorf("no new record came for %v", maxIdle)
	errLong  = fmt.Errorf("it took more than %v", maxTime)
	errLarge = fmt.Errorf("it has more than %d GiB", maxReceived>>30)
	errRange = errors.New("the server sent another range than it was asked for")
	errOpen  = errors.New("the results end without a summary of the run")
)

// results are what was read of the results so far.
type results struct {
	decoder  *zstd.Decoder
	budget   int64     // bytes that may still be decompressed
	received int64     // bytes of results
	last     time.Time // when the last record came
	records  int
	end      *mobile.Summary
	tail     tail
}

// tail is what was read behind the position in the results. It is not asked for again when a
// connection ends within a frame, so any connection brings the dispatch forward.
type tail struct {
	octets []byte
	lost   bool // there was too much of it
}

// maxTail bounds a tail: a frame of agenthost has about half a megabyte.
const maxTail = 8 << 20

func (t *tail) add(octets []byte) {
	if t.lost = t.lost || len(t.octets)+len(octets) > maxTail; t.lost {
		t.octets = nil
	} else {
		t.octets = append(t.octets, octets...)
	}
}

// drop forgets the first octets, because the position moved.
func (t *tail) drop(n int64) {
	if n > 0 && !t.lost {
		t.octets = t.octets[:copy(t.octets, t.octets[min(n, int64(len(t.octets))):])]
	}
}

// fetch reads the results to their end, in as many exchanges as that takes.
func (c *carrier) fetch() *ending {
	var err error
	if c.results.decoder, err = newDecoder(); err != nil {
		return &ending{state: crawl.DispatchFailed, reason: err.Error()}
	}
	defer c.results.decoder.Close()
	c.results.budget, c.results.last = maxUnpacked, time.Now()
	wait := backoff.Delay{Least: time.Second, Most: time.Minute}
	for {
		if end := c.outside(); end != nil {
			return end
		}
		before := c.results
		pause, end := c.fetchOnce()
		if !c.publish() {
			return &ending{later: true}
		}
		if end != nil {
			return end
		}
		c.Report()
		if pause == 0 && (c.results.records > before.records || c.results.received >= before.received+leastPiece) {
			wait.Reset()
			continue
		}
		if err := backoff.Sleep(c.Requests.Session.Waiting, max(pause, wait.Next())); err != nil {
			return &ending{later: true}
		}
	}
}

// outside is why the dispatch ends now, whatever the server sends; nil means that it goes on.
func (c *carrier) outside() *ending {
	switch {
	case c.stopped():
		return &ending{later: true}
	case c.Requests.Over():
		return c.cut(errors.New(c.Requests.Reason())) // two exchanges in a row failed
	case c.Requests.Forgotten(c.Aux.About):
		return &ending{state: crawl.DispatchDropped, reason: "the site was removed from the crawl by curtsy forget", retract: true}
	case !time.Now().Before(c.until):
		return c.cut(errLong)
	case time.Since(c.results.last) >= maxIdle:
		return c.cut(errIdle)
	}
	return nil
}

// stopped reports whether nothing more can be done in this visit, for a reason of ours.
func (c *carrier) stopped() bool {
	s := c.Requests.Session
	return s.Waiting.Err() != nil || !s.Lease.Alive() || c.Requests.Lost() || c.bundle.site.Publisher.Lost()
}

// cut is how a dispatch ends whose results cannot be used to their end.
func (c *carrier) cut(err error) *ending {
	end := &ending{state: crawl.DispatchCut, reason: err.Error(), retract: c.results.end == nil}
	switch nothing := c.d.Pages+c.d.Unchanged == 0; {
	case nothing && unusable(err):
		end.state = crawl.DispatchRefused
	case nothing:
		end.state = crawl.DispatchFailed
	}
	return end
}

// unusable reports whether an error is about what the server sent.
func unusable(err error) bool {
	for _, its := range []error{mobile.ErrFrame, mobile.ErrResult, reading.ErrRecord, errBomb, errMany, errAsked, errUseless, errBehind, errFacts, errRange, errOpen, errBroken} {
		if errors.Is(err, its) {
			return true
		}
	}
	return garbled(err)
}

// fetchOnce sends one FETCH and reads its response. end is nil if there may be more; then pause is
// what the server asks for before the next one.
func (c *carrier) fetchOnce() (pause time.Duration, end *ending) {
	if c.results.tail.lost {
		c.results.tail = tail{}
	}
	from := c.d.Offset + int64(len(c.results.tail.octets))
	r := &atp.Request{Method: atp.Fetch, Header: c.agent()}
	r.Header.Set(atp.Range, fmt.Sprintf("octets=%d-", from))
	limits := wire.Talk{Silence: silence, Most: time.Until(c.until), Interrupt: true, Quiet: c.quiet, QuietEvery: publishEvery}
	err := c.exchange(r, limits, func(res *atp.Response) error {
		if res.Status == 200 || res.Status == 206 {
			return c.read(res, from)
		}
		switch end = refusal(res); {
		case res.Status == 404 || res.Status == 416:
			end = &ending{gone: true, status: res.Status}
		case end.wait > maxIdle:
			end = c.leave("the server is busy", end.wait)
		case end.state == crawl.DispatchFailed:
			pause, end = max(end.wait, time.Second), nil
		case c.d.Pages+c.d.Unchanged > 0:
			end.state = crawl.DispatchCut
		}
		return nil
	})
	switch {
	case end != nil:
	case c.results.end != nil:
		end = c.ended(*c.results.end)
	case c.stopped() || err != nil && c.Requests.FailureOf(err).Unsent:
		end = &ending{later: true}
	case err != nil && (unusable(err) || errors.Is(err, errIdle) || errors.Is(err, errLarge)):
		end = c.cut(err)
	}
	return pause, end
}

// ended is how a dispatch ends whose run has ended.
func (c *carrier) ended(s mobile.Summary) *ending {
	switch {
	case s.Outcome != mobile.Done:
		return &ending{state: crawl.DispatchCut, reason: "the robot ended early: " + s.Outcome + ": " + s.Reason}
	case !c.bundle.ended:
		return &ending{state: crawl.DispatchCut, reason: "the robot did not read everything"}
	}
	return &ending{state: crawl.DispatchDone}
}

// read reads the results in a response, from the octet that was asked for.
func (c *carrier) read(res *atp.Response, from int64) error {
	body := &arriving{c: c, from: res.Body}
	switch text := res.Header.Get(atp.ContentRange); {
	case res.Status == 206 && text != "" && !strings.HasPrefix(text, fmt.Sprintf("octets %d-", from)):
		return errRange
	case res.Status == 200 && from > maxDrain:
		return errRange
	case res.Status == 200:
		body.skips = true
		if _, err := io.CopyN(io.Discard, body, from); err != nil {
			return body.blame(err)
		}
		body.skips = false
	}
	all := io.MultiReader(bytes.NewReader(bytes.Clone(c.results.tail.octets)), body)
	s := newStream(all, c.d.Offset, &c.results.budget, c.results.decoder)
	skipped := c.d.Skip
	if _, err := io.CopyN(io.Discard, s, skipped); err != nil {
		return body.blame(err)
	}
	for in := mobile.NewResultReader(s); ; {
		got, err := in.Next()
		if err != nil {
			if err = body.blame(err); err == nil && res.Length == 0 {
				return errOpen // there are no more
			}
			return err
		}
		if got.End != nil {
			c.results.end = got.End
			return nil
		}
		if got.Record != nil {
			c.results.records++
			c.results.last = time.Now()
			if err := c.bundle.take(got.Record); err != nil {
				return err
			}
		}
		before := c.d.Offset
		c.d.Offset, c.d.Skip = s.position(skipped + in.Offset())
		c.results.tail.drop(c.d.Offset - before)
		if c.bundle.due() && !c.publish() {
			return errLost
		}
	}
}

// errLost ends an exchange because nothing can be published any more.
var errLost = errors.New("results cannot be published")

// errBroken means that results cannot be decompressed.
var errBroken = errors.New("the results cannot be decompressed")

// quiet is called while nothing arrives.
func (c *carrier) quiet() {
	if c.bundle.due() {
		c.publish()
	}
}

// publish publishes the records that were read so far, and the position behind them.
func (c *carrier) publish() bool {
	if c.bundle.waiting == 0 {
		return !c.bundle.site.Publisher.Lost()
	}
	return c.report()
}

// report publishes how far the dispatch is.
func (c *carrier) report() bool {
	d := c.d
	d.State = crawl.DispatchRunning
	return c.bundle.publish(&crawl.Answer{Aux: c.Aux, Dispatch: &d})
}

// arriving reads compressed results as they arrive, and ends them at a limit.
type arriving struct {
	c    *carrier
	from io.Reader
	err  error // why they ended; io.EOF: the response is complete

	skips bool // what is read is not needed
}

func (a *arriving) Read(p []byte) (int, error) {
	results := &a.c.results
	switch {
	case time.Since(results.last) >= maxIdle:
		a.err = errIdle
	case results.received >= maxReceived:
		a.err = errLarge
	}
	if a.err != nil {
		return 0, a.err
	}
	n, err := a.from.Read(p)
	results.received += int64(n)
	if !a.skips {
		results.tail.add(p[:n])
	}
	a.err = err
	return n, err
}

// blame returns why results ended, by the error of whoever read them. It is nil if the response was
// complete and only ended too early.
func (a *arriving) blame(err error) error {
	switch {
	case a.err != nil && a.err != io.EOF:
		return a.err
	case errors.Is(err, io.ErrUnexpectedEOF), err == io.EOF:
		return nil
	case errors.Is(err, mobile.ErrFrame), errors.Is(err, mobile.ErrResult), errors.Is(err, errBomb):
		return err
	}
	return fmt.Errorf("%w: %w", errBroken, err) // of the decoder
}
