package dispatch

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/answer"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/internal/mobile"
	"github.com/curtsy/curtsy/internal/mobile/reading"
	"github.com/curtsy/curtsy/pkg/atp"
)

const (
	// silence is how long a server may send and take nothing within an exchange. A server ends a
	// FETCH when nothing new has come for a while.
	silence = time.Minute
	// sending is how long the robot may take to get there.
	sending = 10 * time.Minute
	// ticketLife is how long a server may accept a ticket.
	ticketLife = 10 * time.Minute
	// maxRetryAfter is the longest wait that a server can ask for.
	maxRetryAfter = 7 * 24 * time.Hour
)

// exchange sends one request to the server. read reads the response while the connection is open.
func (c *carrier) exchange(r *atp.Request, limits wire.Talk, read func(*atp.Response) error) error {
	r.URI = c.address.String()
	before := c.Requests.Session.Requests
	talked, err := c.Requests.Talk(c.Aux.URL, limits, func(conn net.Conn) (int, error) {
		client := atp.Client{
			Dial:      func(context.Context, string, string) (net.Conn, error) { return conn, nil },
			Idle:      sending, // the connection has limits of its own
			UserAgent: c.Requests.Config.Header.Get("User-Agent"),
		}
		to := c.address
		to.TLS = false // the connection has it already
		res, err := client.Do(context.Background(), to, r)
		if err != nil {
			return 0, err
		}
		defer res.Body.Close()
		if answer.Overloaded(res.Status) { // whoever is to visit the server next has to know it
			c.Requests.Busy(refusal(res).wait)
		}
		return res.Status, read(res)
	})
	c.d.Requests += c.Requests.Session.Requests - before
	c.d.Sent += talked.Sent
	c.d.Received += talked.Received
	c.Requests.Metrics.DispatchBytes.Add(float64(talked.Sent + talked.Received))
	return err
}

// send sends the robot, and makes the Agent-Id of its run that of the dispatch.
func (c *carrier) send() *ending {
	input, err := c.input()
	if err != nil {
		return &ending{state: crawl.DispatchFailed, reason: err.Error()}
	}
	for _, whole := range []bool{false, true} {
		var end *ending
		missing := false
		body, err := c.body(input, whole)
		if err != nil {
			return &ending{state: crawl.DispatchFailed, reason: err.Error()}
		}
		header := textproto.MIMEHeader{}
		header.Set(atp.ContentType, mobile.ContentType)
		header.Set(atp.ContentEncoding, "gzip")
		header.Set(atp.AgentSystem, "curtsy")
		header.Set(atp.AgentLanguage, "wasm")
		r := &atp.Request{Method: atp.Dispatch, Header: header, Body: bytes.NewReader(body), Length: int64(len(body))}
		err = c.exchange(r, wire.Talk{Silence: silence, Most: sending}, func(res *atp.Response) error {
			id := res.Header.Get(atp.AgentID)
			switch {
			case res.Status == 428 && !whole:
				missing = true
			case res.Status < 200 || res.Status > 299:
				if end = refusal(res); answer.Overloaded(res.Status) {
					c.Requests.End("the server is busy") // for robots of other sites too
				}
			case !atp.ValidAgentID(id):
				end = &ending{state: crawl.DispatchRefused, status: res.Status, reason: "the server accepted the robot, but sent no Agent-Id"}
			default:
				c.d.AgentID = id
			}
			return nil
		})
		if err != nil {
			return c.notReached(err)
		}
		if !missing {
			return end
		}
	}
	return nil // this does not happen: the second response is final
}

// input is what the robot reads as its input.
func (c *carrier) input() ([]byte, error) {
	in := reading.Input{
		Token: c.Requests.Config.Spec().Agent, Want: reading.Pages, Types: c.bundle.site.Pages.MediaTypes(),
		MaxSize: min(max(c.bundle.site.Pages.Largest(), 1), reading.MaxBody), Known: c.bundle.plan.table(),
	}
	if c.bundle.most > 0 {
		in.MaxPages = c.bundle.most
	}
	return in.Encode()
}

// body is the body of a DISPATCH with a ticket that is valid from now on. Without the module it is
// for a server that has it already.
func (c *carrier) body(input []byte, whole bool) ([]byte, error) {
	robot, now := c.Robot, time.Now()
	ticket := mobile.Ticket{
		Host: c.address.String(), Site: c.Aux.Origin.String(), Subtree: c.bundle.subtree, Token: c.Requests.Config.Spec().Agent,
		Module: robot.digest, Input: mobile.Digest(input), NotBefore: now.Unix(), NotAfter: now.Add(ticketLife).Unix(),
	}
	line, signature, err := ticket.Sign(robot.key, rand.Reader)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := mobile.WriteDispatch(&b, line, signature, input); err != nil {
		return nil, err
	}
	packed := gzipped(b.Bytes())
	if whole {
		packed = append(packed, robot.packed()...)
	}
	return packed, nil
}

// retract ends a run that nobody will fetch any more. If it fails, the run ends by itself.
func (c *carrier) retract() {
	if c.d.AgentID == "" || c.Requests.Over() {
		return
	}
	r := &atp.Request{Method: atp.Retract, Header: c.agent()}
	err := c.exchange(r, wire.Talk{Silence: silence / 2, Most: silence}, func(res *atp.Response) error {
		_, err := io.CopyN(io.Discard, res.Body, mobile.MaxPart)
		if err == io.EOF {
			err = nil
		}
		return err
	})
	if err != nil {
		c.Requests.Log.Debug("a run of a mobile robot could not be retracted", "server", c.address.String(), "err", err)
	}
}

// agent is a header that names the run.
func (c *carrier) agent() textproto.MIMEHeader {
	h := textproto.MIMEHeader{}
	h.Set(atp.AgentID, c.d.AgentID)
	return h
}

// refusal is how a dispatch ends that the server does not accept.
func refusal(res *atp.Response) *ending {
	end := &ending{state: crawl.DispatchRefused, status: res.Status, reason: fmt.Sprintf("the server answered %d %s", res.Status, res.Reason)}
	var refused *atp.StatusError
	if errors.As(res.Err(), &refused) {
		end.wait = min(refused.RetryAfter, maxRetryAfter)
	}
	switch s := res.Status; {
	case s == 408, s == 409, s == 429, s >= 500: // it may accept another ticket, later
		end.state = crawl.DispatchFailed
	}
	return end
}

// notReached is how a dispatch ends whose robot did not arrive.
func (c *carrier) notReached(err error) *ending {
	if garbled(err) {
		return &ending{state: crawl.DispatchRefused, reason: "it is no server for mobile robots: " + err.Error()}
	}
	switch fail := c.Requests.FailureOf(err); {
	case fail.Unsent || c.Requests.Session.Waiting.Err() != nil:
		return &ending{later: true}
	case fail.Barred:
		return &ending{state: crawl.DispatchRefused, reason: fail.String()}
	default:
		return &ending{state: crawl.DispatchFailed, reason: fail.String()}
	}
}

// garbled reports whether an error says that a response is not one of ATP.
func garbled(err error) bool {
	return errors.Is(err, atp.ErrMalformed) || errors.Is(err, atp.ErrTooLarge) || errors.Is(err, atp.ErrVersion)
}
