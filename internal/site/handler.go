package site

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/curtsy/curtsy/pkg/rup"
)

// maxRequests is how many requests are answered at once: a report is made in memory.
const maxRequests = 8

// handler serves /rupinfo.txt, the CGI URL, and the page below it on which addresses are confirmed.
func handler(s *rup.Server, cgi *url.URL, confirm http.Handler, count func(status int)) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+rup.InfoPath, s.ServeInfo)
	mux.Handle(cgi.Path, s)
	if confirm != nil {
		mux.Handle(confirmPath(cgi), confirm)
	}
	slots := make(chan struct{}, maxRequests)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		counted := &statusWriter{ResponseWriter: w, status: http.StatusOK}
		defer func() { count(counted.status) }()
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
			mux.ServeHTTP(counted, r)
		case <-time.After(5 * time.Second):
			counted.Header().Set("Retry-After", "60")
			http.Error(counted, "too many requests at once; later, please", http.StatusServiceUnavailable)
		case <-r.Context().Done():
		}
	})
}

func confirmPath(cgi *url.URL) string { return strings.TrimSuffix(cgi.Path, "/") + "/confirm" }

// statusWriter remembers the status of an answer.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// clientOf finds out who asks. Where the request comes from one of the proxies, that is the last address in X-Forwarded-For that is
// none of theirs: what stands before it was written by strangers.
func clientOf(proxies []netip.Prefix) func(*http.Request) netip.Addr {
	ours := func(a netip.Addr) bool {
		return slices.ContainsFunc(proxies, func(p netip.Prefix) bool { return p.Contains(a) })
	}
	return func(r *http.Request) netip.Addr {
		host, _, err := net.SplitHostPort(r.RemoteAddr)
		if err != nil {
			host = r.RemoteAddr
		}
		client, err := netip.ParseAddr(host)
		if err != nil {
			return netip.Addr{}
		}
		client = client.Unmap()
		if !ours(client) {
			return client
		}
		hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
		for _, hop := range slices.Backward(hops) {
			a, err := netip.ParseAddr(strings.TrimSpace(hop))
			if err != nil {
				break
			}
			if client = a.Unmap(); !ours(client) {
				break
			}
		}
		return client
	}
}

func portOf(u *url.URL) int {
	if n, err := strconv.Atoi(u.Port()); err == nil {
		return n
	}
	if u.Scheme == "https" {
		return 443
	}
	return 80
}
