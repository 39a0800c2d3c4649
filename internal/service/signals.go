package service

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// Signals returns a context that ends at the first interrupt or SIGTERM. After that, signals have
// their usual effect: a second ^C ends the process at once.
func Signals(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(parent, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}
