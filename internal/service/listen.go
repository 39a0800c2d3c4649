package service

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"syscall"
	"time"

	"github.com/curtsy/curtsy/internal/fair"
)

// portsTried is how many ports Listen tries, beginning with the given one.
const portsTried = 32

// Server is an open port.
type Server struct {
	ln     net.Listener
	log    *slog.Logger
	secure *tls.Config // nil: plain HTTP
}

// Listen opens the port of an address, host:port, or the next free port after it. Port 0 is any.
func Listen(addr string, log *slog.Logger) (*Server, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("listen on %q: %w", addr, err)
	}
	first, err := strconv.Atoi(port)
	if err != nil {
		return nil, fmt.Errorf("listen on %q: %w", addr, err)
	}
	for p := first; ; p++ {
		ln, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(p)))
		if err == nil {
			return &Server{ln: fair.Listener(ln, fair.ListenerOptions{Log: log}), log: log}, nil
		}
		if first == 0 || p == first+portsTried-1 || p == 65535 || !errors.Is(err, syscall.EADDRINUSE) {
			return nil, fmt.Errorf("listen on %s: %w", addr, err)
		}
	}
}

// Secure makes the server use TLS only, with a certificate and key in PEM files. It must be called
// before Run. Without files it does nothing.
func (s *Server) Secure(certFile, keyFile string) error {
	if certFile == "" && keyFile == "" {
		return nil
	}
	cert, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return fmt.Errorf("read the certificate: %w", err)
	}
	s.secure = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	return nil
}

// URL is the address of the server.
func (s *Server) URL() string {
	scheme := "http://"
	if s.secure != nil {
		scheme = "https://"
	}
	addr := s.ln.Addr().(*net.TCPAddr)
	if addr.IP.IsUnspecified() {
		return scheme + "127.0.0.1:" + strconv.Itoa(addr.Port) + "/"
	}
	return scheme + addr.String() + "/"
}

// Loopback reports whether only this machine reaches the server.
func (s *Server) Loopback() bool { return s.ln.Addr().(*net.TCPAddr).IP.IsLoopback() }

// Guarded protects h on a server that only the user of this machine should reach. A web page in the
// user's browser could reach it under a name that resolves to 127.0.0.1. So on loopback it refuses
// requests for names other than localhost.
func (s *Server) Guarded(h http.Handler) http.Handler {
	if !s.Loopback() {
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !local(r.Host) {
			http.Error(w, "use an IP address or localhost", http.StatusForbidden)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// How long a client may take to send the body of a request, and to receive the answer from the
// beginning of the request on. A handler may set other deadlines.
const (
	bodyWithin   = 30 * time.Second
	answerWithin = 2 * time.Minute
)

// timely limits the time for the body of a request. http.Server.ReadTimeout cannot, because it
// would also end the context of a request without a body whose answer takes long.
func timely(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength != 0 { // -1: it is not known
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyWithin))
		}
		h.ServeHTTP(w, r)
	})
}

// Run serves h until ctx ends. The contexts of requests end with it too.
func (s *Server) Run(ctx context.Context, h http.Handler) error {
	// Not HTTP/2: one connection has hundreds of requests at once there, beyond all limits of
	// connections, and strangers reach its code before any token.
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	srv := &http.Server{
		Protocols:         protocols,
		Handler:           timely(h),
		BaseContext:       func(net.Listener) context.Context { return ctx },
		TLSConfig:         s.secure,
		ReadHeaderTimeout: 10 * time.Second,
		WriteTimeout:      answerWithin,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	stopped := make(chan struct{})
	unhook := context.AfterFunc(ctx, func() {
		defer close(stopped)
		grace, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if srv.Shutdown(grace) != nil {
			srv.Close() // a running profile must not delay the end
		}
	})
	serve := func() error { return srv.Serve(s.ln) }
	if s.secure != nil {
		serve = func() error { return srv.ServeTLS(s.ln, "", "") }
	}
	err := serve()
	if errors.Is(err, http.ErrServerClosed) && !unhook() {
		<-stopped
		return nil
	}
	return fmt.Errorf("serve %s: %w", s.URL(), err)
}

// Close closes the port of a server whose Run was not called.
func (s *Server) Close() error { return s.ln.Close() }

func local(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = hostport
	}
	if host == "localhost" {
		return true
	}
	_, err = netip.ParseAddr(host)
	return err == nil
}
