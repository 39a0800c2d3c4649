package botauth

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/dunglas/httpsfv"
)

const testAgent = "https://bot.example.org"

var testTime = time.Unix(1790000000, 0)

// testKey makes a key that is the same each time.
func testKey(t testing.TB, n byte) *Key {
	t.Helper()
	k, err := NewKey(bytes.NewReader(bytes.Repeat([]byte{n}, ed25519.SeedSize)))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func testSigner(t testing.TB, form Form) *Signer {
	t.Helper()
	agent := testAgent
	if form == FormJWKS {
		agent += DirectoryPath
	}
	s, err := NewSigner(testKey(t, 1), agent, form)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func page() *Message {
	return &Message{Method: "GET", Scheme: "https", Authority: "shop.example", Path: "/p/1", Query: "colour=blue", Header: http.Header{}}
}

func signedPage(t testing.TB, s *Signer) *Message {
	t.Helper()
	m := page()
	f, err := s.Sign(m, testTime, bytes.Repeat([]byte{7}, NonceBytes))
	if err != nil {
		t.Fatal(err)
	}
	f.Set(m.Header)
	return m
}

// policyOf returns a policy that knows one key of one agent.
func policyOf(s *Signer) Policy {
	return Policy{Now: testTime, Key: func(agent string, form Form, id string) (ed25519.PublicKey, error) {
		if agent != s.Agent() || form != s.Form() || id != s.KeyID() {
			return nil, errors.New("unknown key")
		}
		return s.key.Public(), nil
	}}
}

// Each form has the expected text, and is verified.
func TestSigning_8_29_Forms(t *testing.T) {
	for _, c := range []struct {
		form         Form
		agent, cover string
	}{
		{FormString, `"https://bot.example.org"`, `"signature-agent"`},
		{FormDictionary, `sig1="https://bot.example.org"`, `"signature-agent";key="sig1"`},
		{FormJWKS, `sig1="https://bot.example.org` + DirectoryPath + `"`, `"signature-agent";key="sig1"`},
	} {
		s := testSigner(t, c.form)
		m := signedPage(t, s)
		if got := m.Header.Get(FieldAgent); got != c.agent {
			t.Errorf("%s: %s", c.form, got)
		}
		nonce := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, NonceBytes))
		want := fmt.Sprintf(`sig1=("@authority" "@method" "@path" %s);created=1790000000;keyid="%s";alg="ed25519";expires=1790000060;nonce="%s";tag="web-bot-auth"`, c.cover, s.KeyID(), nonce)
		if got := m.Header.Get(FieldInput); got != want {
			t.Errorf("%s:\n got %s\nwant %s", c.form, got, want)
		}
		list, err := Verify(m, policyOf(s))
		if err != nil || len(list) != 1 || !list[0].Good() || list[0].Agent != s.Agent() || list[0].Form != c.form || list[0].Nonce != nonce {
			t.Errorf("%s: %+v, %v", c.form, list, err)
		}
	}
}

// A request that does not use https gets no signature.
func TestSigning_8_28_OnlyHTTPS(t *testing.T) {
	m := page()
	m.Scheme = "http"
	if f, err := testSigner(t, FormString).Sign(m, testTime, nil); err == nil || f != (Signed{}) {
		t.Errorf("%+v, %v", f, err)
	}
	m.Scheme, m.Path = "https", "/a\r\nX: y"
	if _, err := testSigner(t, FormString).Sign(m, testTime, nil); err == nil {
		t.Error("a line end is signed")
	}
}

// After any change, the signature is invalid with the right reason.
func TestSigning_Refusals(t *testing.T) {
	s := testSigner(t, FormDictionary)
	params := func(old, new string) func(*Message, *Policy) {
		return func(m *Message, _ *Policy) {
			was := m.Header.Get(FieldInput)
			m.Header.Set(FieldInput, strings.Replace(was, old, new, 1))
			if m.Header.Get(FieldInput) == was {
				t.Fatalf("%s does not occur", old)
			}
		}
	}
	for name, c := range map[string]struct {
		change func(*Message, *Policy)
		want   Why
	}{
		"nothing":               {func(*Message, *Policy) {}, WhyNothing},
		"another query":         {func(m *Message, _ *Policy) { m.Query = "x" }, WhyNothing},
		"another path":          {func(m *Message, _ *Policy) { m.Path = "/p/2" }, WhySignature},
		"another host":          {func(m *Message, _ *Policy) { m.Authority = "evil.example" }, WhySignature},
		"another method":        {func(m *Message, _ *Policy) { m.Method = "POST" }, WhySignature},
		"host in capitals":      {func(m *Message, _ *Policy) { m.Authority = "SHOP.example:443" }, WhyNothing},
		"another port":          {func(m *Message, _ *Policy) { m.Authority = "shop.example:8443" }, WhySignature},
		"plain http":            {func(m *Message, _ *Policy) { m.Scheme = "http" }, WhyPlain},
		"just expired":          {func(_ *Message, p *Policy) { p.Now = testTime.Add(Lifetime) }, WhyExpired},
		"about to expire":       {func(_ *Message, p *Policy) { p.Now = testTime.Add(Lifetime - time.Second) }, WhyNothing},
		"expired within skew":   {func(_ *Message, p *Policy) { p.Now, p.Skew = testTime.Add(Lifetime), 5*time.Second }, WhyNothing},
		"of the future":         {func(_ *Message, p *Policy) { p.Now = testTime.Add(-time.Second) }, WhyFuture},
		"future within skew":    {func(_ *Message, p *Policy) { p.Now, p.Skew = testTime.Add(-5*time.Second), 5*time.Second }, WhyNothing},
		"future past skew":      {func(_ *Message, p *Policy) { p.Now, p.Skew = testTime.Add(-6*time.Second), 5*time.Second }, WhyFuture},
		"created later":         {params("created=1790000000", "created=1790000001"), WhyFuture},
		"expires later":         {params("expires=1790000060", "expires=1790000061"), WhySignature},
		"expires a day later":   {params("expires=1790000060", "expires=1790086401"), WhyParameters},
		"expires before":        {params("expires=1790000060", "expires=1790000000"), WhyParameters},
		"no created":            {params(";created=1790000000", ""), WhyParameters},
		"created as text":       {params("created=1790000000", `created="1790000000"`), WhyParameters},
		"no keyid":              {params("keyid=", "other="), WhyParameters},
		"another nonce":         {params(`nonce="B`, `nonce="C`), WhySignature},
		"another algorithm":     {params("ed25519", "hmac-sha256"), WhyAlgorithm},
		"another tag":           {params("web-bot-auth", "web-bot"), WhyTag},
		"another key":           {params(`keyid="`, `keyid="A`), WhyKey},
		"the RFC's key":         {params(`keyid="`+s.KeyID(), `keyid="`+rfcID), WhyTestKey},
		"authority uncovered":   {params(`"@authority" `, ""), WhyComponents},
		"agent uncovered":       {params(` "signature-agent";key="sig1"`, ""), WhyComponents},
		"agent twice":           {params(` "signature-agent";key="sig1"`, ` "signature-agent";key="sig1" "signature-agent";key="x"`), WhyComponents},
		"what is not there":     {params(`"@path"`, `"x-none"`), WhyComponents},
		"method twice":          {params(`"@path"`, `"@method"`), WhyComponents},
		"too many components":   {params(`"@path"`, `"@path"`+manyComponents()), WhyComponents},
		"another agent":         {func(m *Message, _ *Policy) { m.Header.Set(FieldAgent, `sig1="https://evil.example"`) }, WhyKey},
		"agent over http":       {func(m *Message, _ *Policy) { m.Header.Set(FieldAgent, `sig1="http://bot.example.org"`) }, WhyAgent},
		"agent of another kind": {func(m *Message, _ *Policy) { m.Header.Set(FieldAgent, `sig1="https://bot.example.org";type=cimd`) }, WhyAgent},
		"agent as a string":     {func(m *Message, _ *Policy) { m.Header.Set(FieldAgent, `"https://bot.example.org"`) }, WhyAgent},
		"no agent":              {func(m *Message, _ *Policy) { m.Header.Del(FieldAgent) }, WhyAgent},
		"agent elsewhere":       {func(m *Message, _ *Policy) { m.Header.Set(FieldAgent, `x="https://bot.example.org"`) }, WhyAgent},
		"no signature":          {func(m *Message, _ *Policy) { m.Header.Del(FieldSignature) }, WhySyntax},
		"signature as text":     {func(m *Message, _ *Policy) { m.Header.Set(FieldSignature, `sig1="x"`) }, WhySyntax},
		"a short signature":     {func(m *Message, _ *Policy) { m.Header.Set(FieldSignature, `sig1=:AAAA:`) }, WhySignature},
		"no input":              {func(m *Message, _ *Policy) { m.Header.Del(FieldInput) }, WhySyntax},
		"no list":               {func(m *Message, _ *Policy) { m.Header.Set(FieldInput, "sig1=1") }, WhySyntax},
		"a key of another name": {func(_ *Message, p *Policy) {
			p.Key = func(string, Form, string) (ed25519.PublicKey, error) { return testKey(t, 2).Public(), nil }
		}, WhyKey},
	} {
		m, p := signedPage(t, s), policyOf(s)
		c.change(m, &p)
		list, err := Verify(m, p)
		if err != nil || len(list) != 1 || list[0].Why != c.want || (c.want == WhyNothing) != (list[0].Text == "") {
			t.Errorf("%s: %+v, %v; want %q", name, list, err, c.want)
		}
	}
}

func manyComponents() string {
	var b strings.Builder
	for i := range maxComponents {
		fmt.Fprintf(&b, ` "x-%d"`, i)
	}
	return b.String()
}

// Unsigned requests, and the limits.
func TestSigning_Limits(t *testing.T) {
	if _, err := Verify(page(), Policy{}); err != ErrUnsigned {
		t.Errorf("unsigned: %v", err)
	}
	s := testSigner(t, FormString)
	for name, change := range map[string]func(http.Header){
		"broken input":     func(h http.Header) { h.Set(FieldInput, "sig1=(") },
		"broken signature": func(h http.Header) { h.Set(FieldSignature, "sig1=:") },
		"a long input":     func(h http.Header) { h.Add(FieldInput, "x="+strings.Repeat("1", maxField)) },
		"many signatures": func(h http.Header) {
			for i := range maxSignatures {
				h.Add(FieldInput, fmt.Sprintf("x%d=()", i))
			}
		},
	} {
		m := signedPage(t, s)
		change(m.Header)
		if list, err := Verify(m, policyOf(s)); err == nil {
			t.Errorf("%s: %+v", name, list)
		}
	}
	// At the limit: the largest number of signatures, of which ours is valid.
	m := signedPage(t, s)
	for i := range maxSignatures - 1 {
		m.Header.Add(FieldInput, fmt.Sprintf("x%d=()", i))
	}
	list, err := Verify(m, policyOf(s))
	if err != nil || len(list) != maxSignatures || !list[0].Good() || list[1].Good() {
		t.Errorf("%d signatures, %v", len(list), err)
	}
	long := signedPage(t, s)
	long.Path = "/" + strings.Repeat("a", maxValue)
	if list, err := Verify(long, policyOf(s)); err != nil || list[0].Why != WhyComponents {
		t.Errorf("a long path: %+v, %v", list, err)
	}
}

// FuzzVerify: nothing panics, and only the signer's own fields are valid.
func FuzzVerify(f *testing.F) {
	s := testSigner(f, FormDictionary)
	m := signedPage(f, s)
	f.Add(m.Header.Get(FieldAgent), m.Header.Get(FieldInput), m.Header.Get(FieldSignature), "/p/1")
	f.Add(`"https://a.example"`, `a=("@authority";req "x";bs;sf "@query-param";name="a");created=1;expires=2;keyid="";tag="web-bot-auth"`, "a=:AAAA:", "")
	f.Fuzz(func(t *testing.T, agent, input, signature, path string) {
		req := page()
		req.Path = path
		req.Header = http.Header{FieldAgent: {agent}, FieldInput: {input}, FieldSignature: {signature}}
		list, _ := Verify(req, policyOf(s))
		for _, v := range list {
			if !v.Good() {
				if v.Text == "" {
					t.Errorf("%+v: no reason", v)
				}
				continue
			}
			if v.Agent != testAgent || v.KeyID != s.KeyID() || path != "/p/1" && strings.Contains(input, `"@path"`) {
				t.Errorf("%+v is good of %q %q %q %q", v, agent, input, signature, path)
			}
		}
	})
}

// FuzzBase: a text consists of complete lines, one for each component.
func FuzzBase(f *testing.F) {
	f.Add(`"@method" "a";sf "a";key="b"`, "b=1", "q=1")
	f.Add(`"a";bs "@query-param";name="q"`, "x\r\n y", "q=%zz&q")
	f.Fuzz(func(t *testing.T, components, value, query string) {
		m := page()
		m.Query = query
		m.Header["A"] = []string{value}
		d, err := dictionary([]string{"x=(" + components + ")"})
		if err != nil {
			return
		}
		member, _ := d.Get("x")
		covered, ok := member.(httpsfv.InnerList)
		if !ok {
			return
		}
		text, err := base(m, covered)
		if err == nil && strings.Count(text, "\n") != len(covered.Items) {
			t.Errorf("%d lines of %d components:\n%q", strings.Count(text, "\n")+1, len(covered.Items), text)
		}
	})
}

func BenchmarkSign(b *testing.B) {
	s := testSigner(b, FormString)
	m := page()
	nonce := make([]byte, NonceBytes)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Sign(m, testTime, nonce); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkVerify(b *testing.B) {
	s := testSigner(b, FormString)
	m := signedPage(b, s)
	b.ReportAllocs()
	for b.Loop() {
		if list, err := Verify(m, policyOf(s)); err != nil || !list[0].Good() {
			b.Fatal(err, list)
		}
	}
}
