package atp_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"net/textproto"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/pkg/atp"
)

var place = atp.Address{Host: "fict.example", Port: atp.Port}

// serve runs a server until the test ends and returns its network.
func serve(t *testing.T, s *atp.Server) *pipes {
	t.Helper()
	p := newPipes()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- s.Serve(ctx, p) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return p
}

// exchange sends octets as they are and returns all of the answer.
func exchange(t *testing.T, p *pipes, request string) string {
	t.Helper()
	conn, err := p.DialContext(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	go func() { _, _ = io.WriteString(conn, request) }()
	answer, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	return string(answer)
}

func echo(_ context.Context, w *atp.ResponseWriter, r *atp.Request) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	w.Header().Set(atp.AgentID, r.Header.Get(atp.AgentID))
	w.Header().Set(atp.Date, "Fri, 27 Nov 2026 12:00:00 UTC")
	if err := w.Start(200, "OK", int64(len(body))); err != nil {
		return err
	}
	_, err = w.Write(body)
	return err
}

func TestExchange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := serve(t, &atp.Server{Handler: atp.HandlerFunc(func(ctx context.Context, w *atp.ResponseWriter, r *atp.Request) error {
			if r.Method != atp.Message || r.URI != "/box" || r.Remote != p0 {
				t.Errorf("got %s %s from %v", r.Method, r.URI, r.Remote)
			}
			if got := r.Header.Get(atp.UserAgent); got != "Curtsy/1" {
				t.Errorf("User-Agent %q", got)
			}
			return echo(ctx, w, r)
		})})
		c := &atp.Client{Dial: p.DialContext, UserAgent: "Curtsy/1"}
		body := strings.Repeat("0123456789", 10_000)
		res, err := c.Do(t.Context(), place, &atp.Request{
			Method: atp.Message, URI: "/box", Header: textproto.MIMEHeader{atp.AgentID: {"a1"}},
			Body: strings.NewReader(body), Length: int64(len(body)),
		})
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		got, err := io.ReadAll(res.Body)
		if err != nil || string(got) != body {
			t.Errorf("a body of %d octets came as %d: %v", len(body), len(got), err)
		}
		if res.Err() != nil || res.Header.Get(atp.AgentID) != "a1" || res.Length != int64(len(body)) {
			t.Errorf("got %v %v, %d octets", res.Err(), res.Header, res.Length)
		}
	})
}

var p0 = netip.MustParseAddrPort("192.0.2.1:4000")

// TestWire pins the octets of both directions.
func TestWire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := serve(t, &atp.Server{Handler: atp.HandlerFunc(echo)})
		const want = "ATP/0.1 200 OK\r\nAgent-Id: x\r\nContent-Length: 5\r\nDate: Fri, 27 Nov 2026 12:00:00 UTC\r\n\r\nhello"
		for _, request := range []string{
			"MESSAGE / ATP/0.1\r\nAgent-Id: x\r\nContent-Length: 5\r\n\r\nhello",
			"MESSAGE / ATP/0.1\nagent-id:x\ncontent-length:   5  \n\nhello",
			"MESSAGE / ATP/0.9\r\nAgent-Id:\r\n x\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello and more",
			"MESSAGE atp://fict.example/ ATP/0.1\r\nAgent-Id: x\r\nContent-Length: 5\r\n\r\nhello",
		} {
			if got := exchange(t, p, request); got != want {
				t.Errorf("%q was answered with\n%q, want\n%q", request, got, want)
			}
		}
		sent := make(chan string, 1)
		c := &atp.Client{From: "robots@example.org", Dial: func(context.Context, string, string) (net.Conn, error) {
			client, server := net.Pipe()
			go func() {
				var all bytes.Buffer
				for !bytes.HasSuffix(all.Bytes(), []byte("abc")) {
					if _, err := io.CopyN(&all, server, 1); err != nil {
						break
					}
				}
				sent <- all.String()
				_, _ = io.WriteString(server, "ATP/0.1 202\r\n\r\n")
				_ = server.Close()
			}()
			return client, nil
		}}
		res, err := c.Do(t.Context(), place, &atp.Request{Method: atp.Dispatch, Body: strings.NewReader("abcdef"), Length: 3})
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if got, want := <-sent, "DISPATCH atp://fict.example ATP/0.1\r\nContent-Length: 3\r\nFrom: robots@example.org\r\n\r\nabc"; got != want {
			t.Errorf("sent %q, want %q", got, want)
		}
		if res.Status != 202 || res.Length != -1 {
			t.Errorf("got %d, %d octets", res.Status, res.Length)
		}
	})
}

// TestRefused has every kind of request that is refused before a handler sees it.
func TestRefused(t *testing.T) {
	field := "X: " + strings.Repeat("v", 100) + "\r\n"
	for _, c := range []struct {
		name, request string
		status        int
	}{
		{"no version", "FETCH /\r\n\r\n", 400},
		{"another protocol", "GET / HTTP/1.1\r\n\r\n", 400},
		{"a later major version", "FETCH / ATP/1.0\r\n\r\n", 505},
		{"no method", " / ATP/0.1\r\n\r\n", 400},
		{"a method that is no token", "FE(TCH / ATP/0.1\r\n\r\n", 400},
		{"two blanks", "FETCH  / ATP/0.1\r\n\r\n", 400},
		{"a relative URI", "FETCH x ATP/0.1\r\n\r\n", 400},
		{"a URI of another scheme", "FETCH http://a/ ATP/0.1\r\n\r\n", 400},
		{"a URI that is not ASCII", "FETCH /ä ATP/0.1\r\n\r\n", 400},
		{"an empty first line", "\r\nFETCH / ATP/0.1\r\n\r\n", 400},
		{"a header line without a colon", "FETCH / ATP/0.1\r\nagent\r\n\r\n", 400},
		{"a blank before the colon", "FETCH / ATP/0.1\r\nFrom : x\r\n\r\n", 400},
		{"a continuation of nothing", "FETCH / ATP/0.1\r\n x\r\n\r\n", 400},
		{"a lone CR", "FETCH / ATP/0.1\r\nA: b\rc\r\n\r\n", 400},
		{"a negative length", "FETCH / ATP/0.1\r\nContent-Length: -1\r\n\r\n", 400},
		{"lengths that differ", "FETCH / ATP/0.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n1", 400},
		{"the longest body", "FETCH / ATP/0.1\r\nContent-Length: 10\r\n\r\n0123456789", 200},
		{"a longer body", "FETCH / ATP/0.1\r\nContent-Length: 11\r\n\r\n", 413},
		{"the longest URI", "FETCH /" + strings.Repeat("u", atp.MaxURI-1) + " ATP/0.1\r\n\r\n", 200},
		{"a longer URI", "FETCH /" + strings.Repeat("u", atp.MaxURI) + " ATP/0.1\r\n\r\n", 413},
		{"the longest line", "FETCH / ATP/0.1\r\nX: " + strings.Repeat("v", atp.MaxLine-5) + "\r\n\r\n", 200},
		{"a longer line", "FETCH / ATP/0.1\r\nX: " + strings.Repeat("v", atp.MaxLine-4) + "\r\n\r\n", 413},
		{"a longer line in parts", "FETCH / ATP/0.1\r\nX: v\r\n " + strings.Repeat("v", atp.MaxLine-5) + "\r\n\r\n", 413},
		{"as many lines as may be", "FETCH / ATP/0.1\r\n" + strings.Repeat(field, atp.MaxFields) + "\r\n", 200},
		{"a line more", "FETCH / ATP/0.1\r\n" + strings.Repeat(field, atp.MaxFields+1) + "\r\n", 413},
		{"the largest head", "FETCH / ATP/0.1\r\n" + fill(atp.MaxHead-19) + "\r\n", 200},
		{"a larger head", "FETCH / ATP/0.1\r\n" + fill(atp.MaxHead-18) + "\r\n", 413},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := serve(t, &atp.Server{MaxBody: 10, Handler: atp.HandlerFunc(echo)})
				got := exchange(t, p, c.request)
				if want := fmt.Sprintf("ATP/0.1 %d ", c.status); !strings.HasPrefix(got, want) {
					t.Errorf("answered %.100q, want %s", got, want)
				}
			})
		})
	}
}

// fill is header lines of n octets together.
func fill(n int) string {
	var b strings.Builder
	for n > 0 {
		k := min(n, 2000)
		if n-k > 0 && n-k < 10 {
			k -= 10
		}
		b.WriteString("X: " + strings.Repeat("v", k-5) + "\r\n")
		n -= k
	}
	return b.String()
}

// TestSlowRequest has a client that sends an octet every few seconds. It is answered when the time
// for a request is over, and its connection is closed.
func TestSlowRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := serve(t, &atp.Server{Handler: atp.HandlerFunc(echo)})
		conn, err := p.DialContext(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		sent := make(chan struct{})
		defer func() { _ = conn.Close(); <-sent }()
		go func() {
			defer close(sent)
			for _, c := range []byte("FETCH /" + strings.Repeat("x", 1000)) {
				if _, err := conn.Write([]byte{c}); err != nil {
					return
				}
				time.Sleep(5 * time.Second)
			}
		}()
		began := time.Now()
		answer, err := io.ReadAll(conn)
		if err != nil || !strings.HasPrefix(string(answer), "ATP/0.1 408 ") {
			t.Errorf("answered %q, %v", answer, err)
		}
		if took := time.Since(began); took != time.Minute {
			t.Errorf("after %v, want a minute", took)
		}
	})
}

// TestExtend has a client that takes ten minutes for its body. It may, if the handler allows it.
func TestExtend(t *testing.T) {
	for extended, status := range map[bool]string{false: "ATP/0.1 408 ", true: "ATP/0.1 200 "} {
		synctest.Test(t, func(t *testing.T) {
			p := serve(t, &atp.Server{Handler: atp.HandlerFunc(func(ctx context.Context, w *atp.ResponseWriter, r *atp.Request) error {
				if extended {
					if err := r.Extend(time.Hour); err != nil {
						return err
					}
				}
				return echo(ctx, w, r)
			})})
			conn, err := p.DialContext(t.Context(), "", "")
			if err != nil {
				t.Fatal(err)
			}
			sent := make(chan struct{})
			defer func() { _ = conn.Close(); <-sent }()
			go func() {
				defer close(sent)
				_, err := io.WriteString(conn, "DISPATCH / ATP/0.1\r\nContent-Length: 10\r\n\r\n")
				for i := 0; i < 10 && err == nil; i++ { // it fails when the server has given up
					time.Sleep(time.Minute - time.Second)
					_, err = io.WriteString(conn, "x")
				}
			}()
			answer, err := io.ReadAll(conn)
			if err != nil || !strings.HasPrefix(string(answer), status) {
				t.Errorf("extended: %v: answered %q, %v", extended, answer, err)
			}
		})
	}
}

// TestEarlyConnection: a connection past the limit is served when another one ends soon.
func TestEarlyConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := serve(t, &atp.Server{PerAddr: 1, Handler: atp.HandlerFunc(echo)})
		first, err := p.DialContext(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		time.AfterFunc(time.Second/2, func() { _ = first.Close() })
		if answer := exchange(t, p, "FETCH / ATP/0.1\r\n\r\n"); !strings.HasPrefix(answer, "ATP/0.1 200 ") {
			t.Errorf("answered %q", answer)
		}
	})
}

// TestSlowReader has a client that takes nothing of a long response.
func TestSlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failed := make(chan error, 1)
		p := serve(t, &atp.Server{Handler: atp.HandlerFunc(func(_ context.Context, w *atp.ResponseWriter, _ *atp.Request) error {
			_, err := w.Write(make([]byte, 1<<20))
			failed <- err
			return err
		})})
		conn, err := p.DialContext(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		began := time.Now()
		if _, err := io.WriteString(conn, "FETCH / ATP/0.1\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if err := <-failed; err == nil || time.Since(began) != atp.DefaultIdle {
			t.Errorf("the handler got %v after %v", err, time.Since(began))
		}
	})
}

// TestClientTimes has servers that are silent, and a context that ends within a body.
func TestClientTimes(t *testing.T) {
	silent := func(answer string) *atp.Client {
		return &atp.Client{Idle: 20 * time.Second, Dial: func(context.Context, string, string) (net.Conn, error) {
			client, server := net.Pipe()
			go func() {
				_, _ = io.CopyN(io.Discard, server, int64(len("FETCH atp://fict.example ATP/0.1\r\n\r\n")))
				_, _ = io.WriteString(server, answer)
			}()
			return client, nil
		}}
	}
	t.Run("no answer", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			_, err := silent("").Do(t.Context(), place, &atp.Request{Method: atp.Fetch})
			var timeout net.Error
			if !errors.As(err, &timeout) || !timeout.Timeout() || time.Since(began) != 20*time.Second {
				t.Errorf("%v after %v", err, time.Since(began))
			}
		})
	})
	t.Run("the context ends", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			res, err := silent("ATP/0.1 200 OK\r\nContent-Length: 3\r\n\r\na").Do(ctx, place, &atp.Request{Method: atp.Fetch})
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			if _, err := io.ReadAll(res.Body); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v", err)
			}
		})
	})
}

// TestResponses has responses that a client refuses or cuts.
func TestResponses(t *testing.T) {
	for _, c := range []struct {
		name, answer string
		err          error
		body         error
	}{
		{"nothing", "", io.ErrUnexpectedEOF, nil},
		{"half a head", "ATP/0.1 200 OK\r\nA: b\r\n", io.ErrUnexpectedEOF, nil},
		{"another protocol", "HTTP/1.1 200 OK\r\n\r\n", atp.ErrMalformed, nil},
		{"a later version", "ATP/2.0 200 OK\r\n\r\n", atp.ErrVersion, nil},
		{"a status of four digits", "ATP/0.1 2000 OK\r\n\r\n", atp.ErrMalformed, nil},
		{"a status of 600", "ATP/0.1 600 OK\r\n\r\n", atp.ErrMalformed, nil},
		{"an endless head", "ATP/0.1 200 OK\r\n" + strings.Repeat("A: "+strings.Repeat("b", 1000)+"\r\n", 30), atp.ErrTooLarge, nil},
		{"a cut body", "ATP/0.1 200 OK\r\nContent-Length: 4\r\n\r\nabc", nil, io.ErrUnexpectedEOF},
		{"a body that ends with the connection", "ATP/0.1 200 OK\r\n\r\nabc", nil, nil},
		{"a body longer than its length", "ATP/0.1 200 OK\r\nContent-Length: 3\r\n\r\nabcd", nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := &atp.Client{Dial: func(context.Context, string, string) (net.Conn, error) {
					client, server := net.Pipe()
					go func() {
						_, _ = io.CopyN(io.Discard, server, int64(len("FETCH atp://fict.example ATP/0.1\r\n\r\n")))
						_, _ = io.WriteString(server, c.answer)
						_ = server.Close()
					}()
					return client, nil
				}}
				res, err := client.Do(t.Context(), place, &atp.Request{Method: atp.Fetch})
				if !errors.Is(err, c.err) {
					t.Fatalf("got %v, want %v", err, c.err)
				}
				if err != nil {
					return
				}
				defer res.Body.Close()
				got, err := io.ReadAll(res.Body)
				if !errors.Is(err, c.body) || string(got) != "abc" {
					t.Errorf("body %q, %v, want %v", got, err, c.body)
				}
			})
		})
	}
}

func TestUnsendable(t *testing.T) {
	c := &atp.Client{Dial: func(context.Context, string, string) (net.Conn, error) {
		t.Error("a connection was opened")
		return nil, errors.New("none")
	}}
	long := strings.Repeat("x", atp.MaxLine)
	for name, r := range map[string]*atp.Request{
		"method":     {Method: "A B"},
		"URI":        {Method: atp.Fetch, URI: "/a b"},
		"long URI":   {Method: atp.Fetch, URI: "/" + long},
		"field name": {Method: atp.Fetch, Header: textproto.MIMEHeader{"A:": {"b"}}},
		"two lines":  {Method: atp.Fetch, Header: textproto.MIMEHeader{"A": {"b\r\nC: d"}}},
		"long field": {Method: atp.Fetch, Header: textproto.MIMEHeader{"A": {long}}},
		"many fields": {Method: atp.Fetch, Header: textproto.MIMEHeader{
			"A": strings.Split(strings.Repeat("x,", atp.MaxFields), ",")}},
	} {
		if _, err := c.Do(t.Context(), place, r); !errors.Is(err, atp.ErrMalformed) && !errors.Is(err, atp.ErrTooLarge) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestConnectionLimits has one client too many of one address, and too many of all.
func TestConnectionLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := serve(t, &atp.Server{PerAddr: 2, Conns: 3, Handler: atp.HandlerFunc(echo)})
		open := func(from string) net.Conn {
			conn, err := p.dial(t.Context(), netip.MustParseAddrPort(from))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = conn.Close() })
			synctest.Wait()
			return conn
		}
		refused := func(conn net.Conn) {
			t.Helper()
			answer, _ := io.ReadAll(conn)
			if !strings.Contains(string(answer), "ATP/0.1 503 ") || !strings.Contains(string(answer), "Retry-After: 10\r\n") {
				t.Errorf("answered %q, want a refusal", answer)
			}
		}
		first := open("[2001:db8::1]:1")
		open("[2001:db8::2]:1") // the same /64
		refused(open("[2001:db8::3]:1"))
		open("192.0.2.1:1")
		refused(open("192.0.2.2:1"))
		_ = first.Close()
		synctest.Wait()
		admitted := open("192.0.2.2:1")
		if _, err := io.WriteString(admitted, "FETCH / ATP/0.1\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if answer, _ := io.ReadAll(admitted); !strings.HasPrefix(string(answer), "ATP/0.1 200 ") {
			t.Errorf("answered %q", answer)
		}
	})
}

// TestHandlerErrors has what a client is sent when a handler fails.
func TestHandlerErrors(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"a refusal", fmt.Errorf("admission: %w", &atp.StatusError{Status: 429, Reason: "one run a day\n", RetryAfter: 1500 * time.Millisecond}), "ATP/0.1 429 one run a day \r\n"},
		{"another error", errors.New("secret"), "ATP/0.1 500 an internal error happened\r\n"},
		{"none", nil, "ATP/0.1 200 OK\r\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := serve(t, &atp.Server{Handler: atp.HandlerFunc(func(context.Context, *atp.ResponseWriter, *atp.Request) error { return c.err })})
				client := &atp.Client{Dial: p.DialContext}
				got := exchange(t, p, "RETRACT / ATP/0.1\r\n\r\n")
				if !strings.HasPrefix(got, c.want) || strings.Contains(got, "secret") {
					t.Errorf("answered %q, want %q", got, c.want)
				}
				res, err := client.Do(t.Context(), place, &atp.Request{Method: atp.Retract})
				if err != nil {
					t.Fatal(err)
				}
				defer res.Body.Close()
				var status *atp.StatusError
				if errors.As(res.Err(), &status) != (c.err != nil) || status != nil && status.Status == 429 && status.RetryAfter != 2*time.Second {
					t.Errorf("got %+v", status)
				}
			})
		})
	}
}

// TestBodyLength has handlers that promise another length than they write.
func TestBodyLength(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var wrote error
		p := serve(t, &atp.Server{Handler: atp.HandlerFunc(func(_ context.Context, w *atp.ResponseWriter, _ *atp.Request) error {
			if err := w.Start(200, "OK", 3); err != nil {
				return err
			}
			if w.Start(200, "OK", 3) == nil {
				t.Error("a response was started twice")
			}
			_, wrote = w.Write([]byte("abcd"))
			_, _ = w.Write([]byte("ab"))
			return nil
		})})
		res, err := (&atp.Client{Dial: p.DialContext}).Do(t.Context(), place, &atp.Request{Method: atp.Fetch})
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if got, err := io.ReadAll(res.Body); string(got) != "ab" || !errors.Is(err, io.ErrUnexpectedEOF) || wrote == nil {
			t.Errorf("got %q, %v; the longer write: %v", got, err, wrote)
		}
	})
}

func TestAddress(t *testing.T) {
	for _, c := range []struct{ in, out, dial string }{
		{"atp://www.fict.org", "atp://www.fict.org", "www.fict.org:434"},
		{"ATP://WWW.fict.org:434", "atp://www.fict.org", "www.fict.org:434"},
		{"atp://www.fict.org:8001/place", "atp://www.fict.org:8001/place", "www.fict.org:8001"},
		{"atps://fict.org", "atps://fict.org", "fict.org:435"},
		{"atps://fict.org:434", "atps://fict.org:434", "fict.org:434"},
		{"atp://[2001:db8::1]", "atp://[2001:db8::1]", "[2001:db8::1]:434"},
		{"atp://[2001:db8::1]:10434", "atp://[2001:db8::1]:10434", "[2001:db8::1]:10434"},
		{"", "", ""}, {"http://a", "", ""}, {"atp:a", "", ""}, {"atp://", "", ""}, {"atp://:434", "", ""},
		{"atp://u@a", "", ""}, {"atp://a?b", "", ""}, {"atp://a?", "", ""}, {"atp://a#", "", ""}, {"atp://a#b", "", ""},
		{"atp://a:0", "", ""}, {"atp://a:65536", "", ""}, {"atp://a:x", "", ""},
		{"atp://::1", "", ""}, {"atp://[::1%25lo]", "", ""}, {"atp://[a]", "", ""}, {"atp://a%41", "", ""}, {"atp://ä", "", ""},
		{"atp://" + strings.Repeat("a", atp.MaxURI), "", ""},
	} {
		a, err := atp.ParseAddress(c.in)
		if (err != nil) != (c.out == "") || err == nil && (a.String() != c.out || a.HostPort() != c.dial) {
			t.Errorf("%.50q: %+v, %v", c.in, a, err)
		}
	}
}

func TestValidAgentID(t *testing.T) {
	for id, want := range map[string]bool{
		"a": true, "Az09._-": true, strings.Repeat("a", atp.MaxAgent): true,
		"": false, "a/b": false, "a b": false, "ä": false, strings.Repeat("a", atp.MaxAgent+1): false,
	} {
		if got := atp.ValidAgentID(id); got != want {
			t.Errorf("%.20q: %v", id, got)
		}
	}
}
