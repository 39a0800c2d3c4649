package queue

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func TestUnanswered(t *testing.T) {
	for _, err := range []error{
		nats.ErrNoResponders, jetstream.ErrNoStreamResponse, nats.ErrTimeout, context.DeadlineExceeded, nats.ErrDisconnected, io.ErrClosedPipe,
		&net.OpError{Op: "write", Err: syscall.EPIPE}, &net.OpError{Op: "write", Err: net.ErrClosed},
		&jetstream.APIError{Code: 503, ErrorCode: 10008}, &jetstream.APIError{Code: 503, ErrorCode: 10163}, &jetstream.APIError{Code: 500, ErrorCode: 10009},
	} {
		if !Unanswered(fmt.Errorf("wrapped: %w", err)) {
			t.Errorf("%v is an answer", err)
		}
	}
	for _, err := range []error{
		nil, context.Canceled, errors.New("x"), nats.ErrConnectionClosed, nats.ErrPermissionViolation, jetstream.ErrStreamNotFound,
		jetstream.ErrJetStreamNotEnabled, jetstream.ErrJetStreamNotEnabledForAccount, ErrLost, ErrNoSnapshot,
		&jetstream.APIError{Code: 400, ErrorCode: jetstream.JSErrCodeStreamWrongLastSequence},
		&jetstream.APIError{Code: 500, ErrorCode: codeNoStorage},
	} {
		if Unanswered(err) {
			t.Errorf("%v is no answer", err)
		}
	}
}
