package agenthost

import (
	"compress/flate"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/curtsy/curtsy/internal/mobile"
	"github.com/curtsy/curtsy/pkg/atp"
)

// dispatch admits a robot and starts it. The body is read only as far as what was read before
// allows: a stranger makes the host read a ticket, and nothing else.
func (h *Host) dispatch(ctx context.Context, w *atp.ResponseWriter, r *atp.Request) error {
	if r.Header.Get(atp.ContentType) != mobile.ContentType {
		return refuse(415, "the Content-Type of a robot is "+mobile.ContentType)
	}
	if r.Body == nil || r.Length == 0 {
		return refuse(400, "the body is missing")
	}
	body := r.Body
	switch encoding := r.Header.Get(atp.ContentEncoding); encoding {
	case "":
	case "gzip":
		z, err := gzip.NewReader(body)
		if err != nil {
			return badBody(err)
		}
		body = z
	default:
		return refuse(415, "the only Content-Encoding is gzip")
	}
	d, err := mobile.ReadDispatch(body)
	if err != nil {
		return badBody(err)
	}
	t, robot, err := h.verify(d)
	if err != nil {
		return err
	}
	if err := r.Extend(receiveModule); err != nil {
		return err
	}
	input, err := d.Input()
	if err != nil {
		return badBody(err)
	}
	if mobile.Digest(input) != t.Input {
		return refuse(400, "the input has another digest than the ticket names")
	}
	module, err := h.modules.take(t.Module, d.Module())
	var path *os.PathError
	switch {
	case errors.Is(err, errNoModule):
		return refuse(428, "send the module: it is not here")
	case errors.Is(err, errDigest):
		return refuse(400, err.Error())
	case errors.As(err, &path):
		return err
	case err != nil:
		return badBody(err)
	}
	run := &run{input: input, module: module}
	if err := h.admit(ctx, run, t, robot, r); err != nil {
		return errors.Join(err, module.Close())
	}
	h.log.Info("a robot begins", "robot", robot.Name, "client", r.Remote.Addr(), "subtree", t.Subtree, "token", t.Token)
	id := run.ID
	h.start(run)
	w.Header().Set(atp.AgentID, id)
	return w.Start(202, "the robot runs", 0)
}

// badBody is the response to a body that cannot be read.
func badBody(err error) error {
	var corrupt flate.CorruptInputError
	if errors.As(err, &corrupt) || errors.Is(err, mobile.ErrDispatch) || errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) {
		return refuse(400, err.Error())
	}
	// A body that was cut, or a time that is over: the server knows the status.
	return err
}

// verify decides whether the holder of a key may do what its ticket says.
func (h *Host) verify(d *mobile.Dispatch) (mobile.Ticket, *Robot, error) {
	t, err := mobile.Verify(d.Line, d.Signature)
	switch {
	case errors.Is(err, mobile.ErrSignature):
		return t, nil, refuse(401, err.Error())
	case err != nil:
		return t, nil, refuse(400, err.Error())
	}
	robot, ok := h.p.allowed[t.Key]
	if !ok {
		return t, nil, refuse(401, "the key is not on the allow-list of this host; ask the owner of the site")
	}
	if a, err := atp.ParseAddress(t.Host); err != nil || a != h.p.address {
		return t, nil, refuse(403, fmt.Sprintf("the ticket is for another host; this one is %s", h.p.address))
	}
	if t.Site != h.p.origin.String() {
		return t, nil, refuse(403, fmt.Sprintf("the ticket is for another site; this one is %s", h.p.origin))
	}
	if !isSubtree(t.Subtree) || !robot.mayRead(t.Subtree) {
		return t, nil, refuse(403, fmt.Sprintf("the key may read %q, not %q", robot.Subtrees, t.Subtree))
	}
	if err := t.ValidAt(time.Now()); err != nil {
		return t, nil, refuse(403, err.Error())
	}
	return t, &robot, nil
}

// admit takes a slot, opens what the run needs and counts it. If it fails, nothing was counted.
func (h *Host) admit(ctx context.Context, run *run, t mobile.Ticket, robot *Robot, r *atp.Request) (err error) {
	select {
	case h.slots <- struct{}{}:
	default:
		return refuseUntil(503, "other robots are running", 30*time.Second)
	}
	defer func() {
		if err != nil {
			<-h.slots
		}
	}()
	run.record = record{
		ID: newID(), Robot: robot.Name, Key: robot.Key, Client: r.Remote.Addr().String(), Subtree: t.Subtree, Token: t.Token,
		Reserved: Quota{Runs: 1, Read: min(h.p.Read, robot.Quota.Read), Sent: min(h.p.Sent, robot.Quota.Sent), CPU: min(h.p.CPU, robot.Quota.CPU).Truncate(time.Second)},
	}
	if run.docs, err = openDocuments(ctx, h.p, t.Subtree, t.Token); errors.Is(err, mobile.NotFound) || errors.Is(err, mobile.Forbidden) {
		return refuse(403, "there is no directory "+t.Subtree)
	} else if err != nil {
		return err
	}
	if run.results, err = createResults(h.resultsName(run.ID), run.Reserved.Sent); err != nil {
		run.docs.close()
		return err
	}
	now := time.Now()
	if err = h.store.admit(now, t, robot.Quota, &run.record); err == nil {
		return nil
	}
	run.docs.close()
	discard := errors.Join(run.results.encoder.Close(), run.results.file.Close(), os.Remove(h.resultsName(run.ID)))
	var over *exceeded
	switch {
	case errors.Is(err, errReplayed):
		return refuse(409, err.Error())
	case errors.As(err, &over):
		return refuseUntil(429, over.Error(), over.until.Sub(now))
	}
	return errors.Join(err, discard)
}
