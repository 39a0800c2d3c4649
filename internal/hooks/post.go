package hooks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/backoff"
	"github.com/curtsy/curtsy/internal/version"
)

const (
	// attempts is how often a request is sent in all, with pauses that grow from leastPause to
	// mostPause: about a minute and a half together.
	attempts   = 5
	leastPause = 2 * time.Second
	mostPause  = time.Minute
	// answerWithin limits one attempt.
	answerWithin = 30 * time.Second
)

// IsURL reports whether a hook is a URL. Otherwise it is a command.
func IsURL(hook string) bool {
	return strings.HasPrefix(hook, "http://") || strings.HasPrefix(hook, "https://")
}

// Problem says what is wrong with a hook, and what would be accepted; "" if nothing is.
func Problem(hook string) string {
	if !IsURL(hook) {
		return commandProblem(hook)
	}
	if u, err := url.Parse(hook); err != nil || u.Host == "" || u.Fragment != "" {
		return "is not a URL; use for example https://example.org/hooks/crawl"
	}
	return ""
}

// errRefused is an answer after which another attempt would be useless.
var errRefused = errors.New("refused")

// post sends a report to a URL until it is accepted, a few times. The URL may contain a secret, so
// only its host is logged.
func (h *Hooks) post(ctx context.Context, log *slog.Logger, target string, body []byte) error {
	client := &http.Client{Transport: h.opt.Transport, Timeout: answerWithin}
	pause := backoff.Delay{Least: leastPause, Most: mostPause}
	for n := 1; ; n++ {
		err := attempt(ctx, client, target, body)
		if err == nil || n == attempts || errors.Is(err, errRefused) {
			return err
		}
		log.Warn("the hook did not answer as it should; trying again", "attempt", n, "err", err)
		if pause.Sleep(ctx) != nil {
			return err
		}
	}
}

func attempt(ctx context.Context, client *http.Client, target string, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("%w: the URL cannot be used", errRefused)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "curtsy/"+version.Product())
	resp, err := client.Do(req)
	if err != nil {
		if inner := (*url.Error)(nil); errors.As(err, &inner) {
			err = inner.Err // without the URL
		}
		return fmt.Errorf("%s: %w", req.URL.Host, err)
	}
	defer resp.Body.Close()
	// So that the connection can be kept.
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10))
	switch code := resp.StatusCode; {
	case code/100 == 2:
		return nil
	case code/100 == 4 && code != http.StatusRequestTimeout && code != http.StatusTooManyRequests:
		return fmt.Errorf("%w: %s answered with status %d", errRefused, req.URL.Host, code)
	default:
		return fmt.Errorf("%s answered with status %d", req.URL.Host, code)
	}
}
