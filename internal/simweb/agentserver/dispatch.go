package agentserver

import (
	"compress/gzip"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/mobile"
	"github.com/curtsy/curtsy/pkg/atp"
	"github.com/curtsy/curtsy/pkg/canon"
)

// dispatch admits a robot as a real host does, and starts it.
func (s *Server) dispatch(w *atp.ResponseWriter, r *atp.Request) error {
	if r.Header.Get(atp.ContentType) != mobile.ContentType || r.Body == nil {
		return refuse(415, "the Content-Type of a robot is "+mobile.ContentType)
	}
	body := r.Body
	switch r.Header.Get(atp.ContentEncoding) {
	case "":
	case "gzip":
		z, err := gzip.NewReader(body)
		if err != nil {
			return refuse(400, err.Error())
		}
		body = z
	default:
		return refuse(415, "the only Content-Encoding is gzip")
	}
	d, err := mobile.ReadDispatch(body)
	if err != nil {
		return refuse(400, err.Error())
	}
	t, err := s.verify(d)
	if err != nil {
		return err
	}
	input, err := d.Input()
	if err != nil {
		return refuse(400, err.Error())
	}
	if mobile.Digest(input) != t.Input {
		return refuse(400, "the input has another digest than the ticket names")
	}
	module, err := io.ReadAll(d.Module())
	if err != nil {
		return refuse(400, err.Error())
	}
	id, err := s.admit(t, module, input)
	if err != nil {
		return err
	}
	if id != "" {
		w.Header().Set(atp.AgentID, id)
	}
	return w.Start(202, "the robot runs", 0)
}

// verify decides whether the holder of a key may do what its ticket says.
func (s *Server) verify(d *mobile.Dispatch) (mobile.Ticket, error) {
	t, err := mobile.Verify(d.Line, d.Signature)
	switch {
	case errors.Is(err, mobile.ErrSignature):
		return t, refuse(401, err.Error())
	case err != nil:
		return t, refuse(400, err.Error())
	case len(s.opt.Keys) > 0 && !slices.Contains(s.opt.Keys, t.Key):
		return t, refuse(401, "the key is not on the allow-list of this host")
	}
	if a, err := atp.ParseAddress(t.Host); err != nil || a != s.opt.Address {
		return t, refuse(403, "the ticket is for another host; this one is "+s.opt.Address.String())
	}
	if t.Site != s.opt.Origin {
		return t, refuse(403, "the ticket is for another site; this one is "+s.opt.Origin)
	}
	if u, err := canon.Parse(t.Site + t.Subtree); err != nil || u.PathQuery() != t.Subtree {
		return t, refuse(403, "the subtree is not in canonical spelling")
	}
	if err := t.ValidAt(time.Now()); err != nil {
		return t, refuse(403, err.Error())
	}
	return t, nil
}

// admit starts a robot, and returns its name.
func (s *Server) admit(t mobile.Ticket, module, input []byte) (id string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case len(module) == 0 && !s.modules[t.Module]:
		return "", refuse(428, "send the module: it is not here")
	case len(module) > 0 && mobile.Digest(module) != t.Module:
		return "", refuse(400, "the module has another digest than the ticket names")
	}
	if len(module) > 0 && !s.modules[t.Module] {
		s.modules[t.Module] = true
		s.counts.Modules++
	}
	if s.busy > 0 || s.running >= s.opt.Slots {
		s.busy = max(s.busy-1, 0)
		return "", &atp.StatusError{Status: 503, Reason: "other robots are running", RetryAfter: s.opt.RetryAfter}
	}
	if s.nonces[t.Nonce] {
		return "", refuse(409, "the ticket was used before")
	}
	s.nonces[t.Nonce] = true
	s.running++
	s.counts.Runs++
	r := newRun(s)
	id = s.name()
	if s.opt.Hostile != WrongID || s.counts.Runs%3 == 0 {
		s.runs[id] = r
	} else if s.counts.Runs%3 == 1 {
		id = strings.Repeat("x", atp.MaxAgent+1)
	} else {
		id = ""
	}
	if s.opt.Hostile == WrongID && s.random.IntN(2) == 0 {
		id = s.name() // nobody knows it
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	r.cancel = cancel
	s.work.Go(func() {
		defer cancel(nil)
		r.execute(ctx, t, input)
	})
	return id, nil
}

// name makes the name of a run.
func (s *Server) name() string {
	b := make([]byte, 16)
	for i := range b {
		b[i] = byte(s.random.Uint32())
	}
	return hex.EncodeToString(b)
}
