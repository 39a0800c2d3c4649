package agenthost

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/curtsy/curtsy/internal/agenthost/sandbox"
	"github.com/curtsy/curtsy/internal/mobile"
	"github.com/curtsy/curtsy/pkg/atp"
)

// ServeATP answers a request. It implements atp.Handler.
func (h *Host) ServeATP(ctx context.Context, w *atp.ResponseWriter, r *atp.Request) error {
	err := h.answer(ctx, w, r)
	var refusal *atp.StatusError
	if errors.As(err, &refusal) {
		h.metrics.refused(refusal.Status)
		h.log.Info("a request was refused", "client", r.Remote.Addr(), "method", string(r.Method), "status", refusal.Status, "reason", refusal.Reason)
	}
	return err
}

func (h *Host) answer(ctx context.Context, w *atp.ResponseWriter, r *atp.Request) error {
	switch r.Method {
	case atp.Dispatch:
		return h.dispatch(ctx, w, r)
	case atp.Fetch, atp.Message, atp.Retract:
	default:
		return refuse(501, "the methods here are DISPATCH, FETCH, MESSAGE and RETRACT")
	}
	id := r.Header.Get(atp.AgentID)
	if id == "" {
		return refuse(400, "the header Agent-Id is missing; it is in the response to DISPATCH")
	}
	run := h.find(id)
	if run == nil {
		return refuse(404, "there is no such run, or its results were deleted")
	}
	switch r.Method {
	case atp.Fetch:
		return h.fetch(ctx, w, r, run)
	case atp.Retract:
		if run.cancel != nil {
			run.cancel(&sandbox.Ended{Outcome: mobile.Retracted, Reason: "its sender ended it"})
		}
		select {
		case <-run.done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return writeState(w, run.state())
}

func writeState(w *atp.ResponseWriter, s mobile.Summary) error {
	body, err := json.Marshal(s)
	if err != nil {
		return err
	}
	w.Header().Set(atp.ContentType, "application/json")
	if err := w.Start(200, "OK", int64(len(body))); err != nil {
		return err
	}
	_, err = w.Write(body)
	return err
}

// Results may be fetched several times, since connections break, but not endlessly.
const (
	fetchTimes = 4
	fetchMore  = 16 << 20
)

// fetch sends results from an octet on. The response ends when there are no more for a while; the
// stream itself shows whether that is its end.
func (h *Host) fetch(ctx context.Context, w *atp.ResponseWriter, r *atp.Request, run *run) error {
	from, status, reason := int64(0), 200, "OK"
	size, ended, _ := run.results.state()
	if value := r.Header.Get(atp.Range); value != "" {
		var err error
		if from, err = rangeStart(value); err != nil {
			return refuse(400, err.Error())
		}
		status, reason = 206, "Partial Content"
	}
	if from > size {
		return refuse(416, fmt.Sprintf("there are %d octets", size))
	}
	if run.fetched.Load() > fetchTimes*size+fetchMore {
		return refuse(429, fmt.Sprintf("the results were sent %d times already; store what you fetch", fetchTimes))
	}
	length := int64(-1)
	total := "*"
	if ended {
		length, total = size-from, fmt.Sprint(size)
	}
	if status == 206 && length != 0 {
		w.Header().Set(atp.ContentRange, fmt.Sprintf("octets %d-/%s", from, total))
	}
	w.Header().Set(atp.ContentType, mobile.ResultType)
	if err := w.Start(status, reason, length); err != nil {
		return err
	}
	return h.send(ctx, w, run, from)
}

func refuse(status int, reason string) error {
	return &atp.StatusError{Status: status, Reason: reason}
}

func refuseUntil(status int, reason string, wait time.Duration) error {
	return &atp.StatusError{Status: status, Reason: reason, RetryAfter: wait}
}
