package response

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// read reads a whole response.
func read(raw string) (h *Head, body string, b *Body, err error) {
	br := bufio.NewReader(strings.NewReader(raw))
	if h, err = ReadHead(br, 1<<10); err != nil {
		return nil, "", nil, err
	}
	b = h.Body(br)
	got, err := io.ReadAll(b)
	return h, string(got), b, err
}

// Lines that cannot be read cost only themselves, and the connection.
func TestOddHeads(t *testing.T) {
	const plain = "HTTP/1.1 200 OK\r\nRetry-After: 6\r\nContent-Length: 5\r\n\r\nhello"
	line := func(odd string) string { return strings.Replace(plain, "Content-Length", odd+"\r\nContent-Length", 1) }
	start := func(odd string) string { return strings.Replace(plain, "HTTP/1.1 200 OK", odd, 1) }
	length := func(odd string) string { return strings.Replace(plain, "Content-Length: 5", odd, 1) }
	for name, tt := range map[string]struct {
		raw     string
		skipped int
	}{
		"no colon":                 {line("what is this"), 1},
		"curly quotes":             {line("“X-Y”: 1"), 1},
		"a Unicode hyphen":         {line("Content‑Type: text/plain"), 1},
		"a parenthesis":            {line("X(Y): 1"), 1},
		"no name":                  {line(": 1"), 1},
		"a blank in a name":        {line("X Y: 1"), 1},
		"a CR in a value":          {line("X: a\rb"), 0},
		"a control character":      {line("X: a\x00\x07b"), 0},
		"a blank before the first": {strings.Replace(plain, "Retry", " Retry", 1), 0},
		"folded after a bad line":  {line("nothing\r\n more of it"), 2},
		"an empty line first":      {"\r\n" + plain, 0},
		"a blank first":            {" " + plain, 0},
		"lengths in one field":     {length("Content-Length: 5, 5"), 0},
		"lengths in two fields":    {length("Content-Length: 5\r\nContent-Length: 5"), 0},
		"an unreadable length":     {length("Content-Length: many\r\nContent-Length: 5"), 1},
		"a blank before the colon": {length("Content-Length : 5"), 0},
		"identity":                 {line("Transfer-Encoding: identity"), 0},
		"an unknown coding":        {line("Transfer-Encoding: rot13"), 0},
		"small letters":            {start("http/1.1 200 OK"), 0},
		"no minor version":         {start("HTTP/1 200 OK"), 0},
		"two blanks":               {start("HTTP/1.1  200 OK"), 0},
		"version 2":                {start("HTTP/2 200 OK"), 0},
		"version 0.9 of HTTP":      {start("HTTP/3.7 200 OK"), 0},
	} {
		h, body, _, err := read(tt.raw)
		if err != nil || body != "hello" || h.Status != 200 || h.Header.Get("Retry-After") != "6" {
			t.Errorf("%s: %+v %q, %v", name, h, body, err)
			continue
		}
		if h.Skipped != tt.skipped || !h.Odd() || h.Reusable() {
			t.Errorf("%s: %d skipped, odd: %v, its connection serves again: %v", name, h.Skipped, h.Odd(), h.Reusable())
		}
	}
	for name, raw := range map[string]string{
		"an odd line before":         "HTTP/1.1 103 Hints\r\nodd\r\n\r\n" + plain,
		"a length before":            "HTTP/1.1 103 Hints\r\nContent-Length: 5\r\n\r\n" + plain,
		"chunks that HTTP/1.0 lacks": strings.Replace(start("HTTP/1.0 200 OK"), "Content-Length", "Connection: keep-alive\r\nTransfer-Encoding: chunked\r\nContent-Length", 1),
	} {
		if h, body, _, err := read(raw); err != nil || body != "hello" || !h.Odd() || h.Reusable() {
			t.Errorf("%s: %+v %q, %v", name, h, body, err)
		}
	}
	h, _, b, err := read(plain)
	if err != nil || h.Odd() || !h.Reusable() || !b.Complete() {
		t.Errorf("a plain one: %+v, %v", h, err)
	}
	// The lines that have become common all the same are not odd.
	for _, raw := range []string{strings.ReplaceAll(plain, "\r\n", "\n"), start("HTTP/1.1 200"), line("X: a\r\n b")} {
		if h, body, _, err := read(raw); err != nil || h.Odd() || body != "hello" {
			t.Errorf("%q: %+v %q, %v", raw, h, body, err)
		}
	}
}

// What has two readings, or none, is refused.
func TestRefused(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\n"
	for raw, want := range map[string]error{
		"":                       io.EOF,
		"HTTP/1.1 200":           io.ErrUnexpectedEOF,
		ok + "Content-Length: 5": io.ErrUnexpectedEOF,
		ok + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!":                              ErrLength,
		ok + "Content-Length: 5, 6\r\n\r\nhello!":                                                ErrLength,
		ok + "Content-Length: 5\r\nContent-Length : 6\r\n\r\nhello!":                             ErrLength,
		ok + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n0\r\n": ErrLength,
		"SSH-2.0-OpenSSH_9\r\n":                                      ErrMalformed,
		"<html>\n":                                                   ErrMalformed,
		"HTTP/1.1 OK\r\n\r\n":                                        ErrMalformed,
		"HTTP/1.1 99 Low\r\n\r\n":                                    ErrMalformed,
		"HTTP/1.1 1000 High\r\n\r\n":                                 ErrMalformed,
		"HTTP/0.9 200 OK\r\n\r\n":                                    ErrMalformed,
		"HTTP/1.10 200 OK\r\n\r\n":                                   ErrMalformed,
		strings.Repeat("\r\n", 6) + ok + "\r\n":                      ErrMalformed,
		ok + "X: " + strings.Repeat("x", 1<<10):                      ErrTooLarge,
		ok + strings.Repeat("X: y\r\n", 200):                         ErrTooLarge,
		strings.Repeat("HTTP/1.1 100 Wait\r\n\r\n", 6) + ok + "\r\n": ErrTooLarge,
		ok + "Transfer-Encoding: chunked\r\n\r\nhello\r\n":           ErrChunk,
		ok + "Transfer-Encoding: chunked\r\n\r\n1\r\nxy\r\n":         ErrChunk,
		ok + "Transfer-Encoding: chunked\r\n\r\n-1\r\nx\r\n":         ErrChunk,
	} {
		if _, _, _, err := read(raw); !errors.Is(err, want) {
			t.Errorf("%.80q: %v, want %v", raw, err, want)
		}
	}
	chunk := "1;" + strings.Repeat("x", 998) + "\r\ny\r\n"
	if _, _, _, err := read(ok + "Transfer-Encoding: chunked\r\n\r\n" + strings.Repeat(chunk, 16) + "0\r\n\r\n"); err != nil {
		t.Errorf("16 KB of extensions: %v", err)
	}
	if _, _, _, err := read(ok + "Transfer-Encoding: chunked\r\n\r\n" + strings.Repeat(chunk, 17) + "0\r\n\r\n"); !errors.Is(err, ErrTooLarge) {
		t.Errorf("17 KB of extensions: %v", err)
	}
	// At the limit and past it.
	head := ok + "X: " + strings.Repeat("x", 1<<10-len(ok)-7) + "\r\n\r\n"
	if _, _, _, err := read(head); len(head) != 1<<10 || err != nil {
		t.Errorf("a head of %d bytes: %v", len(head), err)
	}
	if _, _, _, err := read(strings.Replace(head, "x", "xx", 1)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a head of one byte more: %v", err)
	}
}

func TestBodies(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\n"
	const chunked = ok + "Transfer-Encoding: chunked\r\n\r\n"
	for name, tt := range map[string]struct {
		raw, body string
		complete  bool // and nothing odd
		err       error
	}{
		"up to the end":            {ok + "\r\nhello", "hello", false, nil},
		"nothing":                  {ok + "Content-Length: 0\r\n\r\n", "", true, nil},
		"204":                      {"HTTP/1.1 204 None\r\nContent-Length: 5\r\n\r\nhello", "", true, nil},
		"304":                      {"HTTP/1.1 304 Same\r\nTransfer-Encoding: chunked\r\n\r\nhello", "", true, nil},
		"101":                      {"HTTP/1.1 101 Else\r\n\r\nhello", "", true, nil},
		"after an interim one":     {"HTTP/1.1 103 Hints\r\nLink: </x>\r\n\r\n" + ok + "Content-Length: 5\r\n\r\nhello", "hello", true, nil},
		"too short":                {ok + "Content-Length: 9\r\n\r\nhello", "hello", false, io.ErrUnexpectedEOF},
		"chunks":                   {chunked + "2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\nX: y\r\n\r\n", "hello", true, nil},
		"blanks at a size":         {chunked + "5 \r\nhello\r\n0\r\n\r\n", "hello", true, nil},
		"LF":                       {chunked + "5\nhello\n0\n\n", "hello", false, nil},
		"no end after the last":    {chunked + "5\r\nhello\r\n0\r\n", "hello", false, nil},
		"no last chunk":            {chunked + "5\r\nhello\r\n", "hello", false, io.ErrUnexpectedEOF},
		"a chunk cut":              {chunked + "9\r\nhello", "hello", false, io.ErrUnexpectedEOF},
		"chunked twice":            {ok + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", "hello", true, nil},
		"a length beside chunks":   {ok + "Content-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", "hello", true, nil},
		"HTTP/1.0 knows no chunks": {"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nhello", "hello", false, nil},
	} {
		h, body, b, err := read(tt.raw)
		if h == nil || body != tt.body || !errors.Is(err, tt.err) || b.Complete() != tt.complete && h.Length != -1 {
			t.Errorf("%s: %q, %v, want %q, %v", name, body, err, tt.body, tt.err)
		}
	}
}

// A reader's own error is not taken for the end of the response.
func TestErrorsOfTheReader(t *testing.T) {
	br := bufio.NewReader(iotest.ErrReader(io.ErrClosedPipe))
	if _, err := ReadHead(br, 1<<10); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("ReadHead: %v", err)
	}
	br = bufio.NewReader(iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader("HTTP/1.1 200 OK\r\n\r\n"))))
	if _, err := ReadHead(br, 1<<10); !errors.Is(err, iotest.ErrTimeout) {
		t.Errorf("ReadHead: %v", err)
	}
}

// FuzzResponse compares the reader with that of net/http: what that accepts has the same meaning
// here.
func FuzzResponse(f *testing.F) {
	for _, head := range []string{"Content-Length: 5", "Transfer-Encoding: chunked", "Connection: close", "X: a\r\n b", "a", "Content-Length: 5, 5"} {
		for _, body := range []string{"hello", "5\r\nhello\r\n0\r\n\r\n", "5\nhello\n0\n\n", ""} {
			f.Add([]byte("HTTP/1.1 200 OK\r\n" + head + "\r\n\r\n" + body))
		}
	}
	f.Add([]byte("HTTP/1.0 301 Moved\r\nConnection: keep-alive\r\nLocation: /\r\n\r\n"))
	f.Add([]byte("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No\r\n\r\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		br := bufio.NewReader(bytes.NewReader(raw))
		h, err := ReadHead(br, 1<<20)
		var b *Body
		var got []byte
		var failed error
		if err == nil {
			b = h.Body(br)
			got, failed = io.ReadAll(b)
			if !b.Complete() && h.Length >= 0 && failed == nil && !b.odd {
				t.Errorf("read to its end, and not complete")
			}
		}
		theirs := bufio.NewReader(bytes.NewReader(raw))
		var resp *http.Response
		for range maxInterim + 1 {
			if resp, err = http.ReadResponse(theirs, nil); err != nil {
				return
			}
			if resp.StatusCode >= 200 || resp.StatusCode == 101 {
				break
			}
		}
		if resp.StatusCode < 200 && resp.StatusCode != 101 || resp.ProtoMajor != 1 || resp.ProtoMinor > 9 || resp.StatusCode < 100 {
			return
		}
		if h == nil {
			if resp.StatusCode == 0 {
				return
			}
			t.Fatalf("net/http understands %q, and we do not", raw)
		}
		if h.Status != resp.StatusCode || plain(h.Header) != plain(resp.Header) {
			t.Fatalf("we read %d %s, net/http %d %s", h.Status, plain(h.Header), resp.StatusCode, plain(resp.Header))
		}
		body, err := io.ReadAll(resp.Body)
		if err == nil && (failed != nil || !bytes.Equal(body, got)) {
			t.Fatalf("we read %q, %v, net/http %q", got, failed, body)
		}
		if err == nil && resp.Close && h.Reusable() && b.Complete() {
			t.Fatalf("net/http would close the connection, and we would not")
		}
	})
}

// plain shows fields as both readers see them: net/http leaves control characters in values, and
// keeps what it takes the length from.
func plain(h http.Header) string {
	var list []string
	for name, values := range h {
		name = http.CanonicalHeaderKey(strings.TrimSpace(name))
		if !isToken([]byte(name)) || name == "Content-Length" || name == "Connection" || name == "Transfer-Encoding" || name == "Trailer" {
			continue
		}
		for _, v := range values {
			v = strings.Map(func(r rune) rune {
				if r < ' ' || r == 0x7f {
					return ' '
				}
				return r
			}, v)
			list = append(list, fmt.Sprintf("%s: %q", name, strings.Join(strings.Fields(v), " ")))
		}
	}
	return strings.Join(sorted(list), "\n")
}

func sorted(list []string) []string {
	slices.Sort(list)
	return list
}

// The table of frequent names has what net/textproto returns, and every spelling leads to the same
// name.
func TestUsualNames(t *testing.T) {
	for spelling, name := range usualNames {
		if want := textproto.CanonicalMIMEHeaderKey(spelling); name != want {
			t.Errorf("%s is %s, want %s", spelling, name, want)
		}
	}
	for _, name := range []string{"Content-Type", "content-type", "CONTENT-TYPE", "x-robots-tag", "x-unusual-NAME"} {
		if got, want := canonical([]byte(name)), textproto.CanonicalMIMEHeaderKey(name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

// Fields share memory. More values of one of them do not change the next one, also when there are
// more fields than usual.
func TestFieldsAreApart(t *testing.T) {
	var raw, want strings.Builder
	raw.WriteString("HTTP/1.1 200 OK\r\n")
	for range 2 {
		for i := range usualFields + 4 {
			fmt.Fprintf(&raw, "X-%d: %d\r\n folded\r\n", i, i)
		}
	}
	for i := range usualFields + 4 {
		fmt.Fprintf(&want, "%d folded, %[1]d folded; ", i)
	}
	h, _, _, err := read(raw.String() + "Content-Length: 0\r\n\r\n")
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for i := range usualFields + 4 {
		name := fmt.Sprintf("X-%d", i)
		h.Header[name] = append(h.Header[name], "more")
		got.WriteString(strings.Join(h.Header[name][:2], ", ") + "; ")
	}
	if got.String() != want.String() {
		t.Errorf("%s\nwant\n%s", got.String(), want.String())
	}
}
