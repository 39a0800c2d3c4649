package botauth

import (
	"crypto"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/dunglas/httpsfv"
)

// The key of RFC 9421 §B.1.4, whose private half is public.
const (
	rfcSeed   = "n4Ni-HpISpVObnQMW0wOhCKROaIKqKtW_2ZYb2p9KcU"
	rfcPublic = "JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs"
	rfcID     = "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U"
)

func rfcKey(t testing.TB) *Key {
	t.Helper()
	seed, err := base64.RawURLEncoding.DecodeString(rfcSeed)
	if err != nil {
		t.Fatal(err)
	}
	k := keyOf(ed25519.NewKeyFromSeed(seed))
	if got := base64.RawURLEncoding.EncodeToString(k.Public()); got != rfcPublic {
		t.Fatalf("public key %s, want %s", got, rfcPublic)
	}
	return k
}

// covering parses the value of a member of Signature-Input.
func covering(t testing.TB, value string) httpsfv.InnerList {
	t.Helper()
	d, err := httpsfv.UnmarshalDictionary([]string{"x=" + value})
	if err != nil {
		t.Fatalf("%s: %v", value, err)
	}
	m, _ := d.Get("x")
	return m.(httpsfv.InnerList)
}

// testRequest is the request of RFC 9421 §B.2.
func testRequest() *Message {
	return &Message{
		Method: "POST", Scheme: "https", Authority: "example.com", Path: "/foo", Query: "param=Value&Pet=dog",
		Header: http.Header{
			"Date": {"Tue, 20 Apr 2021 02:07:55 GMT"}, "Content-Type": {"application/json"}, "Content-Length": {"18"},
			"Content-Digest": {"sha-512=:WZDPaVn/7XgHaAy8pmojAkGWoRx2UFChF41A2svX+TaPm+AbwAgBWnrIiYllu7BNNyealdVLvRwEmTHWXvJwew==:"},
		},
	}
}

// RFC 9421 §B.2: the signed texts, and the Ed25519 signature of one of them.
func TestSigning_RFC9421Vectors(t *testing.T) {
	answer := &Message{Status: 200, Request: testRequest(), Header: http.Header{
		"Content-Type": {"application/json"}, "Content-Length": {"23"},
		"Content-Digest": {"sha-512=:mEWXIS7MaLRuGgxOBdODa3xqM1XdEvxoYhvlCFJ41QJgJc4GTsPp29l5oGX69wWdXymyU0rjJuahq4l5aGgfLQ==:"},
	}}
	for _, c := range []struct {
		name, input string
		m           *Message
		lines       []string
	}{
		{"B.2.1", `();created=1618884473;keyid="test-key-rsa-pss";nonce="b3k2pp5k7z-50gnwp.yemd"`, testRequest(), nil},
		{"B.2.2", `("@authority" "content-digest" "@query-param";name="Pet");created=1618884473;keyid="test-key-rsa-pss";tag="header-example"`, testRequest(), []string{
			`"@authority": example.com`,
			`"content-digest": sha-512=:WZDPaVn/7XgHaAy8pmojAkGWoRx2UFChF41A2svX+TaPm+AbwAgBWnrIiYllu7BNNyealdVLvRwEmTHWXvJwew==:`,
			`"@query-param";name="Pet": dog`,
		}},
		{"B.2.3", `("date" "@method" "@path" "@query" "@authority" "content-type" "content-digest" "content-length");created=1618884473;keyid="test-key-rsa-pss"`, testRequest(), []string{
			`"date": Tue, 20 Apr 2021 02:07:55 GMT`, `"@method": POST`, `"@path": /foo`, `"@query": ?param=Value&Pet=dog`, `"@authority": example.com`,
			`"content-type": application/json`,
			`"content-digest": sha-512=:WZDPaVn/7XgHaAy8pmojAkGWoRx2UFChF41A2svX+TaPm+AbwAgBWnrIiYllu7BNNyealdVLvRwEmTHWXvJwew==:`,
			`"content-length": 18`,
		}},
		{"B.2.4", `("@status" "content-type" "content-digest" "content-length");created=1618884473;keyid="test-key-ecc-p256"`, answer, []string{
			`"@status": 200`, `"content-type": application/json`,
			`"content-digest": sha-512=:mEWXIS7MaLRuGgxOBdODa3xqM1XdEvxoYhvlCFJ41QJgJc4GTsPp29l5oGX69wWdXymyU0rjJuahq4l5aGgfLQ==:`,
			`"content-length": 23`,
		}},
		{"B.2.5", `("date" "@authority" "content-type");created=1618884473;keyid="test-shared-secret"`, testRequest(), []string{
			`"date": Tue, 20 Apr 2021 02:07:55 GMT`, `"@authority": example.com`, `"content-type": application/json`,
		}},
		{"B.2.6", `("date" "@method" "@path" "@authority" "content-type" "content-length");created=1618884473;keyid="test-key-ed25519"`, testRequest(), []string{
			`"date": Tue, 20 Apr 2021 02:07:55 GMT`, `"@method": POST`, `"@path": /foo`, `"@authority": example.com`, `"content-type": application/json`, `"content-length": 18`,
		}},
	} {
		got, err := base(c.m, covering(t, c.input))
		if want := strings.Join(append(c.lines, `"@signature-params": `+c.input), "\n"); err != nil || got != want {
			t.Errorf("%s: %v\n got %s\nwant %s", c.name, err, got, want)
		}
		if c.name == "B.2.6" {
			const want = "wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw=="
			if sig := base64.StdEncoding.EncodeToString(ed25519.Sign(rfcKey(t).private, []byte(got))); sig != want {
				t.Errorf("%s: signature %s", c.name, sig)
			}
		}
	}
}

// RFC 9421 §2.1 and §2.2: the examples of single components.
func TestSigning_Components(t *testing.T) {
	fields := http.Header{
		"Host": {"www.example.com"}, "X-OWS-Header": {"  Leading and trailing whitespace.   "}, "X-Obs-Fold-Header": {"Obsolete\n    line folding."},
		"Cache-Control": {"max-age=60", "   must-revalidate"}, "Example-Dict": {" a=1,    b=2;x=1;y=2,   c=(a   b   c)"}, "X-Empty-Header": {""},
		"Example-Header": {"value, with, lots", "of, commas"},
	}
	m := &Message{Method: "GET", Scheme: "https", Authority: "WWW.Example.com:443", Path: "/path", Query: "param=value&foo=bar&baz=bat%2Dman&qux=", Header: fields}
	encoded := &Message{Method: "GET", Scheme: "https", Authority: "a.test", Path: "", Query: "var=this%20is%20a%20big%0Amultiline%20value&bar=with+plus+whitespace&fa%C3%A7ade%22%3A%20=something"}
	for _, c := range []struct {
		m        *Message
		id, want string
	}{
		{m, `"@method"`, "GET"}, {m, `"@authority"`, "www.example.com"}, {m, `"@scheme"`, "https"}, {m, `"@path"`, "/path"},
		{m, `"@query"`, "?param=value&foo=bar&baz=bat%2Dman&qux="}, {m, `"@request-target"`, "/path?param=value&foo=bar&baz=bat%2Dman&qux="},
		{m, `"@query-param";name="baz"`, "bat-man"}, {m, `"@query-param";name="qux"`, ""}, {m, `"@query-param";name="param"`, "value"},
		{encoded, `"@path"`, "/"}, {encoded, `"@query-param";name="var"`, "this%20is%20a%20big%0Amultiline%20value"},
		{encoded, `"@query-param";name="bar"`, "with%20plus%20whitespace"}, {encoded, `"@query-param";name="fa%C3%A7ade%22%3A%20"`, "something"},
		{m, `"host"`, "www.example.com"}, {m, `"x-ows-header"`, "Leading and trailing whitespace."}, {m, `"x-empty-header"`, ""},
		{m, `"cache-control"`, "max-age=60, must-revalidate"}, {m, `"example-dict"`, "a=1,    b=2;x=1;y=2,   c=(a   b   c)"},
		{m, `"example-dict";sf`, "a=1, b=2;x=1;y=2, c=(a b c)"}, {m, `"example-dict";key="a"`, "1"}, {m, `"example-dict";key="b"`, "2;x=1;y=2"}, {m, `"example-dict";key="c"`, "(a b c)"},
		{m, `"example-header";bs`, ":dmFsdWUsIHdpdGgsIGxvdHM=:, :b2YsIGNvbW1hcw==:"},
	} {
		got, err := componentValue(c.m, covering(t, "("+c.id+")").Items[0])
		if err != nil || got != c.want {
			t.Errorf("%s: %q, %v; want %q", c.id, got, err, c.want)
		}
	}
	for _, id := range []string{
		`"@status"`, `"@nosuch"`, `"missing"`, `"Date"`, `"@method";sf`, `"example-dict";key="z"`, `"x-ows-header";key="a"`, `"cache-control";tr`, `"example-dict";bs;sf`,
		`"@query-param";name="none"`, `"@authority";req`, `token`, `"host";name="a"`, `"@signature-params"`,
	} {
		if got, err := componentValue(m, covering(t, "("+id+")").Items[0]); err == nil {
			t.Errorf("%s: %q, want an error", id, got)
		}
	}
	if _, err := base(m, covering(t, `("@method" "@method")`)); err == nil {
		t.Error("one component twice has a base")
	}
}

// The drafts' examples: the fields that our signer writes, and the result of our verifier.
func TestSigning_DraftVectors(t *testing.T) {
	const (
		long   = "n9p433xm+NJ3ph3upfBIGmsuwHw387YV7Q/F+6BSpGCVjYCqQw6rznNA8PVVLySrAWsv0hQtFioQb6E1YsauiA=="
		legacy = "e8N7S2MFd/qrd6T2R3tdfAuuANngKI7LFtKYI/vowzk4lAZYadIX6wW25MwG7DCT9RUKAJ0qVkU0mEeLElW1qg=="
	)
	for _, c := range []struct {
		name, label    string
		form           Form
		expires        int64
		nonce          string
		agent          string
		input, sigText string
	}{
		{"draft-ietf-webbotauth-httpsig-protocol-01", "sig2", FormDictionary, 4889289600, long, `sig2="https://signature-agent.test"`,
			`sig2=("@authority" "signature-agent";key="sig2");created=1735689600;keyid="` + rfcID + `";alg="ed25519";expires=4889289600;nonce="` + long + `";tag="web-bot-auth"`,
			"sig2=:CGokAoY/FrPpyuzTe1Fb2kLTAH9Idw6qSFd1+D77r1firsMRCxeuLu5e6O+ek3zQgDMAzjiXtLVfqE00xnABCQ==:"},
		{"draft-meunier-webbotauth-httpsig-protocol-02", "agent2", FormDictionary, 4889289600, long, `agent2="https://signature-agent.test"`,
			`agent2=("@authority" "signature-agent";key="agent2");created=1735689600;keyid="` + rfcID + `";alg="ed25519";expires=4889289600;nonce="` + long + `";tag="web-bot-auth"`,
			"agent2=:RdNFx5Bj6au3YgAMQL/RzmUlZE8QZLIaXGRpw985hWnwPfMxT228NMk6ehRS1PSl4e8PhbNZACSanGdhEwYCCg==:"},
		{"legacy string", "sig2", FormString, 1735693200, legacy, `"https://signature-agent.test"`,
			`sig2=("@authority" "signature-agent");created=1735689600;keyid="` + rfcID + `";alg="ed25519";expires=1735693200;nonce="` + legacy + `";tag="web-bot-auth"`,
			"sig2=:jdq0SqOwHdyHr9+r5jw3iYZH6aNGKijYp/EstF4RQTQdi5N5YYKrD+mCT1HA1nZDsi6nJKuHxUi/5Syp3rLWBA==:"},
	} {
		s, err := newSigner(rfcKey(t), "https://signature-agent.test", c.form, c.label, `"@authority"`)
		if err != nil {
			t.Fatal(err)
		}
		m := testRequest()
		got, err := s.sign(m, 1735689600, c.expires, c.nonce)
		if want := (Signed{c.agent, c.input, c.sigText}); err != nil || got != want {
			t.Errorf("%s: %v\n got %+v\nwant %+v", c.name, err, got, want)
		}
		got.Set(m.Header)
		p := Policy{Now: time.Unix(1735689700, 0), MaxLifetime: 200 * 365 * 24 * time.Hour, TestKeys: true,
			Key: func(agent string, form Form, id string) (ed25519.PublicKey, error) {
				if agent != "https://signature-agent.test" || form != c.form || id != rfcID {
					t.Errorf("%s: asked for %s %s %s", c.name, agent, form, id)
				}
				return rfcKey(t).Public(), nil
			}}
		list, err := Verify(m, p)
		if err != nil || len(list) != 1 || !list[0].Good() || list[0].Notes != nil {
			t.Errorf("%s: %+v, %v", c.name, list, err)
		}
		// The same signature under the label that -00 of the working group gives it, together with
		// a member of another name.
		if c.label == "agent2" {
			m.Header.Set(FieldInput, strings.Replace(c.input, "agent2=", "sig2=", 1))
			m.Header.Set(FieldSignature, strings.Replace(c.sigText, "agent2=", "sig2=", 1))
			if list, err = Verify(m, p); err != nil || !list[0].Good() || len(list[0].Notes) != 1 {
				t.Errorf("%s, other label: %+v, %v", c.name, list, err)
			}
		}
		// With its own policy, Curtsy accepts none of them.
		p.TestKeys = false
		if list, _ = Verify(m, p); list[0].Why != WhyTestKey {
			t.Errorf("%s: a test key is accepted: %+v", c.name, list)
		}
	}
}

// The drafts' example of a directory and its proof.
func TestSigning_8_32_DirectoryVector(t *testing.T) {
	key := rfcKey(t)
	body, err := NewDirectory(key).JSON()
	if want := `{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"` + rfcID + `","x":"` + rfcPublic + `","use":"sig"}]}`; err != nil || string(body) != want {
		t.Errorf("%v\n got %s\nwant %s", err, body, want)
	}
	h := SignDirectory(body, "signature-agent.test", time.Unix(1735689600, 0), time.Unix(4889289600, 0), key)
	for name, want := range map[string]string{
		"Content-Type":   "application/http-message-signatures-directory+json",
		"Content-Digest": "sha-256=:CADMT2aBdV/rqQr/NIru64ERQkCobVvllA4V0fLFDu0=:",
		FieldInput:       `binding=("@authority";req "content-digest");created=1735689600;expires=4889289600;keyid="` + rfcID + `";tag="http-message-signatures-directory"`,
		FieldSignature:   "binding=:l6P8R67tm3kujAxbHWio7ll01qrEZ0dKD/WWlGhNYEmTnFZM8Wt0VQ9zqGfvo7T/UMkBxsigzChM1Gpz7gOVBg==:",
	} {
		if got := h.Get(name); got != want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, want)
		}
	}
	// The general method of RFC 9421 gives the same text for that response.
	answer := &Message{Status: 200, Header: h, Request: &Message{Method: "GET", Scheme: "https", Authority: "signature-agent.test", Path: DirectoryPath}}
	text, err := base(answer, covering(t, strings.TrimPrefix(h.Get(FieldInput), "binding=")))
	if err != nil {
		t.Fatal(err)
	}
	sig, _ := base64.StdEncoding.DecodeString(strings.Trim(strings.TrimPrefix(h.Get(FieldSignature), "binding="), ":"))
	if !ed25519.Verify(key.Public(), []byte(text), sig) {
		t.Errorf("the proof is not of\n%s", text)
	}
}

// RFC 7638 §3.1 and RFC 8037 §A.3.
func TestSigning_Thumbprints(t *testing.T) {
	var rfc8037 JWK
	if err := json.Unmarshal([]byte(`{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}`), &rfc8037); err != nil {
		t.Fatal(err)
	}
	public, err := rfc8037.PublicKey()
	if got := Thumbprint(public); err != nil || got != "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k" {
		t.Errorf("RFC 8037: %s, %v", got, err)
	}
	if got := Thumbprint(rfcKey(t).Public()); got != rfcID {
		t.Errorf("RFC 9421's key: %s", got)
	}
}

// The drafts' examples with RSA: we neither sign nor accept these, but the signed text is the same,
// so their signatures confirm ours.
func TestSigning_RSAVectors(t *testing.T) {
	const n = "r4tmm3r20Wd_PbqvP1s2-QEtvpuRaV8Yq40gjUR8y2Rjxa6dpG2GXHbPfvMs8ct-Lh1GH45x28Rw3Ry53mm-oAXjyQ86OnDkZ5N8lYbggD4O3w6M6pAvLkhk95AndTrifbIFPNU8PPMO7OyrFAHqgDsznjPFmTOtCEcN2Z1FpWgchwuYLPL-Wokqltd11nqqzi-bJ9cvSKADYdUAAN5WUtzdpiy6LbTgSxP7ociU4Tn0g5I6aDZJ7A8Lzo0KSyZYoA485mqcO0GVAdVw9lq4aOT9v6d-nb4bnNkQVklLQ3fVAvJm-xdDOp9LCNCN48V2pnDOkFV6-U9nV5oyc6XI2w"
	modulus, err := base64.RawURLEncoding.DecodeString(n)
	if err != nil {
		t.Fatal(err)
	}
	public := &rsa.PublicKey{N: new(big.Int).SetBytes(modulus), E: 65537}
	for _, c := range []struct{ agent, input, signature string }{
		{`agent2="https://signature-agent.test"`,
			`("@authority" "signature-agent";key="agent2");created=1735689600;keyid="oD0HwocPBSfpNy5W3bpJeyFGY_IQ_YpqxSjQ3Yd-CLA";alg="rsa-pss-sha512";expires=4889289600;nonce="wcfPQPh7SzkvrIVvhD00vNk9PkxJNY2NVbYl2PVBB4zmUoluSwE7W6bPtF60QA3k8g06FU7PPCD+J58YofY1zg==";tag="web-bot-auth"`,
			"gHzpLNeHaHIO19NaJH9YMW5dcVSi2s0wOMBr6p18vcofS106sfC4KBIS0/szPlBBd1vIcyQ88B6CTEWIhRAiVrb9zfX0mx1aG12CSGWcYkSirHeyTxhbuJvXd27ed6skWoy4PjXItq38936ivUQjfdIwXh1aX6HxkAC3vRnEdSNfntkLWeEuIQ5BLIOBGE39fSwg27Qjq6OVWYas/9/aFUr3HA34MXWYdp+//cvlEKDp3kRoLOw9ro0AOr6srHrTeEtxon2afcws1aZVSlPdd2fZSEIGmw9HAHLDCEkFTERu1gH2k/zIEqgy7CAYXI9E5slog0cLg/Vc6+f8gih33g=="},
		{`"https://signature-agent.test"`,
			`("@authority" "signature-agent");created=1735689600;keyid="oD0HwocPBSfpNy5W3bpJeyFGY_IQ_YpqxSjQ3Yd-CLA";alg="rsa-pss-sha512";expires=1735693200;nonce="XSHtZVCThSIAksXsH9WBs6AtxtXC0eQGiIcUGSoJstFs8lAWakjhrfwzLhyjtme5iXMZvmFWqDEs6cT3Jf+BbQ==";tag="web-bot-auth"`,
			"I1QWNzGXdP1a4dSvOHLCVOOanEYHDk+ZsVxM9MLX/p4ko69ghKwR5EOtAD96g7g4GWP7lmpM/jFAf9q8EFRDTPLjUXySwMv4YPgabv2LQihTJG2y8a2m6IGltyruwQNiqSJVUuRaG9+b17CGmAMFZh30X6GXLdQJrCARpeTqPwp2DC+a8haDE/VE5EruqzjA5/2mKwvrkzkSqeW5tOVtFwWRRHIOidquf/8Je6kM9mhgkg4arudLA5SL4wyyYE1jURIgcOl8agrfdJ5Def23DIRtiOLRa8jT9cpTLFAuFHN+mrZA/LH9h0gSIg1cPb+0cMASee5uku1KjWcFer7jWA=="},
	} {
		m := testRequest()
		m.Header.Set(FieldAgent, c.agent)
		text, err := base(m, covering(t, c.input))
		if err != nil {
			t.Fatal(err)
		}
		sig, _ := base64.StdEncoding.DecodeString(c.signature)
		sum := sha512.Sum512([]byte(text))
		if err := rsa.VerifyPSS(public, crypto.SHA512, sum[:], sig, nil); err != nil {
			t.Errorf("%v: not the text of the example:\n%s", err, text)
		}
		m.Header.Set(FieldInput, "s="+c.input)
		m.Header.Set(FieldSignature, "s=:"+c.signature+":")
		if list, err := Verify(m, Policy{Now: time.Unix(1735689700, 0)}); err != nil || list[0].Why != WhyAlgorithm {
			t.Errorf("RSA: %+v, %v", list, err)
		}
	}
	if _, err := ParseKey([]byte(`{"kty":"RSA","e":"AQAB","n":"` + n + `","d":"x"}`)); err != ErrTestKey {
		t.Errorf("the RSA test key: %v", err)
	}
}
