package mobile_test

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/curtsy/curtsy/internal/mobile"
	"github.com/curtsy/curtsy/pkg/botauth"
)

func newKey(t testing.TB) *botauth.Key {
	t.Helper()
	key, err := botauth.NewKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func ticket() mobile.Ticket {
	return mobile.Ticket{
		Host: "atp://www.example.org:10434", Site: "https://www.example.org", Subtree: "/docs/a&b/", Token: "ExampleBot",
		Module: mobile.Digest([]byte("module")), Input: mobile.Digest(nil), NotBefore: 1_800_000_000, NotAfter: 1_800_003_600,
	}
}

func TestTicketIsSigned(t *testing.T) {
	key := newKey(t)
	line, signature, err := ticket().Sign(key, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	got, err := mobile.Verify(line, signature)
	want := ticket()
	want.Version, want.Key, want.Nonce = 1, mobile.KeyText(key.Public()), got.Nonce
	if err != nil || got != want {
		t.Fatalf("Verify = %+v, %v, want %+v", got, err, want)
	}
	again, _, err := ticket().Sign(key, rand.Reader)
	if err != nil || bytes.Equal(again, line) {
		t.Errorf("two tickets have the same nonce: %v", err)
	}
	for i := range line { // no octet can be changed
		changed := bytes.Clone(line)
		changed[i] ^= 1
		if _, err := mobile.Verify(changed, signature); err == nil {
			t.Fatalf("octet %d may be changed", i)
		}
	}
	if _, err := mobile.Verify(line, key.SignMessage(line)); !errors.Is(err, mobile.ErrSignature) {
		t.Errorf("a signature without the context: %v", err)
	}
	if _, err := mobile.Verify(line, nil); !errors.Is(err, mobile.ErrSignature) {
		t.Errorf("no signature: %v", err)
	}
}

func TestTicketIsStrict(t *testing.T) {
	line, _, err := ticket().Sign(newKey(t), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	text := string(line)
	for what, s := range map[string]string{
		"an unknown field":  strings.Replace(text, `{`, `{"free":true,`, 1),
		"a field twice":     strings.Replace(text, `{`, `{"version":1,`, 1),
		"another case":      strings.Replace(text, `"subtree"`, `"SUBTREE"`, 1),
		"a missing field":   strings.Replace(text, `"token":"ExampleBot",`, ``, 1),
		"blanks":            strings.Replace(text, `,`, `, `, 1),
		"something behind":  text + "{}",
		"another version":   strings.Replace(text, `"version":1`, `"version":2`, 1),
		"a long life":       strings.Replace(text, `1800003600`, `1800086401`, 1),
		"no life":           strings.Replace(text, `1800003600`, `1800000000`, 1),
		"a subtree no path": strings.Replace(text, `"/docs`, `"docs`, 1),
		"a file as subtree": strings.Replace(text, `a&b/"`, `a&b"`, 1),
		"two lines":         strings.Replace(text, `,`, ",\n", 1),
		"no token":          strings.Replace(text, `ExampleBot`, ``, 1),
		"a strange token":   strings.Replace(text, `ExampleBot`, `Example Bot`, 1),
		"a short digest":    strings.Replace(text, mobile.Digest(nil), mobile.Digest(nil)[1:], 1),
		"an upper digest":   strings.Replace(text, mobile.Digest(nil), strings.ToUpper(mobile.Digest(nil)), 1),
		"a number":          strings.Replace(text, `1800003600`, `1e300`, 1),
		"nothing":           "",
		"too much":          strings.Replace(text, `/docs`, "/"+strings.Repeat("d", mobile.MaxTicket), 1),
	} {
		if s == text {
			t.Errorf("%s: the test changes nothing", what)
		}
		if _, err := mobile.ParseTicket([]byte(s)); !errors.Is(err, mobile.ErrTicket) {
			t.Errorf("%s: %v", what, err)
		}
	}
	bad := ticket()
	bad.Subtree = "docs"
	if _, _, err := bad.Sign(newKey(t), rand.Reader); !errors.Is(err, mobile.ErrTicket) {
		t.Errorf("a ticket that no host accepts is signed: %v", err)
	}
}

func TestTicketValidity(t *testing.T) {
	tk := ticket()
	for _, c := range []struct {
		after time.Duration // after NotBefore
		ok    bool
	}{{-mobile.Skew - time.Second, false}, {-mobile.Skew, true}, {0, true}, {time.Hour + mobile.Skew, true}, {time.Hour + mobile.Skew + time.Second, false}} {
		if err := tk.ValidAt(time.Unix(tk.NotBefore, 0).Add(c.after)); (err == nil) != c.ok {
			t.Errorf("%s after its beginning: %v", c.after, err)
		}
	}
}

func TestKeyText(t *testing.T) {
	key := newKey(t).Public()
	if got, err := mobile.ParseKey(mobile.KeyText(key)); err != nil || !bytes.Equal(got, key) {
		t.Errorf("ParseKey(KeyText) = %x, %v", got, err)
	}
	for _, s := range []string{"", "abc", mobile.KeyText(key) + "\n", mobile.KeyText(key)[:40], base64.RawStdEncoding.EncodeToString(key)} {
		if _, err := mobile.ParseKey(s); err == nil {
			t.Errorf("%q is a key", s)
		}
	}
}

func TestDispatch(t *testing.T) {
	var b bytes.Buffer
	if err := mobile.WriteDispatch(&b, []byte("ticket"), []byte("signature"), []byte("in\nput")); err != nil {
		t.Fatal(err)
	}
	b.WriteString("module")
	whole := b.String()
	d, err := mobile.ReadDispatch(iotest.OneByteReader(strings.NewReader(whole)))
	if err != nil {
		t.Fatal(err)
	}
	input, err := d.Input()
	if err != nil {
		t.Fatal(err)
	}
	module, err := io.ReadAll(d.Module())
	if err != nil || string(d.Line) != "ticket" || string(d.Signature) != "signature" || string(input) != "in\nput" || string(module) != "module" {
		t.Errorf("%q %q %q %q, %v", d.Line, d.Signature, input, module, err)
	}
	for n := range strings.Index(whole, "module") {
		d, err := mobile.ReadDispatch(strings.NewReader(whole[:n]))
		if err == nil {
			_, err = d.Input()
		}
		if !errors.Is(err, mobile.ErrDispatch) {
			t.Errorf("cut after %d octets: %v", n, err)
		}
	}
	for what, s := range map[string]string{
		"a long ticket":       strings.Repeat("t", mobile.MaxTicket+1) + "\nc2ln\n0\n",
		"a long signature":    "t\n" + strings.Repeat("c2ln", 40) + "\n0\n",
		"no base64":           "t\n!!!!\n0\n",
		"a negative length":   "t\nc2ln\n-1\n",
		"a length with zeros": "t\nc2ln\n00\n",
		"a huge length":       "t\nc2ln\n16777217\n",
		"a blank length":      "t\nc2ln\n\n",
	} {
		d, err := mobile.ReadDispatch(strings.NewReader(s))
		if err == nil {
			_, err = d.Input()
		}
		if !errors.Is(err, mobile.ErrDispatch) {
			t.Errorf("%s: %v", what, err)
		}
	}
	longest := strings.Repeat("t", mobile.MaxTicket)
	if d, err := mobile.ReadDispatch(strings.NewReader(longest + "\nc2ln\n0\n")); err != nil || string(d.Line) != longest {
		t.Errorf("the longest ticket: %v", err)
	}
}

func TestResults(t *testing.T) {
	var b bytes.Buffer
	w := mobile.NewResultWriter(&b)
	big := bytes.Repeat([]byte("0123456789"), 10_000)
	summary := mobile.Summary{Outcome: mobile.Done, Documents: 2, Records: 2, CPU: 0.5}
	for _, err := range []error{
		w.Part(big[:mobile.MaxPart], false), w.Part(big[mobile.MaxPart:], true), w.Part(nil, true), w.Log([]byte("line")),
		w.Part([]byte("never completed"), false), w.End(summary),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	whole := b.Bytes()
	r := mobile.NewResultReader(iotest.HalfReader(bytes.NewReader(whole)))
	for i, check := range []func(mobile.Result) bool{
		func(r mobile.Result) bool { return bytes.Equal(r.Record, big) },
		func(r mobile.Result) bool { return r.Record != nil && len(r.Record) == 0 },
		func(r mobile.Result) bool { return string(r.Log) == "line" && r.Record == nil },
		func(r mobile.Result) bool { return r.End != nil && *r.End == summary },
	} {
		if got, err := r.Next(); err != nil || !check(got) {
			t.Fatalf("result %d: %.100v, %v", i, got, err)
		}
	}
	if _, err := r.Next(); err != io.EOF {
		t.Errorf("after the end: %v", err)
	}
	for _, n := range []int{0, 1, 4, 5, 100, len(whole) - 1} {
		if err := drain(whole[:n]); err != io.ErrUnexpectedEOF {
			t.Errorf("cut after %d octets: %v", n, err)
		}
	}
	for what, b := range map[string][]byte{
		"behind the end": append(bytes.Clone(whole), 'R'),
		"a kind":         []byte("X\x00\x00\x00\x00"),
		"a long frame":   []byte("R\x00\x01\x00\x01"),
		"no JSON":        []byte("E\x00\x00\x00\x01{"),
	} {
		if err := drain(b); !errors.Is(err, mobile.ErrResult) {
			t.Errorf("%s: %v", what, err)
		}
	}
	part := append([]byte("P\x00\x01\x00\x00"), make([]byte, mobile.MaxPart)...)
	if err := drain(bytes.Repeat(part, mobile.MaxRecord/mobile.MaxPart+1)); !errors.Is(err, mobile.ErrResult) {
		t.Errorf("a record without an end: %v", err)
	}
	if err := w.Part(make([]byte, mobile.MaxPart+1), true); err == nil {
		t.Error("a frame that nobody reads was written")
	}
}

// drain reads a stream to its end or its first error.
func drain(b []byte) error {
	for r := mobile.NewResultReader(bytes.NewReader(b)); ; {
		if _, err := r.Next(); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}
