package rup

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestRUP_6_2_AnswerLines(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ typ, body, want string }{
		{"text/html", "<html><body>\nRegistrationKey: abc\n</body></html>", "abc"},
		{"text/html; charset=utf-8", "<p>Welcome!<p>RegistrationKey: abc<p>Bye", "abc"},
		{"", "Welcome<BR>RegistrationKey=abc<br/>Bye", "abc"},
		{"text/html", "<b>Registration<i>Key</i></b> : <tt>a&amp;b</tt>", "a&b"},
		{"text/html", "<div>The RegistrationKey: nope</div><li>registrationkey:&nbsp;abc</li>", "abc"},
		{"text/html", "<title>RegistrationKey: title</title><script>\nRegistrationKey: script\n</script><style>\nRegistrationKey: style\n</style><!--\nRegistrationKey: comment\n-->\nRegistrationKey: abc", "abc"},
		{"text/html", "RegistrationKey: has been sent\nRegistrationKey:\nRegistrationKey: abc", "abc"},
		{"text/html", "<pre>\r\nRegistrationKey: abc\r\n</pre>", "abc"},
		{"TEXT/HTML", "<table><tr><td>x</td><td>RegistrationKey: a:b=c</td></tr></table>", "a:b=c"},
		{"text/plain", "RegistrationKey: <b>\n", "<b>"},
		{"text/html", "\xEF\xBB\xBFRegistrationKey: abc", "abc"},
		{"text/html", "RegistrationKey abc", ""}, {"text/html", "XRegistrationKey: abc", ""}, {"text/html", "RegistrationKey: a b", ""},
		{"text/html", "", ""}, {"text/html", "<p>RegistrationKeys: abc", ""}, {"text/html", "<title>RegistrationKey: abc", ""},
	} {
		a := &Answer{Status: 200, ContentType: c.typ, Body: []byte(c.body)}
		key, err := a.Key()
		if string(key) != c.want || (c.want == "") != errors.Is(err, ErrMalformed) {
			t.Errorf("%q: %q, %v; want %q", c.body, string(key), err, c.want)
		}
	}
}

func TestRUP_6_2_AnswerSequence(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]int64{
		"SequenceNumber=12": 12, "<p>SequenceNumber: 0": 0, "SequenceNumber=-1": -1, "SequenceNumber=x": -1, "SequenceNumber=9223372036854775808": -1, "<p>hello": -1,
	} {
		n, err := (&Answer{Status: 200, Body: []byte(body)}).Sequence()
		if want < 0 && !errors.Is(err, ErrMalformed) || want >= 0 && (err != nil || n != want) {
			t.Errorf("%q: %d, %v; want %d", body, n, err, want)
		}
	}
}

func TestRUP_6_4_AnswerReport(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		"<!DOCTYPE html><title>x</title>\n<pre>\nSequenceNumber: 12\nURLBase: http://www.site.example/\n\nNew[1998-01-15]: a?b=1&amp;c=2, d\nDelete: e\n</pre>\n",
		"<h1>Changes</h1>Here they are:<br>\nSequenceNumber: 12<br>\nURLBase: http://www.site.example/<br>\n<br>\nNew[1998-01-15]: a?b=1&amp;c=2, d<br>\nDelete: e<br><hr><i>Bye</i>",
		"<p>URLBase=<a href=x>http://www.site.example/</a></p>\n<p>SequenceNumber=12</p>\n\n<p>New[1998-01-15]: a?b=1&#38;c=2, d</p><p>Delete: e</p>",
		"SequenceNumber: 12\nURLBase: http://www.site.example/\n\nNew[1998-01-15]: a?b=1&amp;c=2, d\nDelete: e",
	} {
		r, err := (&Answer{Status: 200, ContentType: "text/html", Body: []byte(body)}).Report()
		if err != nil || r.Sequence != 12 || !slices.Equal(urls(r), []string{"N /a?b=1&c=2", "N /d", "D /e"}) {
			t.Errorf("%s\nis read as %+v, %v", body, r, err)
		}
	}
	r, err := (&Answer{Status: 200, ContentType: "text/plain", Body: []byte(head + "New: a&amp;b\n")}).Report()
	if err != nil || !slices.Equal(urls(r), []string{"N /a&amp;b"}) {
		t.Errorf("plain text: %+v, %v", r, err)
	}
	for _, body := range []string{"", "<p>nothing", "SequenceNumber: 1"} {
		if r, err := (&Answer{Status: 200, Body: []byte(body)}).Report(); !errors.Is(err, ErrMalformed) {
			t.Errorf("%q: %+v, %v", body, r, err)
		}
	}
	cut := &Answer{Status: 200, Cut: true, Body: []byte("<pre>" + head + "New: a\nNew: b/index")}
	if r, err := cut.Report(); err != nil || !r.Truncated || !slices.Equal(urls(r), []string{"N /a"}) {
		t.Errorf("cut: %+v, %v", r, err)
	}
}

func TestRUP_6_2_AnswerErrors(t *testing.T) {
	t.Parallel()
	for status, retry := range map[int]bool{301: false, 307: false, 400: false, 404: false, 501: false, 500: true, 503: true, 204: false} {
		a := &Answer{Status: status, ContentType: "text/html", RetryAfter: time.Minute, Body: []byte("<title>x</title><h1>No</h1>\n<p>RobotEmail: \x1b[2J" + strings.Repeat("bad ", 9000))}
		for _, err := range []error{a.Err(), second(a.Key()), second(a.Sequence()), second(a.Report())} {
			var e *Error
			if !errors.As(err, &e) || e.Status != status || e.RetryAfter != time.Minute || Retryable(err) != retry || errors.Is(err, ErrMalformed) {
				t.Fatalf("%d: %v", status, err)
			}
			if !strings.HasPrefix(e.Reason, "No RobotEmail:") || len(e.Reason) > 250 || strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Fatalf("%d: %q", status, e.Reason)
			}
		}
	}
	if err := (&Answer{Status: 200}).Err(); err != nil {
		t.Error(err)
	}
}

func second[T any](_ T, err error) error { return err }

func FuzzAnswer(f *testing.F) {
	f.Add("text/html", []byte("<pre>SequenceNumber=12<br>\nRegistrationKey: a&amp;b</pre>"))
	f.Add("text/html", []byte("<title>x<script><p>RegistrationKey: "+head))
	f.Fuzz(func(t *testing.T, contentType string, body []byte) {
		a := &Answer{Status: 200, ContentType: contentType, Body: body}
		if key, err := a.Key(); err == nil && (key == "" || strings.ContainsAny(string(key), " \t\r\n")) {
			t.Fatalf("key %q", string(key))
		}
		if n, err := a.Sequence(); err == nil && n < 0 {
			t.Fatal(n)
		}
		if r, err := a.Report(); (err == nil) != (r != nil) {
			t.Fatal(r, err)
		}
		a.Status = 500
		if len(a.Err().Error()) > 1000 {
			t.Fatal(a.Err())
		}
	})
}

func TestRUP_6_2_AnswerKeyLimit(t *testing.T) {
	for n, ok := range map[int]bool{maxKey: true, maxKey + 1: false, 2 << 20: false} {
		a := Answer{Status: 200, ContentType: "text/html", Body: []byte("RegistrationKey: " + strings.Repeat("k", n) + "<br>")}
		key, err := a.Key()
		if ok != (err == nil && len(key) == n) || !ok && (!errors.Is(err, ErrMalformed) || len(err.Error()) > 200) {
			t.Errorf("%d characters: %d, %.300v", n, len(key), err)
		}
	}
}
