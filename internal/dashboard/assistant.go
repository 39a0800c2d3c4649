package dashboard

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/mcpserver"
)

// mcpPath is where assistants ask, over streamable HTTP.
const mcpPath = "/mcp"

// Assistants asks the crawl as package mcpserver does.
func (a Ask) Assistants() mcpserver.Ask {
	return func(ctx context.Context, do func(context.Context, mcpserver.Crawl) error) error {
		return a(ctx, func(ctx context.Context, c *asker.Crawl) error { return do(ctx, c) })
	}
}

// assistant answers at mcpPath. There the token itself is wanted each time: a browser's cookie is
// for people, and what a program is let in by should not depend on one.
func (w *Web) assistant(rw http.ResponseWriter, r *http.Request) {
	_ = http.NewResponseController(rw).SetReadDeadline(time.Now().Add(waitAtMost))
	if w.o.Token != "" {
		token, given := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		err := errWrongToken
		if given {
			err = w.guess(r, token)
		}
		if err != nil {
			if given {
				w.o.Log.Warn("an assistant was refused", "from", r.RemoteAddr, "why", err)
			}
			status := http.StatusUnauthorized
			if err == errTooMany {
				status = http.StatusTooManyRequests
				rw.Header().Set("Retry-After", "10")
			}
			rw.Header().Set("WWW-Authenticate", `Bearer realm="curtsy"`)
			http.Error(rw, "Send the dashboard's token: Authorization: Bearer TOKEN.", status)
			return
		}
	}
	w.mcp.ServeHTTP(rw, r)
}
