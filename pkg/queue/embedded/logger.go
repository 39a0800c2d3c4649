package embedded

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
)

// logger forwards the server's messages to slog. It collects the warnings and errors of the start,
// because the server continues without a stream that it cannot read and only logs that.
type logger struct {
	log    *slog.Logger
	fatal  chan string // the first fatal message; capacity 1
	broken chan string // receives the message when a failed write has ended a stream; capacity 1

	mu       sync.Mutex // guards the fields below
	started  bool
	troubles []string // warnings and errors of the start
}

func (l *logger) Noticef(format string, v ...any) { l.log.Debug(fmt.Sprintf(format, v...)) }
func (l *logger) Debugf(format string, v ...any)  { l.log.Debug(fmt.Sprintf(format, v...)) }
func (l *logger) Tracef(format string, v ...any)  {}

func (l *logger) Warnf(format string, v ...any) {
	what := fmt.Sprintf(format, v...)
	// Our password is random and exists only in memory; hashing it would cost 100 ms for each
	// client. So this warning does not matter, and it must not appear in the error about a damaged
	// store.
	if strings.HasPrefix(format, "Plaintext passwords") {
		l.log.Debug(what)
		return
	}
	l.trouble(slog.LevelWarn, what)
}

func (l *logger) Errorf(format string, v ...any) {
	l.trouble(slog.LevelError, fmt.Sprintf(format, v...))
}

func (l *logger) Fatalf(format string, v ...any) {
	what := fmt.Sprintf(format, v...)
	l.trouble(slog.LevelError, what)
	select {
	case l.fatal <- what:
	default:
	}
}

func (l *logger) trouble(level slog.Level, what string) {
	l.mu.Lock()
	if !l.started && len(l.troubles) < 100 {
		l.troubles = append(l.troubles, what)
	}
	l.mu.Unlock()
	if isBroken(what) {
		select {
		case l.broken <- what:
		default:
		}
	}
	l.log.Log(context.Background(), level, what)
}

// isBroken reports whether a message of the server means that it has stopped storing. A stream or
// consumer whose store could not be written stays unusable, and after some of these errors the
// server shuts down all of JetStream.
func isBroken(what string) bool {
	what = strings.ToLower(what)
	return strings.Contains(what, "critical write error") || strings.Contains(what, "disabling jetstream") ||
		strings.Contains(what, "will be disabled")
}

// settled marks the end of the start.
func (l *logger) settled() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.started, l.troubles = true, nil
}

func (l *logger) startTroubles() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.troubles...)
}
